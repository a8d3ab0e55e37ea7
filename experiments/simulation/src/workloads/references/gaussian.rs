//! `gaussian`: the factors by sums of products, element by element in double precision; nothing is ever subtracted from a
//! row.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: the parameter `n`, input buffers `matrix` and `vector`; wanted are these two
/// after the elimination, or the `multipliers`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    let doubles = |name, count| -> Result<Vec<f64>, String> {
        Ok(input.f32s_of(name, count)?.into_iter().map(f64::from).collect())
    };
    let (lower, upper) = factors(&doubles("matrix", n * n)?, n);
    let found = match input.wanted {
        "multipliers" => lower,
        "matrix" => upper,
        "vector" => forward(&lower, &doubles("vector", n)?),
        other => return Err(format!("elimination leaves nothing in `{other}`")),
    };
    Ok(bytes_of_f32s(&found.iter().map(|value| *value as f32).collect::<Vec<_>>()))
}

/// LU factors of a matrix: the lower factor below its diagonal of ones, and the upper factor.
fn factors(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut lower, mut upper) = (vec![0.0; n * n], vec![0.0; n * n]);
    for row in 0..n {
        for column in 0..n {
            let common = row.min(column);
            let sum: f64 = (0..common).map(|k| lower[row * n + k] * upper[k * n + column]).sum();
            let rest = matrix[row * n + column] - sum;
            if row > column {
                lower[row * n + column] = rest / upper[column * n + column];
            } else {
                upper[row * n + column] = rest;
            }
        }
    }
    (lower, upper)
}

/// The right side that belongs to the upper factor.
fn forward(lower: &[f64], vector: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(vector.len());
    for (line, value) in lower.chunks(vector.len()).zip(vector) {
        let sum: f64 = line.iter().zip(&found).map(|(multiplier, other)| multiplier * other).sum();
        found.push(value - sum);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{factors, forward};

    #[test]
    fn a_small_system_by_hand() {
        let (lower, upper) = factors(&[2.0, 1.0, 1.0, 4.0, 5.0, 3.0, 6.0, 9.0, 10.0], 3);
        assert_eq!(lower, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 2.0, 0.0]);
        assert_eq!(upper, [2.0, 1.0, 1.0, 0.0, 3.0, 1.0, 0.0, 0.0, 5.0]);
        assert_eq!(forward(&lower, &[1.0, 2.0, 3.0]), [1.0, 0.0, 0.0]);
    }
}
