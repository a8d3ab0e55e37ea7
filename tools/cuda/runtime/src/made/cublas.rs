//! Objects of cuBLAS and of cuBLASLt.

use std::collections::BTreeMap;
use std::ffi::c_int;

use super::Stream;
use super::contexts::CUBLAS;

/// A program's objects of the library, by number.
#[derive(Default)]
pub(crate) struct Cublas {
    pub(crate) handles: BTreeMap<u64, Handle>,
    pub(crate) light: Objects,
    pub(crate) next: u64,
}

impl Cublas {
    /// The device has lost its memory.
    pub(crate) fn forget(&mut self) {
        self.handles.values_mut().for_each(|handle| handle.scratch = 0);
    }

    /// The handle of a new object.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        CUBLAS + self.next
    }
}

/// Settings of a handle, as the program has made them.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) stream: Stream,
    /// Whether factors and results are on the device.
    pub(crate) on_device: bool,
    pub(crate) math: c_int,
    pub(crate) atomics: c_int,
    /// Memory of the device for a result that the host wants; 0 before there is one.
    pub(crate) scratch: u64,
}

/// Objects by their handles.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) layouts: BTreeMap<u64, Layout>,
    pub(crate) products: BTreeMap<u64, Description>,
    pub(crate) preferences: BTreeMap<u64, ()>,
}

/// A matrix without an address.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) kind: c_int,
    pub(crate) order: c_int,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) leading: i64,
    pub(crate) count: c_int,
    pub(crate) between: i64,
}

/// Attributes of a product by their numbers, as words.
#[derive(Clone, Default)]
pub(crate) struct Description {
    pub(crate) compute: c_int,
    pub(crate) scale: c_int,
    pub(crate) attributes: BTreeMap<c_int, u64>,
}
