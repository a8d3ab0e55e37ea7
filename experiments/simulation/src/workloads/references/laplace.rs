//! `laplace`: inner cells become the mean of their neighbours, in the order of sums that the kernel has.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `n` and `launches`, input buffer `potential`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, launches) = (input.size("n")?, input.size("launches")?);
    let mut cells = input.f32s_of("potential", n * n)?;
    for _ in 0..launches {
        let old = cells.clone();
        for y in 1..n.saturating_sub(1) {
            for x in 1..n - 1 {
                let at = |y: usize, x: usize| old[y * n + x];
                cells[y * n + x] = ((at(y - 1, x) + at(y + 1, x)) + (at(y, x - 1) + at(y, x + 1))) / 4.0;
            }
        }
    }
    Ok(bytes_of_f32s(&cells))
}
