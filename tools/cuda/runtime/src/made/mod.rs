//! Things that a program has made or set, by subject: the parts of its state. The functions on them are in `api`.

pub(crate) mod arrays;
pub(crate) mod contexts;
pub(crate) mod cublas;
pub(crate) mod curand;
pub(crate) mod device_limits;
pub(crate) mod graphs;
pub(crate) mod libraries;
pub(crate) mod virtual_memory;
pub(crate) mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_int, c_uint, c_void};

use crate::fatbin::Contents;
use crate::words::Dim3;

/// Flag of a stream that the legacy default stream does not wait for, and that does not wait for it.
pub(crate) const NON_BLOCKING: c_uint = 1;

/// Handle of a stream: its number, behind CUDA's own.
pub(crate) type Stream = *mut c_void;

/// A link of NVIDIA's linker, by the handle that the program has.
#[derive(Default)]
pub(crate) struct JitLink {
    pub(crate) parts: Vec<Contents>,
    pub(crate) made: String,
    pub(crate) errors: String,
}

/// Code that is being linked.
#[derive(Default)]
pub(crate) struct Link {
    pub(crate) parts: Vec<Contents>,
    /// Memory of the program that has the result.
    pub(crate) made: Option<u64>,
}

/// A stream as the program has made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) flags: c_uint,
    pub(crate) priority: c_int,
}

impl Made {
    pub(crate) fn is_non_blocking(self) -> bool {
        self.flags & NON_BLOCKING != 0
    }
}

/// An event that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) has_no_time: bool,
    pub(crate) is_recorded: bool,
}

/// Settings of a program for a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FunctionSettings {
    /// Dynamic shared memory at most.
    pub(crate) dynamic_shared: Option<u32>,
    pub(crate) carveout: Option<c_int>,
}

/// Memory that the program has registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) bytes: u64,
    pub(crate) flags: c_uint,
    /// The address by which kernels reach it.
    pub(crate) on_device: Option<u64>,
}

/// Sizes of a launch between `<<<` and `>>>`.
#[derive(Clone, Copy)]
pub(crate) struct Configuration {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: usize,
    pub(crate) stream: Stream,
}

/// Pools of memory that a program has made, and the values of attributes that it has set, by pool and attribute.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) made: BTreeSet<usize>,
    pub(crate) set: BTreeMap<(usize, c_int), u64>,
}

/// Memory of graphs: bytes now, and at most.
#[derive(Default)]
pub(crate) struct GraphMemory {
    pub(crate) used: u64,
    pub(crate) most: u64,
}

impl GraphMemory {
    pub(crate) fn take(&mut self, bytes: u64) {
        self.used += bytes;
        self.most = self.most.max(self.used);
    }

    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

/// Addresses of names and texts of errors in the program.
#[derive(Default)]
pub(crate) struct Texts(pub(crate) BTreeMap<&'static CStr, u64>);
