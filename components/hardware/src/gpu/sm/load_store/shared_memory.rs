//! Shared memory: a CTA's bytes, and the bank conflicts of an access.

use counterpoint_framework::kernel::Fault;
use counterpoint_ptx::{Access, AccessKind, FaultKind, Row};

use super::{LoadStore, SmContext, Taken};
use crate::gpu::sm::params::SmParams;

/// Words among which those that an access touches are marked one by one.
const MARKED: usize = 4096;

/// The banks of shared memory, and the conflicts of an access there.
#[derive(Clone, Copy, Debug)]
pub struct SharedBanks {
    banks: u32,
    /// Lanes that are served together.
    lanes: u32,
}

impl SharedBanks {
    /// Those of an SM.
    pub fn new(params: &SmParams) -> Self {
        SharedBanks { banks: params.shared_banks, lanes: 32_u32.div_ceil(params.shared_parts) }
    }

    /// Cycles that an access takes in the load-store unit.
    pub fn cycles(&self, access: &Access) -> u64 {
        self.cycles_within(access, access.extent())
    }

    /// Cycles that an access, from the lowest address to the highest one, takes in the load-store unit.
    #[inline]
    fn cycles_within(&self, access: &Access, extent: (u64, u64)) -> u64 {
        if self.lanes >= 32 { conflict_degree(access, extent, self.banks) } else { self.in_parts(access) }
    }

    /// Cycles of an access that is served in parts.
    fn in_parts(&self, access: &Access) -> u64 {
        let together = u32::MAX >> (32 - self.lanes);
        let masks = (0..32).step_by(self.lanes as usize).map(|first| access.mask & together << first);
        let parts = masks.filter(|&mask| mask != 0).map(|mask| Access { mask, ..access.clone() });
        parts.map(|part| conflict_degree(&part, part.extent(), self.banks)).sum::<u64>().max(1)
    }
}

impl LoadStore {
    /// Executes an access to shared memory, issued in cycle `since`.
    pub(super) fn shared(
        &mut self,
        access: Box<Access>,
        (warp, since): (u32, u64),
        sm: &mut SmContext<'_>,
    ) -> Result<Taken, Fault> {
        let number = sm.number(warp);
        let cta = sm.cta(warp);
        let (low, high) = access.extent();
        if let Some(lane) = out_of_bounds(&access, high, cta.shared.len() as u64) {
            let size = cta.shared.len();
            let message =
                format!("{}, outside of the block's shared memory ({size} bytes)", access.describe(lane));
            return Err(cta.fault_at(number, lane, access.pc, FaultKind::IllegalAddress, message));
        }
        execute(&access, &mut cta.shared, &mut self.words);
        if let (Some(round), AccessKind::Atomic(..)) = (self.lock_round, access.kind) {
            return Ok(self.locked(access, (warp, since), round, sm));
        }
        let degree = self.banks.cycles_within(&access, (low, high));
        cta.counts.shared_conflicts += degree - 1;
        sm.sim.stats.shared_accesses.add(1);
        sm.sim.stats.shared_conflicts.add(degree - 1);
        if access.wants_value {
            sm.deliver(warp, &access, access.mask, &self.words);
            sm.write_back(warp, access.pc, Some(since), sm.cycle + degree - 1 + self.shared_latency);
        }
        self.end(warp, access, sm);
        Ok(Taken::all(degree))
    }

    /// Times an atomic, done already, as a loop of loads with locks and stores that unlock.
    fn locked(
        &mut self,
        access: Box<Access>,
        (warp, since): (u32, u64),
        round: u64,
        sm: &mut SmContext<'_>,
    ) -> Taken {
        let Locked { rounds, cycles } = locked(&access, self.banks);
        sm.cta(warp).counts.shared_conflicts += cycles - 2;
        sm.sim.stats.shared_accesses.add(1);
        sm.sim.stats.shared_conflicts.add(cycles - 2);
        // The value is that of the last round; nothing waits for the store behind it.
        let latency = self.shared_latency;
        let end = sm.cycle + (rounds * (latency + round) - round).max(cycles - 2 + latency);
        if access.wants_value {
            sm.deliver(warp, &access, access.mask, &self.words);
            sm.write_back(warp, access.pc, Some(since), end);
        }
        self.end(warp, access, sm);
        Taken::all(cycles)
    }

