//! Instruction buffers: two instructions a warp, filled in the cycle after their fetch.
//!
//! A warp is fetched for when its buffer is empty, warps take turns (GPGPU-Sim). A jump empties the buffer.

/// Instructions that a fetch brings.
const FETCHED: u8 = 2;

/// The instruction buffers of an SM.
pub(super) struct Fetch {
    /// Warps whose buffer is empty.
    hungry: u64,
    /// Warps whose next instruction is in their buffer.
    buffered: u64,
    counts: [u8; 64],
    /// The warp whose instructions have been fetched and not yet decoded.
    decoding: Option<u32>,
    turn: u32,
    width: u32,
}

impl Fetch {
    /// Fills so many buffers a cycle.
    pub(super) fn new(width: u32) -> Self {
        Fetch { hungry: 0, buffered: 0, counts: [0; 64], decoding: None, turn: 0, width }
    }

    /// Warps whose next instruction is in their buffer.
    #[inline]
    pub(super) fn buffered(&self) -> u64 {
        self.buffered
    }

    /// A warp begins in this slot.
    pub(super) fn start(&mut self, slot: u32) {
        self.stop(slot);
        self.hungry |= 1 << slot;
    }

    /// The warp in this slot has ended.
    pub(super) fn stop(&mut self, slot: u32) {
        self.hungry &= !(1 << slot);
        self.buffered &= !(1 << slot);
        self.counts[slot as usize] = 0;
        if self.decoding == Some(slot) {
            self.decoding = None;
        }
    }

    /// The warp in this slot has issued an instruction; the next one is not the one behind it if it `jumped`.
    #[inline]
    pub(super) fn issued(&mut self, slot: u32, jumped: bool) {
        let count = &mut self.counts[slot as usize];
        *count = if jumped { 0 } else { *count - 1 };
        if *count == 0 {
            self.buffered &= !(1 << slot);
            self.hungry |= 1 << slot;
        }
    }

    /// Whether something is to do in the next cycle.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.hungry != 0 || self.decoding.is_some()
    }

    /// Decodes what was fetched, and fetches for the next hungry warp.
    #[inline]
    pub(super) fn step(&mut self) {
        for _ in 0..self.width {
            if let Some(slot) = self.decoding.take() {
                self.buffered |= 1 << slot;
                self.counts[slot as usize] = FETCHED;
            }
            if self.hungry == 0 {
                return;
            }
            let after = self.hungry >> self.turn;
            let slot =
                if after == 0 { self.hungry.trailing_zeros() } else { self.turn + after.trailing_zeros() };
            self.turn = (slot + 1) % 64;
            self.hungry &= !(1 << slot);
            self.decoding = Some(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_filled_a_cycle_after_its_fetch_and_warps_take_turns() {
        let mut fetch = Fetch::new(1);
        [0, 1, 63].into_iter().for_each(|slot| fetch.start(slot));
        let states: Vec<u64> = (0..4)
            .map(|_| {
                fetch.step();
                fetch.buffered()
            })
            .collect();
        assert_eq!(states, [0, 0b1, 0b11, 0b11 | 1 << 63]);
        assert!(!fetch.is_busy());
        fetch.issued(1, false);
        assert!(!fetch.is_busy(), "one instruction is left");
        fetch.issued(1, false);
        fetch.issued(0, true);
        assert_eq!((fetch.buffered(), fetch.is_busy()), (1 << 63, true));
    }

    #[test]
    fn a_wide_fetch_decodes_in_its_cycle() {
        let mut fetch = Fetch::new(4);
        [3, 4].into_iter().for_each(|slot| fetch.start(slot));
        fetch.step();
        assert_eq!((fetch.buffered(), fetch.is_busy()), (0b11000, false));
    }

    #[test]
    fn what_was_fetched_for_a_warp_that_has_ended_is_dropped() {
        let mut fetch = Fetch::new(1);
        fetch.start(5);
        fetch.step();
        fetch.stop(5);
        fetch.step();
        assert_eq!((fetch.buffered(), fetch.is_busy()), (0, false));
    }
}
