//! `rodinia-lud`: the product of the first columns and the first rows of a matrix, taken from the rest of it.

use counterpoint::application::ReferenceInput;

use super::bytes_of_f32s;

/// Columns and rows of a panel.
const PANEL: usize = 16;

/// The reference as applications name it: parameters `n` and `copies`, input buffer `matrix`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, copies) = (input.size("n")?, input.size("copies")?);
    let matrices = input.f32s_of("matrix", copies * n * n)?;
    let inner: Vec<f32> = matrices.chunks(n * n).flat_map(|matrix| inner(matrix, n)).collect();
    Ok(bytes_of_f32s(&inner))
}

fn inner(matrix: &[f32], n: usize) -> Vec<f32> {
    let mut inner = Vec::new();
    for row in PANEL..n {
        for column in PANEL..n {
            let product: f32 = (0..PANEL).map(|k| matrix[row * n + k] * matrix[k * n + column]).sum();
            inner.push(matrix[row * n + column] - product);
        }
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::inner;

    #[test]
    fn of_ones_a_panel_takes_its_width() {
        assert_eq!(inner(&[1.0; 18 * 18], 18), [-15.0; 4]);
    }
}
