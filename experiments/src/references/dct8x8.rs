//! `dct8x8`: the transform as its definition has it, a double sum of cosines, in double precision.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::{ReferenceInput, bytes_of_f32s};

/// Side of a block.
const SIDE: usize = 8;

/// The reference as applications name it: parameters `width`, `height` and `step`, input buffer `image`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = (input.size("width")?, input.size("height")?);
    let step = input.parameter("step")?;
    let mut image = input.f32s_of("image", width * height)?;
    let basis = basis();
    for top in (0..height).step_by(SIDE) {
        for left in (0..width).step_by(SIDE) {
            let place = |index: usize| (top + index / SIDE) * width + left + index % SIDE;
            let pixels: Vec<f64> = (0..64).map(|index| f64::from(image[place(index)])).collect();
            let there: Vec<f64> = (0..64).map(|k| (0..64).map(|i| pixels[i] * basis[k][i]).sum()).collect();
            let kept: Vec<f64> =
                there.iter().enumerate().map(|(k, value)| quantise(*value, k, step)).collect();
            for index in 0..64 {
                let back: f64 = (0..64).map(|k| kept[k] * basis[k][index]).sum();
                image[place(index)] = back as f32;
            }
        }
    }
    Ok(bytes_of_f32s(&image))
}

/// The 64 waves, each with its values at the 64 pixels.
fn basis() -> Vec<Vec<f64>> {
    let line = |k: usize, at: usize| {
        let scale = if k == 0 { 0.5 * FRAC_1_SQRT_2 } else { 0.5 };
        scale * libm::cos((2 * at + 1) as f64 * k as f64 * PI / 16.0)
    };
    let wave = |k: usize| (0..64).map(|i| line(k / SIDE, i / SIDE) * line(k % SIDE, i % SIDE)).collect();
    (0..64).map(wave).collect()
}

/// The nearest multiple of a step that grows with the frequency.
fn quantise(value: f64, frequency: usize, step: f64) -> f64 {
    let unit = step * (1 + frequency % SIDE + frequency / SIDE) as f64;
    (value / unit).round() * unit
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
}
