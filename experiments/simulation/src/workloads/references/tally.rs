//! `tally`: how often each byte occurs, and the sum of all bytes of all rounds.

use super::{ReferenceInput, bytes_of_u32s};

/// First value of the sum.
const FIRST: u32 = 1000;

/// The reference as applications name it: parameters `n` and `rounds`, input buffer `bytes`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let bytes = input.bytes_of("bytes", input.size("n")?)?;
    let rounds = input.size("rounds")? as u32;
    match input.wanted {
        "counts" => {
            let mut counts = [0; 256];
            bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
            Ok(bytes_of_u32s(&counts))
        }
        "sums" => {
            let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
            Ok(bytes_of_u32s(&[FIRST.wrapping_add(rounds.wrapping_mul(sum))]))
        }
        other => Err(format!("the reference knows `counts` and `sums`, not `{other}`")),
    }
}
