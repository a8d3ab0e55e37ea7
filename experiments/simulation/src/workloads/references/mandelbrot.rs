//! `mandelbrot`: iterations of each point, in single precision and in the kernel's order, since a rounding more or less
//! changes counts. `narrow-mandelbrot`: the same of many small pictures.

use super::{ReferenceInput, bytes_of_u32s};

/// The reference as applications name it: parameters `n`, `most` and `step`; the picture begins at -2 - 1.25 i.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, most) = (input.size("n")?, input.size("most")?);
    Ok(bytes_of_u32s(&picture((-2.0, -1.25), input.parameter("step")? as f32, n, most)))
}

/// The pictures of narrow tasks, `across` of them side by side and below each other, each `side` wide and at most `n` points in either
/// direction; the other parameters are those of all narrow tasks, and `most`.
pub(super) fn narrow(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, most, across) = (input.size("n")?, input.size("most")?, input.size("across")?);
    let side = input.parameter("side")?;
    let mut counts = Vec::new();
    for (task, eighths) in input.chances(1, 8)?.enumerate() {
        let (row, column) = (task / across % across, task % across);
        let corner = (-2.0 + column as f64 * side, -1.25 + row as f64 * side);
        let size = n - eighths * (n / 8);
        counts.extend(picture((corner.0 as f32, corner.1 as f32), (side / size as f64) as f32, size, most));
        counts.resize((task + 1) * n * n, 0);
    }
    Ok(bytes_of_u32s(&counts))
}

/// Counts of a square picture whose first point is `(left, top)`.
fn picture((left, top): (f32, f32), step: f32, n: usize, most: usize) -> Vec<u32> {
    let point = |index: usize| {
        let (row, column) = ((index / n) as f32, (index % n) as f32);
        iterations(left + column * step, top + row * step, most) as u32
    };
    (0..n * n).map(point).collect()
}

fn iterations(real: f32, imaginary: f32, most: usize) -> usize {
    let mut z = (0.0_f32, 0.0_f32);
    (0..most)
        .position(|_| {
            let (xx, yy, xy) = (z.0 * z.0, z.1 * z.1, z.0 * z.1);
            z = (xx - yy + real, xy + xy + imaginary);
            xx + yy > 4.0
        })
        .unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::iterations;

    #[test]
    fn points_inside_stay() {
        assert_eq!(iterations(0.0, 0.0, 100), 100);
        assert_eq!(iterations(3.0, 0.0, 100), 1);
        assert_eq!(iterations(1.0, 0.0, 100), 3);
    }
}
