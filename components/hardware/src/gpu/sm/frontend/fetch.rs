//! Instruction buffers and the instruction cache: a fetch brings two instructions of a warp, which are in its buffer a
//! cycle later.
//!
//! Warps whose buffers are empty are fetched for in turn; a warp whose instructions are not in the cache waits for their
//! line and goes first when the line has arrived. Fetch continues sequentially after a jump. When the scheduler examines
//! the warp and its buffer holds the wrong instructions, the buffer is emptied (GPGPU-Sim).

use std::collections::VecDeque;

use counterpoint_framework::kernel::Out;
use counterpoint_framework::model::Invalid;
use counterpoint_protocols::memory::{ByteMask, Label, Line, MemRequest};
use counterpoint_ptx::Kernel;

use crate::gpu::sm::answer::Answer;
use crate::gpu::sm::params::ReadCacheParams;
use crate::gpu::sm::read_cache::{Lookup, ReadCache, ReadCacheStats};

/// Instructions that a fetch brings.
const FETCHED: u8 = 2;

/// The code of a warp's kernel.
#[derive(Clone, Copy, Default)]
pub(in crate::gpu::sm) struct Code {
    /// Address of the first instruction.
    pub(in crate::gpu::sm) address: u64,
    pub(in crate::gpu::sm) instructions: u32,
    pub(in crate::gpu::sm) label: Label,
}

/// The instruction buffers of an SM.
pub(in crate::gpu::sm) struct Fetch {
    /// Warps whose buffer is empty and for which nothing has been fetched.
    hungry: u64,
    /// Waiting warps for which the cache can do nothing before an answer has arrived.
    blocked: u64,
    /// Warps whose next instruction is in their buffer.
    buffered: u64,
    /// Warps whose buffer holds instructions that they have jumped over.
    stale: u64,
    counts: [u8; 64],
    /// The next instruction to be fetched for each warp.
    from: [u32; 64],
    code: [Code; 64],
    /// The warp whose instructions have been fetched and not yet decoded.
    decoding: Option<u32>,
    /// Warps whose instructions have arrived from memory.
    arrived: VecDeque<u32>,
    turn: u32,
    width: u32,
    cache: ReadCache<u32>,
}

impl Fetch {
    /// Fills `width` buffers a cycle.
    pub(in crate::gpu::sm) fn new(width: u32, cache: &ReadCacheParams) -> Result<Self, Invalid> {
        Ok(Fetch {
            hungry: 0,
            blocked: 0,
            buffered: 0,
            stale: 0,
            counts: [0; 64],
            from: [0; 64],
            code: [Code::default(); 64],
            decoding: None,
            arrived: VecDeque::with_capacity(64),
            turn: 0,
            width,
            cache: ReadCache::new(cache, Answer::Instruction)?,
        })
    }

    /// Warps whose next instruction is in their buffer.
    #[inline]
    pub(in crate::gpu::sm) fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Warps whose buffer holds instructions that they have jumped over.
    #[inline]
    pub(in crate::gpu::sm) fn stale(&self) -> u64 {
        self.stale
    }

    /// A warp begins in this slot.
    pub(in crate::gpu::sm) fn start(&mut self, slot: u32, code: Code) {
        self.stop(slot);
        self.code[slot as usize] = code;
        self.from[slot as usize] = 0;
        self.hungry |= 1 << slot;
    }

    /// Notes that the warp in this slot has ended.
    pub(in crate::gpu::sm) fn stop(&mut self, slot: u32) {
        self.hungry &= !(1 << slot);
        self.blocked &= !(1 << slot);
        self.buffered &= !(1 << slot);
        self.stale &= !(1 << slot);
        self.counts[slot as usize] = 0;
        if self.decoding == Some(slot) {
            self.decoding = None;
        }
    }

    /// The warp in this slot has issued the instruction at `pc`, and continues at `next`.
    #[inline]
    pub(in crate::gpu::sm) fn issued(&mut self, slot: u32, pc: u32, next: Option<u32>) {
        let count = &mut self.counts[slot as usize % 64];
        *count -= 1;
        self.from[slot as usize % 64] = pc + 1;
        if *count == 0 {
            self.buffered &= !(1 << slot);
            self.hungry |= 1 << slot;
        } else if next != Some(pc + 1) {
            self.buffered &= !(1 << slot);
            self.stale |= 1 << slot;
        }
    }

    /// The warp in this slot issues the last instruction of its buffer, whatever is behind it there.
    #[inline]
    pub(in crate::gpu::sm) fn drop_rest(&mut self, slot: u32) {
        self.counts[slot as usize] = 1;
    }

