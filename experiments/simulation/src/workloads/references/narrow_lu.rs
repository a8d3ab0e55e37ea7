//! `narrow-lu`: the factors of a banded matrix of blocks, element by element in double precision.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `side`, `blocks`, `band` and `pitch`, input buffer
/// `matrix`. Elements outside the band count as zero and stay as they are.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (side, pitch, band) = (input.size("side")?, input.size("pitch")?, input.size("band")?);
    let given = input.f32s_of("matrix", pitch * pitch)?;
    let is_there = |place: usize| (place / pitch / side).abs_diff(place % pitch / side) <= band;
    let inside = |(place, value): (usize, &f32)| if is_there(place) { f64::from(*value) } else { 0.0 };
    let factors = factors(given.iter().enumerate().map(inside).collect(), pitch);
    let chosen = given.iter().zip(&factors).enumerate();
    let chosen = chosen.map(|(place, (given, made))| if is_there(place) { *made as f32 } else { *given });
    Ok(bytes_of_f32s(&chosen.collect::<Vec<_>>()))
}

/// LU factors of a square matrix, in place, row by row; the lower factor has ones on the diagonal.
fn factors(mut matrix: Vec<f64>, width: usize) -> Vec<f64> {
    for row in 1..width {
        let (above, below) = matrix.split_at_mut(row * width);
        let own = &mut below[..width];
        for (k, pivot) in above.chunks(width).enumerate() {
            let factor = own[k] / pivot[k];
            own[k] = factor;
            for (value, pivot) in own[k + 1..].iter_mut().zip(&pivot[k + 1..]) {
                *value -= factor * pivot;
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::factors;

    #[test]
    fn factors_by_hand() {
        let found = factors(vec![2.0, 1.0, 1.0, 4.0, 3.0, 3.0, 8.0, 7.0, 9.0], 3);
        assert_eq!(found, [2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 4.0, 3.0, 2.0]);
    }
}
