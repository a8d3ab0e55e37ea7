//! Atomics on the values of a line, lane after lane.

use counterpoint_protocols::memory::{AtomicLane, Line};

/// Executes the lanes in order; gives what each found.
pub fn execute(line: &mut Line, lanes: &[AtomicLane]) -> Box<[(u8, u64)]> {
    lanes
        .iter()
        .map(|lane| {
            let width = lane.kind.bytes() as usize;
            let place = lane.offset as usize..lane.offset as usize + width;
            let mut word = [0; 8];
            word[..width].copy_from_slice(&line[place.clone()]);
            let old = u64::from_le_bytes(word);
            let new = lane.operation.apply(lane.kind, old, lane.operand, lane.swap);
            line[place].copy_from_slice(&new.to_le_bytes()[..width]);
            (lane.lane, old)
        })
        .collect()
}
