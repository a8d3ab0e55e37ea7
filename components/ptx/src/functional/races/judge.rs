//! The judgement over an access and the accesses remembered for its bytes.

use std::ops::Range;

use super::Race;
use super::cells::{Cell, Deed, Mark, remember};
use super::clock::Clock;
use super::facts::Fact;
use super::threads::Threads;
use crate::execute::{Access, AccessKind};
use crate::isa::AtomicType;

/// An access under way, and the knowledge about the others.
pub(super) struct Judge<'a> {
    pub(super) facts: &'a [Fact],
    pub(super) epochs: &'a [(u32, u32)],
    /// Warps of a block.
    pub(super) warps: u32,
    pub(super) threads: &'a Threads,
    pub(super) fact: Fact,
    pub(super) access: &'a Access,
    pub(super) epoch: u32,
}

/// Bytes of a lane's access that keep their values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    start: u64,
    /// A bit each.
    bits: u32,
}

impl Kept {
    /// Whether all of these do.
    pub(super) fn of(self, range: &Range<u64>) -> bool {
        let count = range.end - range.start;
        let all = (1u32 << count) - 1;
        range.start.checked_sub(self.start).is_some_and(|first| self.bits >> first & all == all)
    }
}

impl Judge<'_> {
    /// Whether an access is ordered before a lane's current one.
    fn comes_before(&self, mark: Mark, lane: u32, clock: &Clock) -> bool {
        let (warp, time) = self.epochs[mark.epoch() as usize];
        if mark.is_none() {
            return true;
        }
        if warp == self.threads.number
            && (self.threads.is_in_step() || (mark.lane() == lane && !mark.several()))
        {
            return true;
        }
        clock.covers(warp, mark.lane(), time)
    }

    /// Whether both accesses are strong and in each other's scope.
    fn is_strong_with(&self, mark: Mark) -> bool {
        let (warp, _) = self.epochs[mark.epoch() as usize];
        let same_block = warp / self.warps == self.threads.number / self.warps;
        self.facts[mark.pc() as usize].is_strong_with(&self.fact, same_block)
    }

    /// An access to these bytes with which a lane's races; `silent` if it leaves them as they are.
    pub(super) fn conflict(&self, cell: &Cell, lane: u32, clock: &Clock, silent: bool) -> Option<Mark> {
        let deed = Deed::of(self.access.kind);
        let weak = self.fact.scope.is_none();
        let writes = cell.strong.iter().chain([&cell.write]).filter(|mark| !mark.is_none());
        if self.fact.apart && deed == Deed::Reads {
            // No order brings what the launch wrote to this path.
            return writes.copied().next();
        }
        if silent && weak {
            return None;
        }
        let races = |mark: &Mark| !self.comes_before(*mark, lane, clock);
        if races(&cell.write) {
            return Some(cell.write);
        }
        // A compare-and-swap finds out whether the value that it expects is an old one.
        let guess = |fact: &Fact, other: Deed| fact.guesses && other == Deed::Changes;
        let is_guess =
            |mark: Mark| guess(&self.fact, mark.deed()) || guess(&self.facts[mark.pc() as usize], deed);
        let clashes =
            |mark: &&Mark| races(mark) && !is_guess(**mark) && (weak || !self.is_strong_with(**mark));
        let strong = cell.strong.iter().rev().find(clashes).copied();
        strong.or_else(|| {
            let changes = deed != Deed::Reads && !silent;
            cell.reads.iter().rev().filter(|_| changes).find(clashes).copied()
        })
    }

    /// Remembers a lane's access.
    pub(super) fn record(&self, cell: &mut Cell, lane: u32, clock: &Clock, silent: bool) {
        let deed = Deed::of(self.access.kind);
        let mark = Mark::new(self.epoch, lane, self.access.pc, deed);
        let before = |other: Mark| self.comes_before(other, lane, clock);
        if deed == Deed::Reads || silent {
            remember(&mut cell.reads, mark, before);
        } else if self.fact.scope.is_none() {
            *cell = Cell { write: mark, ..Cell::default() };
        } else {
            remember(&mut cell.strong, mark, before);
        }
    }

    /// The bytes that a lane's access leaves as they are, where `bytes` begin at `start`. Of lanes that change one place by atomics the
    /// first alone counts.
    pub(super) fn leaves(&self, lane: u32, lanes: u32, start: u64, bytes: &[u8]) -> Kept {
        let access = self.access;
        let address = access.addresses[lane as usize];
        let mut kept = Kept { start: address, bits: 0 };
        let first = address.wrapping_sub(start) as usize;
        let Some(old) = bytes.get(first..first.saturating_add(access.width.into())) else { return kept };
        match access.kind {
            // A strong store is a signal, whatever its value.
            AccessKind::Load => {}
            AccessKind::Store if self.fact.scope.is_some() => {}
            AccessKind::Store => {
                for (index, byte) in old.iter().enumerate() {
                    let same = *byte == value(access, lane as usize, address + index as u64);
                    kept.bits |= u32::from(same) << index;
                }
            }
            AccessKind::Atomic(_, AtomicType::B128) => {}
            AccessKind::Atomic(operation, kind) => {
                let is_alone = |other: u32| access.addresses[other as usize] != address;
                if lanes_of(lanes).take_while(|other| *other < lane).all(is_alone) {
                    let mut word = [0; 8];
                    word[..old.len()].copy_from_slice(old);
                    let old = u64::from_le_bytes(word);
                    let (b, c) = access.atomic_operands(lane as usize);
                    let same = operation.apply(kind, old, b, c) == old;
                    kept.bits = if same { u32::MAX } else { 0 };
                }
            }
        }
        kept
    }
}

/// The numbers of the lanes of a mask.
pub(super) fn lanes_of(mask: u32) -> impl Iterator<Item = u32> + Clone {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// Lanes that store different values to one place in one instruction.
pub(super) fn within(access: &Access, lanes: u32, epoch: u32, found: &mut Vec<Race>) {
    for lane in lanes_of(lanes) {
        let address = access.addresses[lane as usize];
        let differs = |other: &u32| {
            let other = *other as usize;
            access.addresses[other] == address
                && access.values.iter().any(|row| row.0[other] != row.0[lane as usize])
                && (address..address + u64::from(access.width))
                    .any(|byte| value(access, other, byte) != value(access, lane as usize, byte))
        };
        if let Some(other) = lanes_of(lanes).take_while(|other| *other < lane).find(differs) {
            let other = Mark::new(epoch, other, access.pc, Deed::Writes);
            found.push(Race { lane, byte: address, other, within: true });
        }
    }
}

/// The value that a lane's store leaves in a byte.
fn value(access: &Access, lane: usize, byte: u64) -> u8 {
    let at = (byte - access.addresses[lane]) as usize;
    let piece = usize::from(access.element_bytes.min(4)).max(1);
    access.values[(at / piece) & 3].0[lane].to_le_bytes()[at % piece]
}
