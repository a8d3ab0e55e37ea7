//! `histogram`: how often each byte occurs.

use super::{ReferenceInput, bytes_of_u32s};

/// The reference as applications name it: parameter `n`, input buffer `bytes`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let mut counts = [0; 256];
    for byte in input.bytes_of("bytes", input.size("n")?)? {
        counts[usize::from(*byte)] += 1;
    }
    Ok(bytes_of_u32s(&counts))
}
