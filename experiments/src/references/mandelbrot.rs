//! `mandelbrot`: iterations of each point, in single precision and in the kernel's order, since a rounding more or less
//! changes counts.

use super::{ReferenceInput, bytes_of_u32s};

/// The reference as applications name it: parameters `n`, `most` and `step`; the picture begins at -2 - 1.25 i.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, most) = (input.size("n")?, input.size("most")?);
    let step = input.parameter("step")? as f32;
    let point = |index: usize| {
        let (row, column) = ((index / n) as f32, (index % n) as f32);
        iterations(-2.0 + column * step, -1.25 + row * step, most) as u32
    };
    Ok(bytes_of_u32s(&(0..n * n).map(point).collect::<Vec<_>>()))
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
