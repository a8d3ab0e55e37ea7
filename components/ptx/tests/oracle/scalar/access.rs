//! The memories of a CTA, byte by byte.

use std::collections::BTreeMap;

use counterpoint_ptx::ast::{Module, StorageSpace};

use super::Launch;
use super::code::size;

/// Windows of shared and local memory among generic addresses. Programs must not look at the numbers.
pub(crate) const SHARED_WINDOW: u64 = 1 << 48;
pub(crate) const LOCAL_WINDOW: u64 = 2 << 48;

/// A place that bytes can be read from and written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Global,
    Shared,
    Local,
}

/// Global and shared memory, and the kernel's parameters.
pub(crate) struct Memories<'a> {
    base: u64,
    global: &'a mut [u8],
    shared: Vec<u8>,
    /// Offsets of shared variables by name.
    pub(crate) names: BTreeMap<&'a str, u64>,
    pub(crate) parameters: &'a [u8],
}

impl<'a> Memories<'a> {
    pub(crate) fn new(launch: &'a Launch<'a>, global: &'a mut [u8]) -> Self {
        let names = shared_names(launch.module);
        let bytes = names.len() << 16;
        Memories { base: launch.base, global, shared: vec![0; bytes], names, parameters: launch.parameters }
    }

    /// The bytes at an address of a room; a thread brings its own local memory.
    pub(crate) fn bytes<'b>(
        &'b mut self,
        room: Room,
        local: &'b mut [u8],
        address: u64,
        count: usize,
    ) -> &'b mut [u8] {
        let (start, bytes) = match room {
            Room::Global => (address.wrapping_sub(self.base), &mut *self.global),
            Room::Shared => (address, &mut *self.shared),
            Room::Local => (address, local),
        };
        assert!(address.is_multiple_of(count as u64), "{address:#x} is not aligned to {count}");
        bytes
            .get_mut(start as usize..start as usize + count)
            .unwrap_or_else(|| panic!("{room:?} {address:#x}"))
    }
}

/// Every variable has 64 KiB, so that none reaches into another.
fn shared_names(module: &Module) -> BTreeMap<&str, u64> {
    let shared = module.variables.iter().filter(|variable| variable.space == StorageSpace::Shared);
    let place = |(index, variable): (usize, &counterpoint_ptx::ast::Variable)| {
        assert!(size(variable) <= 1 << 16);
        (index as u64) << 16
    };
    shared.enumerate().map(|(index, variable)| (variable.name.as_str(), place((index, variable)))).collect()
}

/// The room of a generic address, and the address there.
pub(crate) fn resolve(address: u64) -> (Room, u64) {
    match address {
        LOCAL_WINDOW.. => (Room::Local, address - LOCAL_WINDOW),
        SHARED_WINDOW.. => (Room::Shared, address - SHARED_WINDOW),
        _ => (Room::Global, address),
    }
}
