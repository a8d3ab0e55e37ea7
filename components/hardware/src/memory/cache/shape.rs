//! Size and shape of a cache, and the functions from lines to sets.

use counterpoint_framework::model::{Choice, Invalid, Params};
use counterpoint_framework::time::Bytes;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES};

use crate::memory::polynomial::Polynomial;

/// Function from a line to its set in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum SetIndex {
    /// Lines go to the sets in turn.
    Linear,
    /// Low bits of the line's number, mixed with higher ones of its address as Fermi's L1 does (Nugteren et al., "A
    /// Detailed GPU Cache Model Based on Reuse Distance Theory", HPCA 2014). For 32 or 64 sets.
    FermiHash,
    /// Line number as a polynomial, modulo an irreducible polynomial (Rau, "Pseudo-Randomly Interleaved Memory", ISCA 1991; GPGPU-Sim's set
    /// function P). For 4 to 1024 sets, a power of two.
    Polynomial,
}

/// Size and shape of a cache.
#[derive(Clone, Debug, Params)]
pub struct CacheParams {
    /// Data capacity.
    #[param(default = "32 KiB", min = "128 B")]
    pub capacity: Bytes,
    /// Lines per set.
    #[param(default = "4", min = "1", max = "1024")]
    pub ways: u32,
    /// Bytes of a line, a power of two.
    #[param(default = "128 B", min = "32 B", max = "256 B")]
    pub line: Bytes,
    /// Misses under way at most (MSHRs).
    #[param(default = "32", min = "1", max = "65535")]
    pub mshrs: u32,
    /// Accesses that one miss can serve (MSHR merges).
    #[param(default = "8", min = "1")]
    pub merges: u32,
    /// Function from a line to its set.
    #[param(default = "linear")]
    pub set_index: SetIndex,
}

impl CacheParams {
    /// The size of the lines, and the number of sets.
    ///
    /// # Errors
    /// When lines have no such size, the capacity is not a whole number of sets, or the function of the sets is not for their number.
    pub(super) fn shape(&self) -> Result<(LineSize, u64), Invalid> {
        let size = LineSize::new(self.line)?;
        let (capacity, set) = (self.capacity.get(), size.bytes() * u64::from(self.ways));
        if capacity == 0 || capacity % set != 0 {
            return Err(format!("capacity must be a multiple of ways × {} B", size.bytes()).into());
        }
        let sets = capacity / set;
        let (fits, wanted) = match self.set_index {
            SetIndex::Linear => (true, ""),
            SetIndex::FermiHash => (sets == 32 || sets == 64, "fermi-hash is for 32 or 64 sets"),
            SetIndex::Polynomial => (
                Polynomial::of_remainders(sets).is_some(),
                "polynomial is for 4 to 1024 sets, a power of two",
            ),
        };
        if !fits {
            return Err(format!("set_index: {wanted}, and these are {sets}").into());
        }
        Ok((size, sets))
    }
}

/// The size of a cache's lines, and its relation to messages, which transfer at most 128 bytes: a smaller line is a part of the aligned 128
/// bytes of a message, at its offset there; a line of 256 bytes has two halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSize {
    bits: u32,
    /// Bits of an address within a line.
    offset: u64,
    /// Bits of an address that choose a line among those of a message.
    within: u64,
    /// The bit of an address that chooses the half of a line of 256 bytes, if it has two.
    second: u64,
    /// The bytes of the first line of a message.
    first: ByteMask,
    /// Binary logarithm of the messages of a line.
    halving: u32,
}

impl LineSize {
    /// Lines of this size.
    ///
    /// # Errors
    /// When it is not a power of two from 32 to 256 bytes.
    pub fn new(line: Bytes) -> Result<Self, Invalid> {
        let bytes = line.get();
        if !bytes.is_power_of_two() || !(32..=256).contains(&bytes) {
            return Err("line must be a power of two".into());
        }
        let transfer = bytes.min(LINE_BYTES);
        Ok(LineSize {
            bits: bytes.trailing_zeros(),
            offset: bytes - 1,
            within: LINE_BYTES - transfer,
            second: bytes - transfer,
            first: ByteMask::MAX >> (LINE_BYTES - transfer),
            halving: (bytes / transfer).trailing_zeros(),
        })
    }

    /// Bytes of a line.
    #[inline]
    pub fn bytes(self) -> u64 {
        1 << self.bits
    }

    /// Bytes of a line that a message is about at most.
    #[inline]
    pub fn transfer(self) -> u64 {
        LINE_BYTES - self.within
    }

    /// The address of the line that holds an address.
    #[inline]
    pub fn line_of(self, address: u64) -> u64 {
        address & !self.offset
    }

    /// The address of the line that holds an address, or of the half that a message transfers.
    #[inline]
    pub fn transfer_of(self, address: u64) -> u64 {
        address & !(self.offset & !self.second)
    }

    /// The bytes of the line that holds an address, in a message about them.
    #[inline]
    pub fn bytes_of(self, address: u64) -> ByteMask {
        // No shift where a line is a message, as in most machines.
        if self.within == 0 { self.first } else { self.first << (address & self.within) }
    }

    /// The number of a line, by an address in it.
    #[inline]
    pub(crate) fn number(self, address: u64) -> u64 {
        address >> self.bits
    }

    /// The half of its line that holds an address.
    #[inline]
    pub(super) fn half_of(self, address: u64) -> usize {
        ((address & self.second) / LINE_BYTES) as usize
    }

    /// Binary logarithm of the messages that a line needs.
    #[inline]
    pub(super) fn halving(self) -> u32 {
        self.halving
    }

    /// Whether a message about 128 bytes may be about several lines.
    pub fn divides_messages(self) -> bool {
        self.within != 0
    }
}

/// The set of a line among 32 or 64: bits 7 to 11 of its address, each crossed with one of the bits 13, 14, 15, 17 and
/// 19; with 64 sets, bit 12 as well. Those are the bits for lines of 128 bytes.
#[inline]
pub(super) fn fermi_hash(index: u64, sets: u64) -> u64 {
    let high = index >> 6 & 0b111 | (index >> 10 & 1) << 3 | (index >> 12 & 1) << 4;
    (index & 31 ^ high) | index & (sets - 32)
}
