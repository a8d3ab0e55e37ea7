//! Atomics on the values of a line, lane after lane.

use counterpoint_protocols::memory::{AtomicLane, AtomicType, Line};

/// Executes the lanes in order; gives what each found.
pub fn execute(line: &mut Line, lanes: &[AtomicLane]) -> Box<[(u8, u64)]> {
    if lanes.first().is_some_and(|lane| lane.kind == AtomicType::B128) {
        return pairs(line, lanes);
    }
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

/// Executes lanes with two parts each: the halves of 128 bits.
fn pairs(line: &mut Line, lanes: &[AtomicLane]) -> Box<[(u8, u64)]> {
    let mut found = Vec::with_capacity(lanes.len());
    for [low, high] in lanes.as_chunks().0 {
        let whole = |low: u64, high: u64| u128::from(low) | u128::from(high) << 64;
        let place = &mut line[low.offset as usize..low.offset as usize + 16];
        let old = place.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte));
        let (operand, swap) = (whole(low.operand, high.operand), whole(low.swap, high.swap));
        place.copy_from_slice(&low.operation.apply_wide(old, operand, swap).to_le_bytes());
        found.extend([(low.lane, old as u64), (low.lane, (old >> 64) as u64)]);
    }
    found.into_boxed_slice()
}
