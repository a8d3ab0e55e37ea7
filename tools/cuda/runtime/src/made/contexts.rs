//! Contexts of the driver: the primary one of the device, which the runtime uses, and those that a program makes. All have the one device; a
//! context that ends takes along what was made while it was current.

use std::collections::BTreeMap;
use std::ffi::c_uint;

use crate::errors::{Error, Result};

/// Handles of the driver's objects, where no memory is: contexts, modules, kernels, and code that is being linked.
pub(crate) const CONTEXTS: u64 = 0x0c01 << 48;
pub(crate) const MODULES: u64 = 0x0c02 << 48;
pub(crate) const LIBRARIES: u64 = 0x0c03 << 48;
pub(crate) const KERNELS: u64 = 0x0c04 << 48;
pub(crate) const LINKS: u64 = 0x0c05 << 48;
/// Handles of the libraries above the runtime.
pub(crate) const CUBLAS: u64 = 0x0c06 << 48;
pub(crate) const CURAND: u64 = 0x0c07 << 48;

/// The number behind a handle of a kind.
pub(crate) fn number(handle: u64, kind: u64) -> Result<usize> {
    match handle.checked_sub(kind) {
        Some(number) if number < 1 << 48 => Ok(number as usize),
        _ => Err(Error::INVALID_RESOURCE_HANDLE),
    }
}

/// The primary context of the device.
pub(crate) const PRIMARY: u64 = CONTEXTS;

/// A thing that ends with its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    Buffer(u64),
    Stream(u32),
    Event(u32),
    Module(usize),
}

/// A context that a program has made.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) flags: c_uint,
    pub(crate) owned: Vec<Owned>,
}

/// The contexts of a program.
#[derive(Default)]
pub(crate) struct Contexts {
    /// The program has called `cuInit`, or a function of the runtime.
    pub(crate) is_initialized: bool,
    /// References to the primary context, and its flags.
    pub(crate) retained: u32,
    pub(crate) primary_flags: c_uint,
    /// The runtime has used the primary context.
    pub(crate) is_of_runtime: bool,
    pub(crate) made: BTreeMap<u64, Context>,
    next: u64,
}

impl Contexts {
    pub(crate) fn make(&mut self, flags: c_uint) -> u64 {
        self.next += 1;
        let handle = CONTEXTS + self.next;
        self.made.insert(handle, Context { flags, owned: Vec::new() });
        handle
    }

    pub(crate) fn is_primary_active(&self) -> bool {
        self.retained > 0 || self.is_of_runtime
    }

    /// Whether a handle is that of a context which works.
    pub(crate) fn is_alive(&self, handle: u64) -> bool {
        if handle == PRIMARY { self.is_primary_active() } else { self.made.contains_key(&handle) }
    }

    pub(crate) fn flags(&self, handle: u64) -> c_uint {
        self.made.get(&handle).map_or(self.primary_flags, |context| context.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_another_kind_are_errors() {
        assert_eq!(number(MODULES + 3, MODULES), Ok(3));
        assert_eq!(number(KERNELS + 3, MODULES), Err(Error::INVALID_RESOURCE_HANDLE));
        assert_eq!(number(3, MODULES), Err(Error::INVALID_RESOURCE_HANDLE));
    }

    #[test]
    fn the_primary_context_lives_while_somebody_has_it() {
        let mut contexts = Contexts::default();
        assert!(!contexts.is_alive(PRIMARY));
        contexts.retained = 1;
        assert!(contexts.is_alive(PRIMARY));
        let own = contexts.make(4);
        assert_eq!((contexts.is_alive(own), contexts.flags(own), contexts.flags(PRIMARY)), (true, 4, 0));
    }
}
