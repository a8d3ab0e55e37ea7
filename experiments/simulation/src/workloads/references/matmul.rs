//! Products of matrices: `matmul` (naive and tiled), `3mm`, and `narrow-matmul`, one of many small ones.

use super::{ReferenceInput, bytes_of_f32s, bytes_of_tasks};

/// `c = a b` with parameters `m`, `n` and `k`: a has m x k elements, b k x n.
pub(super) fn matmul(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (m, n, k) = (input.size("m")?, input.size("n")?, input.size("k")?);
    let (a, b) = (input.f32s_of("a", m * k)?, input.f32s_of("b", k * n)?);
    Ok(bytes_of_f32s(&product(&a, &b, k, n)))
}

/// `g = (a b)(c d)` with the parameter `n`.
pub(super) fn three(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    let matrix = |name: &str| input.f32s_of(name, n * n);
    let left = product(&matrix("a")?, &matrix("b")?, n, n);
    let right = product(&matrix("c")?, &matrix("d")?, n, n);
    Ok(bytes_of_f32s(&product(&left, &right, n, n)))
}

/// `c = a b` of many pairs of matrices, of n x n elements at most: the parameter `n` beside those of all narrow tasks.
pub(super) fn narrow(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (tasks, n) = (input.tasks()?, input.size("n")?);
    let (a, b) = (input.f32s_of("a", tasks * n * n)?, input.f32s_of("b", tasks * n * n)?);
    let sizes = input.chances(3, (n / 16).max(1))?.map(|tiles| n - 16 * tiles);
    Ok(bytes_of_tasks(sizes, n * n, |task, size| {
        let [a, b] = [&a, &b].map(|matrices| &matrices[task * n * n..][..size * size]);
        product(a, b, size, size)
    }))
}

/// The product of a (rows of `k`) and b (rows of `n`), summed in double precision.
fn product(a: &[f32], b: &[f32], k: usize, n: usize) -> Vec<f32> {
    let mut result = Vec::with_capacity(a.len() / k * n);
    for row in a.chunks(k) {
        let mut sums = vec![0.0; n];
        for (factor, line) in row.iter().zip(b.chunks(n)) {
            for (sum, value) in sums.iter_mut().zip(line) {
                *sum += f64::from(*factor) * f64::from(*value);
            }
        }
        result.extend(sums.iter().map(|sum| *sum as f32));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn a_product_by_hand() {
        let found = product(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 0.0, 0.0, 1.0, 2.0, 2.0], 3, 2);
        assert_eq!(found, [7.0, 8.0, 16.0, 17.0]);
    }
}
