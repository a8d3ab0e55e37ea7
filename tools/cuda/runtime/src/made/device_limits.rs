//! Limits that a program has set for its kernels (`cudaLimit`).

use std::collections::BTreeMap;
use std::ffi::c_int;

use counterpoint_ptx::printf::Ring;
use counterpoint_ptx::{Heap, StackSize};

pub(crate) const STACK: c_int = 0;
pub(crate) const PRINTF: c_int = 1;
pub(crate) const HEAP: c_int = 2;
/// Limits of nested launches: their synchronisation depth, and their number pending. No kernel launches kernels here.
pub(crate) const DEPTH: c_int = 3;
pub(crate) const PENDING: c_int = 4;
/// The portion in which the L2 fetches, and its bytes that stay. No value depends on them.
pub(crate) const FETCH: c_int = 5;
pub(crate) const PERSISTING: c_int = 6;

/// Limits of the device, by CUDA's numbers, and what has used them.
#[derive(Default)]
pub(crate) struct DeviceLimits {
    pub(crate) set: BTreeMap<c_int, u64>,
    /// A kernel has printed, or allocated: its memory has a size that stays.
    pub(crate) has_printed: bool,
    pub(crate) has_allocated: bool,
    /// The sizes of memory that kernels have.
    pub(crate) noted: LibraryBytes,
}

/// Bytes of the heap, and of the ring of what kernels print; and the stack of a thread, which is no smaller than an application's, though CUDA's limit
/// begins with 1 KiB: a program that sets none has frames that fit there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LibraryBytes {
    pub(crate) heap: u64,
    pub(crate) printf: u64,
    pub(crate) stack: StackSize,
}

impl Default for LibraryBytes {
    fn default() -> Self {
        LibraryBytes { heap: Heap::DEFAULT_BYTES, printf: Ring::DEFAULT_BYTES, stack: StackSize::default() }
    }
}

impl DeviceLimits {
    pub(crate) fn value(&self, limit: c_int) -> Option<u64> {
        let default = match limit {
            STACK => 1 << 10,
            PRINTF => Ring::DEFAULT_BYTES,
            HEAP => Heap::DEFAULT_BYTES,
            DEPTH => 2,
            PENDING => 2048,
            FETCH => 64,
            PERSISTING => 0,
            _ => return None,
        };
        Some(self.set.get(&limit).copied().unwrap_or(default))
    }
}
