//! `dct8x8`: the transform as its definition has it, a double sum of cosines, in double precision.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::{ReferenceInput, bytes_of_f32s, bytes_of_tasks};

const SIDE: usize = 8;

/// The reference as applications name it: parameters `width`, `height` and `step`, input buffer `image`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = (input.size("width")?, input.size("height")?);
    let image = input.f32s_of("image", width * height)?;
    Ok(restored(&coefficients(&image, width, input.parameter("step")?), width))
}

/// The reference for a stream of images: parameters `batches`, `width`, `height` and `step`, input buffer `images`.
pub(super) fn of_stream(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    Ok(restored(&kept_of_stream(input)?, input.size("width")?))
}

/// The coefficients that are kept of such a stream; parameters and buffer as of [`of_stream`].
pub(super) fn coefficients_of_stream(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let kept: Vec<f32> = kept_of_stream(input)?.into_iter().map(|value| value as f32).collect();
    Ok(bytes_of_f32s(&kept))
}

/// The coefficients of small images without any rounding to steps: parameters `n` and `rows` beside those of all narrow tasks, input
/// buffer `image`.
pub(super) fn narrow(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, rows) = (input.size("n")?, input.size("rows")?);
    let images = input.f32s_of("image", input.tasks()? * n * n)?;
    let images: Vec<f64> = images.into_iter().map(f64::from).collect();
    let (basis, sizes) = (basis(), input.chances(0, n / rows)?.map(|strips| n - strips * rows));
    Ok(bytes_of_tasks(sizes, n * n, |task, size| {
        let image = &images[task * n * n..][..size * size];
        transform(image, size, &basis).into_iter().map(|value| value as f32).collect()
    }))
}

/// Images stacked vertically are treated as one image: no block spans two of them.
fn kept_of_stream(input: &ReferenceInput<'_>) -> Result<Vec<f64>, String> {
    let (width, height) = (input.size("width")?, input.size("height")?);
    let images = input.f32s_of("images", input.size("batches")? * width * height)?;
    Ok(coefficients(&images, width, input.parameter("step")?))
}

/// The coefficients of an image as multiples of their steps, each where the pixel of its number in the block was.
fn coefficients(image: &[f32], width: usize, step: f64) -> Vec<f64> {
    let image: Vec<f64> = image.iter().copied().map(f64::from).collect();
    let mut there = transform(&image, width, &basis());
    for (index, value) in there.iter_mut().enumerate() {
        *value = quantise(*value, index / width % SIDE * SIDE + index % width % SIDE, step);
    }
    there
}

/// The image that coefficients represent.
fn restored(coefficients: &[f64], width: usize) -> Vec<u8> {
    let basis = basis();
    let transposed: Vec<Vec<f64>> = (0..64).map(|i| (0..64).map(|k| basis[k][i]).collect()).collect();
    let back: Vec<f32> =
        transform(coefficients, width, &transposed).into_iter().map(|value| value as f32).collect();
    bytes_of_f32s(&back)
}

/// Every block of a plane as a vector, times a matrix.
pub(super) fn transform(plane: &[f64], width: usize, matrix: &[Vec<f64>]) -> Vec<f64> {
    let mut result = vec![0.0; plane.len()];
    for top in (0..plane.len() / width).step_by(SIDE) {
        for left in (0..width).step_by(SIDE) {
            let place = |index: usize| (top + index / SIDE) * width + left + index % SIDE;
            let block: Vec<f64> = (0..64).map(|index| plane[place(index)]).collect();
            for (index, row) in matrix.iter().enumerate() {
                result[place(index)] = row.iter().zip(&block).map(|(a, b)| a * b).sum();
            }
        }
    }
    result
}

/// The 64 waves, each with its values at the 64 pixels.
pub(super) fn basis() -> Vec<Vec<f64>> {
    let line = |k: usize, at: usize| {
        let scale = if k == 0 { 0.5 * FRAC_1_SQRT_2 } else { 0.5 };
        scale * libm::cos((2 * at + 1) as f64 * k as f64 * PI / 16.0)
    };
    let wave = |k: usize| (0..64).map(|i| line(k / SIDE, i / SIDE) * line(k % SIDE, i % SIDE)).collect();
    (0..64).map(wave).collect()
}

/// The nearest multiple of a step that grows with the frequency; a plain zero where that is none of it.
fn quantise(value: f64, frequency: usize, step: f64) -> f64 {
    let unit = step * (1 + frequency % SIDE + frequency / SIDE) as f64;
    (value / unit).round() * unit + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waves_are_orthonormal() {
        let basis = basis();
        for (i, a) in basis.iter().enumerate() {
            for (j, b) in basis.iter().enumerate() {
                let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_flat_block_keeps_its_mean_only() {
        let kept = coefficients(&[3.0; 64], SIDE, 1.0);
        assert_eq!((kept[0], kept[1..].iter().map(|value| value.to_bits()).max()), (24.0, Some(0)));
    }
}
