//! `kernelet-pc`: the end of a thread that follows links, each read in its own way.

use counterpoint::application::ReferenceInput;

const THREADS: u32 = 256;
/// 2^32 over the golden ratio: spreads the places where threads begin.
const SPREAD: u32 = 2_654_435_769;

/// The reference as applications name it: parameters `blocks`, `steps` and `elements`, a power of two, and the input buffer `links`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (blocks, steps) = (input.size("blocks")? as u32, input.size("steps")?);
    let elements = input.size("elements")?;
    if !elements.is_power_of_two() {
        return Err(format!("`elements` is {elements}, which is not a power of two"));
    }
    let links = input.u32s_of("links", elements)?;
    let ends = (0..blocks * THREADS).map(|thread| follow(&links, thread, steps));
    Ok(ends.flat_map(u32::to_le_bytes).collect())
}

/// A place outside the links counts modulo their number.
fn follow(links: &[u32], thread: u32, steps: usize) -> u32 {
    let start = thread.wrapping_mul(SPREAD);
    (0..steps).fold(start, |at, _| links[(at ^ thread) as usize % links.len()])
}

#[cfg(test)]
mod tests {
    use super::{SPREAD, follow};

    #[test]
    fn each_thread_reads_links_its_own_way() {
        let links = [3, 2, 1, 0];
        assert_eq!(follow(&links, 0, 0), 0);
        assert_eq!([1, 2, 3].map(|steps| follow(&links, 0, steps)), [3, 0, 3]);
        // From 1 of four, which it reads as 0, and then 3 as 2.
        assert_eq!(SPREAD % 4, 1);
        assert_eq!([1, 2].map(|steps| follow(&links, 1, steps)), [3, 1]);
    }
}