    /// Empties the buffers of these warps, which continue at `pc_of`.
    pub(in crate::gpu::sm) fn flush(&mut self, warps: u64, pc_of: impl Fn(u32) -> Option<u32>) {
        self.stale &= !warps;
        self.hungry |= warps;
        let mut rest = warps;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            self.counts[slot as usize % 64] = 0;
            self.from[slot as usize % 64] = pc_of(slot).unwrap_or_default();
        }
    }

    /// Whether something is to do in the next cycle.
    #[inline]
    pub(in crate::gpu::sm) fn is_busy(&self) -> bool {
        self.hungry & !self.blocked | self.stale != 0 || self.decoding.is_some() || !self.arrived.is_empty()
    }

    /// Whether a request of the cache waits for credit.
    #[inline]
    pub(in crate::gpu::sm) fn wants_credit(&self) -> bool {
        self.cache.wants_credit()
    }

    #[inline]
    pub(in crate::gpu::sm) fn send(&mut self, memory: &mut Out<MemRequest>) {
        self.cache.send(memory);
    }

    /// Decodes the instructions that were fetched, and fetches for the next hungry warp. `pc_of` gives a warp's next
    /// instruction.
    #[inline(never)]
    pub(in crate::gpu::sm) fn step(&mut self, pc_of: impl Fn(u32) -> Option<u32>, stats: &ReadCacheStats) {
        for _ in 0..self.width {
            if let Some(slot) = self.decoding.take() {
                let right = pc_of(slot) == Some(self.from[slot as usize % 64]);
                *(if right { &mut self.buffered } else { &mut self.stale }) |= 1 << slot;
                self.counts[slot as usize % 64] = FETCHED;
            }
            if let Some(slot) = self.arrived.pop_front() {
                self.decoding = Some(slot);
                continue;
            }
            let hungry = self.hungry & !self.blocked;
            if hungry == 0 {
                return;
            }
            let after = hungry >> self.turn;
            let slot = if after == 0 { hungry.trailing_zeros() } else { self.turn + after.trailing_zeros() };
            self.turn = (slot + 1) % 64;
            self.fetch(slot, stats);
        }
    }

    #[inline]
    fn fetch(&mut self, slot: u32, stats: &ReadCacheStats) {
        if !self.cache.is_perfect() {
            let Code { address, instructions, label } = self.code[slot as usize % 64];
            // Behind a jump at the end of the kernel there is nothing else.
            let from = self.from[slot as usize % 64].min(instructions.saturating_sub(1));
            let address = address + u64::from(from) * Kernel::INSTRUCTION_BYTES;
            let found = self.cache.look_up(address, label, || slot);
            if !stats.count(&found) {
                self.blocked |= 1 << slot;
                return;
            }
            if !matches!(found, Lookup::Hit(_)) {
                self.hungry &= !(1 << slot);
                return;
            }
        }
        self.hungry &= !(1 << slot);
        self.decoding = Some(slot);
    }

    /// A line of instructions has arrived.
    pub(in crate::gpu::sm) fn fill(&mut self, miss: u32, mask: ByteMask, data: &Line) {
        let waiting = self.cache.fill(miss, mask, data);
        self.arrived.extend(waiting.iter().copied());
        self.cache.give_back(waiting);
        self.blocked = 0;
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::time::Bytes;

    use super::*;

    /// Fills `width` buffers a cycle, and never misses.
    fn fetch(width: u32) -> Fetch {
        let (capacity, line) = (Bytes::new(1024), Bytes::new(128));
        let perfect = ReadCacheParams { capacity, ways: 1, line, mshrs: 1, merges: 1, perfect: true };
        Fetch::new(width, &perfect).unwrap()
    }

    fn step(fetch: &mut Fetch) {
        fetch.step(|_| Some(0), &ReadCacheStats::default());
    }

    #[test]
    fn a_buffer_is_filled_a_cycle_after_its_fetch_and_warps_take_turns() {
        let mut fetch = fetch(1);
        [0, 1, 63].into_iter().for_each(|slot| fetch.start(slot, Code::default()));
        let states: Vec<u64> = (0..4)
            .map(|_| {
                step(&mut fetch);
                fetch.buffered()
            })
            .collect();
        assert_eq!(states, [0, 0b1, 0b11, 0b11 | 1 << 63]);
        assert!(!fetch.is_busy());
        fetch.issued(1, 0, Some(1));
        assert!(!fetch.is_busy(), "one instruction is left");
        fetch.issued(1, 1, Some(2));
        fetch.issued(0, 0, Some(7));
        assert_eq!((fetch.buffered(), fetch.stale(), fetch.is_busy()), (1 << 63, 1, true));
    }

    #[test]
    fn a_jump_is_noticed_when_the_scheduler_looks() {
        let mut fetch = fetch(1);
        fetch.start(0, Code::default());
        let to = |pc: u32| move |_: u32| Some(pc);
        let step = |fetch: &mut Fetch, pc| {
            fetch.step(to(pc), &ReadCacheStats::default());
            (fetch.buffered(), fetch.stale())
        };
        assert_eq!([0, 0].map(|pc| step(&mut fetch, pc)), [(0, 0), (1, 0)]);
        // A jump in front of another instruction: that one is in the buffer.
        fetch.issued(0, 0, Some(9));
        assert_eq!([9, 9].map(|pc| step(&mut fetch, pc)), [(0, 1), (0, 1)]);
        fetch.flush(1, to(9));
        assert_eq!([9, 9].map(|pc| step(&mut fetch, pc)), [(0, 0), (1, 0)]);
        // A jump as the last one of the buffer: those behind it are fetched.
        fetch.issued(0, 9, Some(10));
        fetch.issued(0, 10, Some(3));
        assert_eq!([3, 3].map(|pc| step(&mut fetch, pc)), [(0, 0), (0, 1)]);
        fetch.flush(1, to(3));
        assert_eq!([3, 3].map(|pc| step(&mut fetch, pc)), [(0, 0), (1, 0)]);
    }

    #[test]
    fn a_wide_fetch_decodes_in_its_cycle() {
        let mut fetch = fetch(4);
        [3, 4].into_iter().for_each(|slot| fetch.start(slot, Code::default()));
        step(&mut fetch);
        assert_eq!((fetch.buffered(), fetch.is_busy()), (0b11000, false));
    }

    #[test]
    fn what_was_fetched_for_a_warp_that_has_ended_is_dropped() {
        let mut fetch = fetch(1);
        fetch.start(5, Code::default());
        step(&mut fetch);
        fetch.stop(5);
        step(&mut fetch);
        assert_eq!((fetch.buffered(), fetch.is_busy()), (0, false));
    }
}