    /// Loads a word that a warp has loaded before, for all its lanes at once.
    #[inline]
    pub(super) fn poll(
        &mut self,
        (warp, pc): (u32, u32),
        since: u64,
        address: u32,
        sm: &mut SmContext<'_>,
    ) -> Taken {
        let word = word(&sm.cta(warp).shared, address);
        sm.sim.stats.shared_accesses.add(1);
        sm.polled(warp, word);
        sm.write_back(warp, pc, Some(since), sm.cycle + self.shared_latency);
        sm.done(warp);
        Taken::all(1)
    }
}

/// The word at an address where a warp has loaded one before.
pub(in crate::gpu::sm) fn word(bytes: &[u8], address: u32) -> u32 {
    let word = bytes.get(address as usize..).and_then(|bytes| bytes.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Cycles that an access, from the lowest address to the highest one, takes: the most different words that one bank must
/// deliver. Lanes that read the same word share it; atomics on the same word take turns.
#[inline]
fn conflict_degree(access: &Access, (low, high): (u64, u64), banks: u32) -> u64 {
    let words = u64::from(access.width).div_ceil(4);
    let span = high / 4 + words - low / 4;
    if matches!(access.kind, AccessKind::Atomic(..)) {
        return turns(access, banks, |_| false);
    }
    if span <= u64::from(banks) {
        // No two of these words are in one bank.
        return 1;
    }
    if span <= MARKED as u64 {
        let (first, mut marks) = (low / 4, [0_u64; MARKED / 64]);
        return turns(access, banks, |word| {
            let (marks, bit) = (&mut marks[(word - first) as usize / 64], 1 << ((word - first) % 64));
            let known = *marks & bit != 0;
            *marks |= bit;
            known
        });
    }
    let mut seen = Vec::new();
    turns(access, banks, |word| {
        let known = seen.contains(&word);
        seen.extend((!known).then_some(word));
        known
    })
}

/// The most words that one bank delivers, but for those that are `known` already.
fn turns(access: &Access, banks: u32, mut known: impl FnMut(u64) -> bool) -> u64 {
    let (words, banks) = (u64::from(access.width).div_ceil(4), u64::from(banks));
    let mut turns = [0_u64; 32];
    let mut lanes = access.mask;
    while lanes != 0 {
        let word = access.addresses[lanes.trailing_zeros() as usize] / 4;
        lanes &= lanes - 1;
        for word in word..word + words {
            turns[(word % banks) as usize] += u64::from(!known(word));
        }
    }
    turns.into_iter().max().unwrap_or(1).max(1)
}

/// Cost of an atomic that is done with locks.
struct Locked {
    /// Rounds: lanes on the most wanted word.
    rounds: u64,
    /// Cycles of the unit in all: those of the loads, in which lanes on one word share it, and of the stores.
    cycles: u64,
}

/// Goes through the rounds: all lanes that are left try, one of each word succeeds.
fn locked(access: &Access, banks: SharedBanks) -> Locked {
    let mut part = Access { kind: AccessKind::Load, ..access.clone() };
    let (mut left, mut rounds, mut cycles) = (access.mask, 0, 0);
    while left != 0 {
        let (mut winners, mut lanes) = (0_u32, left);
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            let address = part.addresses[lane as usize];
            let same = (lane..32).filter(|&other| part.addresses[other as usize] == address);
            lanes &= !same.fold(0, |mask, other| mask | 1 << other);
            winners |= 1 << lane;
        }
        // All that are left load, and those that have got the lock store.
        for mask in [left, winners] {
            part.mask = mask;
            cycles += banks.cycles(&part);
        }
        left &= !winners;
        rounds += 1;
    }
    Locked { rounds: rounds.max(1), cycles: cycles.max(2) }
}

/// The first lane that reaches beyond the CTA's shared memory; `high` is the highest address of all.
#[inline]
fn out_of_bounds(access: &Access, high: u64, bytes: u64) -> Option<u32> {
    let beyond = |address: u64| address.saturating_add(u64::from(access.width)) > bytes;
    if !beyond(high) {
        return None;
    }
    (0..32).find(|&lane| access.mask >> lane & 1 != 0 && beyond(access.addresses[lane as usize]))
}

/// Executes an access on the bytes of a block's shared memory, if it is wholly within them; the result is whether it is.
pub(in crate::gpu::sm) fn access(access: &Access, bytes: &mut [u8], words: &mut [Row; 4]) -> bool {
    let is_inside = out_of_bounds(access, access.extent().1, bytes.len() as u64).is_none();
    if is_inside {
        execute(access, bytes, words);
    }
    is_inside
}

/// Executes the access; loads and atomics leave their values in `words`.
fn execute(access: &Access, bytes: &mut [u8], words: &mut [Row; 4]) {
    match access.kind {
        AccessKind::Load => access.gather(access.mask, 0, bytes, words),
        AccessKind::Store => access.store(access.mask, 0, bytes),
        AccessKind::Atomic(..) => access.atomic(access.mask, 0, bytes, words),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degree_of(access: &Access) -> u64 {
        in_parts(access, 1)
    }

    fn in_parts(access: &Access, parts: u32) -> u64 {
        SharedBanks { banks: 32, lanes: 32 / parts }.cycles(access)
    }

    fn strided(stride: u64) -> Access {
        let addresses = std::array::from_fn(|lane| lane as u64 * stride);
        Access { addresses, mask: u32::MAX, ..Access::default() }
    }

    #[test]
    fn conflicts_are_counted_in_words_per_bank() {
        let far = [(2048, 32), (2052, 1), (4096, 32)];
        for (stride, degree) in
            [(0, 1), (4, 1), (8, 2), (12, 1), (16, 4), (128, 32), (132, 1)].into_iter().chain(far)
        {
            assert_eq!(degree_of(&strided(stride)), degree, "stride {stride}");
        }
        let wide = Access { width: 8, elements: 1, element_bytes: 8, ..strided(8) };
        assert_eq!(degree_of(&wide), 2);
        let alike = Access { addresses: std::array::from_fn(|lane| lane as u64 / 2 * 128), ..strided(0) };
        assert_eq!(degree_of(&alike), 16, "two lanes share a word");
    }

    #[test]
    fn parts_of_a_warp_are_served_one_after_another() {
        for (stride, two, four) in [(0, 2, 4), (4, 2, 4), (8, 2, 4), (12, 2, 4), (16, 4, 4), (128, 32, 32)] {
            let access = strided(stride);
            assert_eq!((in_parts(&access, 2), in_parts(&access, 4)), (two, four), "stride {stride}");
        }
        let first = Access { mask: 0xffff, ..strided(4) };
        assert_eq!((in_parts(&first, 2), in_parts(&first, 4)), (1, 2), "parts without a lane take no time");
    }

    #[test]
    fn locks_are_given_to_one_lane_of_a_word_a_round() {
        let of = |access: &Access| {
            let Locked { rounds, cycles } = locked(access, SharedBanks { banks: 32, lanes: 32 });
            (rounds, cycles)
        };
        // Words of their own, one word, two words, and words of one bank.
        assert_eq!(of(&strided(4)), (1, 2));
        assert_eq!(of(&strided(0)), (32, 64));
        let two = Access { addresses: std::array::from_fn(|lane| lane as u64 % 2 * 4), ..strided(0) };
        assert_eq!(of(&two), (16, 32));
        assert_eq!(of(&strided(128)), (1, 64), "the lanes' words conflict, their locks do not");
        assert_eq!(of(&Access { mask: 0b101, ..strided(0) }), (2, 4));
    }

    #[test]
    fn atomics_on_one_word_take_turns() {
        let kind =
            AccessKind::Atomic(counterpoint_ptx::AtomicOperation::Add, counterpoint_ptx::AtomicType::U32);
        assert_eq!(degree_of(&Access { kind, ..strided(0) }), 32);
    }
}
