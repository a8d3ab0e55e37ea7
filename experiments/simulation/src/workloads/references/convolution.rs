//! `convolution`: the two-dimensional filter as its definition has it, from binomial coefficients; zero beyond the edge. And
//! `narrow-convolution`: a filter of any coefficients, over many small images.

use super::{ReferenceInput, bytes_of_f32s, bytes_of_tasks};

/// Radius of the filter.
const RADIUS: usize = 8;

/// The reference as applications name it: parameters `n` and `passes`, input buffer `image`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    let mut image = input.f32s_of("image", n * n)?;
    for _ in 0..input.size("passes")? {
        image = along(&along(&image, n, 1), n, n);
    }
    Ok(bytes_of_f32s(&image))
}

/// One pass of the filter over each of a stream of images: parameters `batches`, `width` and `height`, input buffer
/// `images`.
pub(super) fn of_stream(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = (input.size("width")?, input.size("height")?);
    let images = input.f32s_of("images", input.size("batches")? * width * height)?;
    let filtered =
        images.chunks(width * height).flat_map(|image| along(&along(image, width, 1), height, width));
    Ok(bytes_of_f32s(&filtered.collect::<Vec<_>>()))
}

/// The filter over a signal: parameter `n`, input buffer `signal`.
pub(super) fn of_signal(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    Ok(bytes_of_f32s(&along(&input.f32s_of("signal", n)?, n, 1)))
}

/// Small images behind the Sobel operator of order 5: parameter `n` beside those of all narrow tasks, input buffer `image`.
pub(super) fn narrow(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (blur, falls) = ([1.0, 4.0, 6.0, 4.0, 1.0], [1.0, 2.0, 0.0, -2.0, -1.0]);
    let taps: Vec<f32> = blur.iter().flat_map(|down| falls.map(|across| down * across / 64.0)).collect();
    of_images(input, &taps, 2)
}

/// Small images behind a square filter: parameters `n` and `radius` beside those of all narrow tasks, input buffers `image` and `taps`.
pub(super) fn narrow_global(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let radius = input.size("radius")?;
    let taps = input.f32s_of("taps", (2 * radius + 1) * (2 * radius + 1))?;
    of_images(input, &taps, radius)
}

fn of_images(input: &ReferenceInput<'_>, taps: &[f32], radius: usize) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    let images = input.f32s_of("image", input.tasks()? * n * n)?;
    let sizes = input.chances(0, 8)?.map(|eighths| n - eighths * (n / 8));
    Ok(bytes_of_tasks(sizes, n * n, |task, size| {
        square(&images[task * n * n..][..size * size], taps, size, radius)
    }))
}

/// One image after a square filter: each tap adds the whole shifted image, times its weight.
fn square(image: &[f32], taps: &[f32], n: usize, radius: usize) -> Vec<f32> {
    let mut sums = vec![0.0; n * n];
    for (index, tap) in taps.iter().enumerate() {
        let (down, right) = (index / (2 * radius + 1), index % (2 * radius + 1));
        for (place, sum) in sums.iter_mut().enumerate() {
            let row = (place / n + down).checked_sub(radius).filter(|row| *row < n);
            let column = (place % n + right).checked_sub(radius).filter(|column| *column < n);
            if let (Some(row), Some(column)) = (row, column) {
                *sum += f64::from(*tap) * f64::from(image[row * n + column]);
            }
        }
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

/// The filter along the axis of an image that has n places, `stride` apart, or along a single row.
fn along(image: &[f32], n: usize, stride: usize) -> Vec<f32> {
    let taps = taps();
    let value = |index: usize| {
        let place = index / stride % n;
        let line = index - place * stride;
        let sum: f64 = (place.saturating_sub(RADIUS)..(place + RADIUS + 1).min(n))
            .map(|other| taps[other + RADIUS - place] * f64::from(image[line + other * stride]))
            .sum();
        sum as f32
    };
    (0..image.len()).map(value).collect()
}

/// The binomial coefficients of order 16, as shares of their sum.
fn taps() -> [f64; 2 * RADIUS + 1] {
    let mut taps = [0.0; 2 * RADIUS + 1];
    let mut coefficient = 1.0;
    for (index, tap) in taps.iter_mut().enumerate() {
        *tap = coefficient / 65536.0;
        coefficient = coefficient * (16 - index) as f64 / (index + 1) as f64;
    }
    taps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_filter_by_hand() {
        let image = [1.0, 2.0, 3.0, 4.0];
        let taps = [0.0, 10.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0];
        assert_eq!(
            square(&image, &taps, 2, 1),
            [2.0, 2.0, 15.0, 24.0],
            "the pixel above, and the one beside"
        );
    }

    #[test]
    fn the_filter_keeps_what_is_even() {
        assert_eq!(taps().iter().sum::<f64>(), 1.0);
        let flat = along(&vec![1.0; 400], 20, 20);
        assert_eq!(flat[20 * 10], 1.0);
        assert!(flat[0] < 0.7, "beyond the edge is nothing");
    }
}
