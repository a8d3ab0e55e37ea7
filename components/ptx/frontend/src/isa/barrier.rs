//! The word of a barrier in shared memory, which PTX leaves to the implementation (PTX ISA 9.7.13.15).
//!
//! Bits 0 to 19 are the pending arrivals of the phase, 20 to 39 the expected arrivals of the next phase, 40 to 61 the bytes
//! that copies have still to write, as a signed number, and bit 63 is the phase's parity. A phase ends when nothing is
//! pending.

use super::AtomicOperation;

/// Bits between the arrivals of a phase and those of the next.
pub const NEXT: u32 = 20;
/// The most arrivals.
pub const COUNT: u32 = (1 << 20) - 1;
const BYTES: u32 = 40;
const BYTES_WIDTH: u32 = 22;
const PARITY: u64 = 1 << 63;

/// Whether the phase of a word is odd.
#[inline]
pub fn parity(word: u64) -> bool {
    word & PARITY != 0
}

/// The word after an operation; `None` if the operation is none on barriers.
#[inline]
pub fn apply(operation: AtomicOperation, old: u64, number: u64) -> Option<u64> {
    let count = u64::from(COUNT);
    let (mut pending, mut next) = (old & count, old >> NEXT & count);
    let mut bytes = (old >> BYTES) & ((1 << BYTES_WIDTH) - 1);
    match operation {
        AtomicOperation::BarrierTest => return Some(old),
        AtomicOperation::BarrierArrive => pending = pending.wrapping_sub(number),
        AtomicOperation::BarrierDrop => {
            pending = pending.wrapping_sub(number);
            next = next.wrapping_sub(number);
        }
        AtomicOperation::BarrierExpectArrivals => pending = pending.wrapping_add(number),
        AtomicOperation::BarrierExpectBytes => bytes = bytes.wrapping_add(number),
        AtomicOperation::BarrierCompleteBytes => bytes = bytes.wrapping_sub(number),
        _ => return None,
    }
    (pending, next, bytes) = (pending & count, next & count, bytes & ((1 << BYTES_WIDTH) - 1));
    let ends = pending == 0 && bytes == 0;
    let parity = (old & PARITY) ^ if ends { PARITY } else { 0 };
    let pending = if ends { next } else { pending };
    Some(pending | next << NEXT | bytes << BYTES | parity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use AtomicOperation as Op;

    fn step(word: u64, operation: Op, number: u64) -> u64 {
        apply(operation, word, number).expect("an operation on barriers")
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_the_last_byte() {
        let start = 3 | 3 << NEXT;
        let two = step(start, Op::BarrierArrive, 2);
        assert_eq!((two & u64::from(COUNT), two & PARITY), (1, 0));
        let ended = step(two, Op::BarrierArrive, 1);
        assert_eq!((ended & u64::from(COUNT), ended & PARITY), (3, PARITY), "the next phase waits for three");
        let bytes = step(ended, Op::BarrierExpectBytes, 256);
        let arrived = step(bytes, Op::BarrierArrive, 3);
        assert_eq!(arrived & PARITY, PARITY, "the bytes are missing");
        assert_eq!(step(arrived, Op::BarrierCompleteBytes, 256) & PARITY, 0);
        let fewer = step(step(start, Op::BarrierDrop, 1), Op::BarrierArrive, 2);
        assert_eq!((fewer & u64::from(COUNT), fewer & PARITY), (2, PARITY), "one has dropped out");
        assert_eq!(apply(Op::Add, 1, 1), None);
    }
}
