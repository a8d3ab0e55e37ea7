//! `lu-panel`: Gauss's elimination, a column at a time, in double precision: it knows no panels.

use super::{ReferenceInput, bytes_of_f32s};

const PANEL: usize = 16;

/// The reference as applications name it: parameters `n` and `panels`, input buffer `matrix`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, panels) = (input.size("n")?, input.size("panels")?);
    let matrix: Vec<f64> = input.f32s_of("matrix", n * n)?.into_iter().map(f64::from).collect();
    let factors = eliminate(matrix, n, (PANEL * panels).min(n));
    Ok(bytes_of_f32s(&factors.iter().map(|value| *value as f32).collect::<Vec<_>>()))
}

/// The matrix after some columns are eliminated, with the multipliers in place of the zeros.
fn eliminate(mut matrix: Vec<f64>, n: usize, columns: usize) -> Vec<f64> {
    for k in 0..columns {
        let (above, below) = matrix.split_at_mut((k + 1) * n);
        let pivot = &above[k * n..];
        for row in below.chunks_mut(n) {
            row[k] /= pivot[k];
            for column in k + 1..n {
                row[column] -= row[k] * pivot[column];
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::eliminate;

    #[test]
    fn factors_of_a_small_matrix() {
        assert_eq!(eliminate(vec![2.0, 1.0, 4.0, 5.0], 2, 2), [2.0, 1.0, 2.0, 3.0]);
        assert_eq!(eliminate(vec![2.0, 1.0, 4.0, 5.0], 2, 0), [2.0, 1.0, 4.0, 5.0]);
    }
}
