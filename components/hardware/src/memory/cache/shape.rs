//! Size and shape of a cache, and the functions from lines to sets.

use counterpoint_framework::model::{Choice, Params};
use counterpoint_framework::time::Bytes;

/// Function from a line to its set in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum SetIndex {
    /// Lines go to the sets in turn.
    Linear,
    /// Low bits of the line's number, mixed with higher ones of its address as Fermi's L1 does (Nugteren et al., "A
    /// Detailed GPU Cache Model Based on Reuse Distance Theory", HPCA 2014). For 32 or 64 sets.
    FermiHash,
    /// The remainder of the line's number, its bits taken as a polynomial, by an irreducible one (Rau, "Pseudo-Randomly
    /// Interleaved Memory", ISCA 1991; GPGPU-Sim's set function P). For 4 to 1024 sets, a power of two.
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

/// The set of a line among 32 or 64: bits 7 to 11 of its address, each crossed with one of the bits 13, 14, 15, 17 and
/// 19; with 64 sets, bit 12 as well.
#[inline]
pub(super) fn fermi_hash(index: u64, sets: u64) -> u64 {
    let high = index >> 6 & 0b111 | (index >> 10 & 1) << 3 | (index >> 12 & 1) << 4;
    (index & 31 ^ high) | index & (sets - 32)
}
