//! Reserved addresses, physical memory and where it is mapped.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::errors::{Error, Result};

#[derive(Default)]
pub(crate) struct Physical {
    pub(crate) bytes: u64,
    /// The program has not given the memory back.
    pub(crate) is_held: bool,
    pub(crate) mapped: Option<u64>,
    /// Bytes of memory that has been mapped before.
    pub(crate) kept: Option<Vec<u8>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    pub(crate) handle: u64,
    pub(crate) bytes: u64,
    pub(crate) rights: c_int,
}

/// Reserved addresses, mappings by their addresses, and memory by its handle.
#[derive(Default)]
pub(crate) struct VirtualMemory {
    pub(crate) reserved: BTreeMap<u64, u64>,
    pub(crate) mappings: BTreeMap<u64, Mapping>,
    pub(crate) physical: BTreeMap<u64, Physical>,
    pub(crate) last: u64,
}

impl VirtualMemory {
    pub(crate) fn physical(&mut self, handle: u64) -> Result<&mut Physical> {
        self.physical.get_mut(&handle).ok_or(Error::INVALID_VALUE)
    }

    /// Mappings that fill a range without gaps.
    pub(crate) fn range(&self, address: u64, bytes: u64) -> Result<Vec<(u64, Mapping)>> {
        let end = address.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
        let found: Vec<_> = self.mappings.range(address..end).map(|(at, mapping)| (*at, *mapping)).collect();
        let ends = found
            .iter()
            .try_fold(address, |at, (start, mapping)| (*start == at).then_some(start + mapping.bytes));
        if bytes > 0 && ends == Some(end) { Ok(found) } else { Err(Error::INVALID_VALUE) }
    }

    /// Forgets memory that nobody has or maps.
    pub(crate) fn forget(&mut self, handle: u64) {
        if self.physical.get(&handle).is_some_and(|memory| !memory.is_held && memory.mapped.is_none()) {
            self.physical.remove(&handle);
        }
    }

    pub(crate) fn mapping_at(&self, address: u64) -> Result<(u64, Mapping)> {
        let found = self.mappings.range(..=address).next_back();
        let found = found.filter(|(start, mapping)| address - **start < mapping.bytes);
        found.map(|(start, mapping)| (*start, *mapping)).ok_or(Error::INVALID_VALUE)
    }
}
