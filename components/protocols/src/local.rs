//! Local memory of kernels: address of each thread's part in device memory.
//!
//! A device reserves the local memory of all threads that it can hold at once, regardless of their kernels: the address
//! of a warp's part depends on its SM and its slot there, and warps that run at the same time never share. The words of
//! a warp's 32 lanes are adjacent, so that lanes which all access the same word index access one line, as NVIDIA's GPUs
//! do it (CUDA C programming guide, "Local Memory"). Lines of the same word index of all warps are adjacent, so that a
//! kernel of few warps uses all sets of the caches (GPGPU-Sim):
//!
//! ```text
//! base + ((word * warps + slot) * sms + sm) * 128 + lane * 4
//! ```

/// Threads of a warp, and bytes of a word.
const LANES: u64 = 32;
const WORD: u64 = 4;

/// Maximum number of resident warps of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capacity {
    /// SMs.
    pub sms: u32,
    /// Slots for warps of an SM; of the largest, where they differ.
    pub warps: u32,
}

impl Capacity {
    /// All threads.
    pub fn threads(&self) -> u64 {
        u64::from(self.sms) * u64::from(self.warps) * LANES
    }
}

/// The local memory of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LocalMemory {
    /// Its beginning, at a multiple of 128.
    pub base: u64,
    /// Bytes of a thread, a multiple of 4: the need of the most demanding kernel of the device; 0 if none
    /// needs any.
    pub bytes_per_thread: u32,
    /// The threads for which there is room.
    pub capacity: Capacity,
}

impl LocalMemory {
    /// Bytes of all threads.
    pub fn bytes(&self) -> u64 {
        self.capacity.threads() * u64::from(self.bytes_per_thread)
    }

    /// Bytes from a word of a thread to its next one.
    #[inline]
    pub fn stride(&self) -> u64 {
        u64::from(self.capacity.sms) * u64::from(self.capacity.warps) * (LANES * WORD)
    }

    /// The address of a byte of a thread's local memory: of a lane of the warp in a slot of an SM.
    #[inline]
    pub fn address(&self, sm: u32, slot: u32, lane: u32, offset: u32) -> u64 {
        let warp = u64::from(slot) * u64::from(self.capacity.sms) + u64::from(sm);
        let (word, byte) = (u64::from(offset) / WORD, u64::from(offset) % WORD);
        self.base + word * self.stride() + warp * (LANES * WORD) + u64::from(lane) * WORD + byte
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const LOCAL: LocalMemory =
        LocalMemory { base: 4096, bytes_per_thread: 12, capacity: Capacity { sms: 2, warps: 3 } };

    #[test]
    fn a_word_of_all_lanes_is_one_line() {
        let lanes = |sm, slot, offset| (0..32).map(move |lane| LOCAL.address(sm, slot, lane, offset));
        let line = |number: u64| 4096 + number * 128;
        assert!(lanes(0, 0, 0).eq((line(0)..line(1)).step_by(4)));
        assert!(lanes(1, 0, 0).eq((line(1)..line(2)).step_by(4)), "the next SM");
        assert!(lanes(0, 1, 0).eq((line(2)..line(3)).step_by(4)), "the next slot");
        assert!(lanes(0, 0, 6).eq((line(6) + 2..line(7)).step_by(4)), "the third byte of the second word");
        assert!(lanes(1, 2, 8).eq((line(17)..line(18)).step_by(4)), "the last line of 18");
        assert_eq!(LOCAL.stride(), 6 * 128);
    }

    #[test]
    fn every_byte_has_an_address_of_its_own() {
        let mut seen = BTreeSet::new();
        for (sm, slot, lane, offset) in
            (0..2 * 3 * 32 * 12).map(|n| (n / 1152, n / 384 % 3, n / 12 % 32, n % 12))
        {
            assert!(seen.insert(LOCAL.address(sm, slot, lane, offset)));
        }
        assert_eq!((seen.first(), seen.last()), (Some(&4096), Some(&(4095 + LOCAL.bytes()))));
        assert_eq!((LOCAL.bytes(), LOCAL.capacity.threads()), (2304, 192));
    }
}
