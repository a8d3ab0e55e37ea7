//! Addresses that a program reserves, and memory that it maps there: reserved, mapped, and given rights, in this order.
//!
//! Memory has a place only while it is mapped and somebody may touch it. Its bytes are kept while it is mapped nowhere. It can be mapped at
//! one place at a time.

use std::ffi::{c_int, c_ulonglong, c_void};

use counterpoint_cuda_capture::{Entry, Region, Way};

use super::super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::made::virtual_memory::{Mapping, Physical};
use crate::state::State;

/// Bytes of which sizes and addresses are multiples.
const GRANULARITY: u64 = 2 << 20;
/// Handles of memory begin here, where no memory is.
const FIRST_HANDLE: u64 = 0x0c06 << 48;
/// A kind of memory and of its place: pinned, and the device's.
const PINNED: c_int = 1;
const DEVICE: c_int = 1;
/// Rights of a device: none, to read, and to read and write.
const RIGHTS: [c_int; 3] = [0, 1, 3];

#[repr(C)]
#[derive(Clone, Copy)]
struct Properties {
    kind: c_int,
    handles: c_int,
    place: c_int,
    device: c_int,
    metadata: *const c_void,
    flags: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Access {
    place: c_int,
    device: c_int,
    rights: c_int,
}

plain!(Properties, Access);

fn check_multiple(value: u64) -> Result {
    if value.is_multiple_of(GRANULARITY) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

fn check_properties(properties: *const Properties) -> Result<Properties> {
    let found = get(properties)?;
    if found.kind != PINNED || found.place != DEVICE || found.device != 0 {
        return Err(Error::INVALID_VALUE);
    }
    Ok(found)
}

impl State {
    /// Gives a mapping rights, with which its memory appears and goes.
    fn set_rights(&mut self, address: u64, mapping: Mapping, rights: c_int) -> Result {
        match (mapping.rights, rights) {
            (0, 0) => {}
            (0, _) => {
                self.device.allocate_at(address, mapping.bytes)?;
                self.recorder.write(&Entry::Allocate { address, bytes: mapping.bytes });
                if let Some(bytes) = self.virtual_memory.physical(mapping.handle)?.kept.take() {
                    let region = Region::line(address, mapping.bytes);
                    self.device.write(region, &bytes)?;
                    self.note_copy(Way::In, region, &bytes, 0, true);
                }
            }
            (_, 0) => {
                let bytes = self.device.read(Region::line(address, mapping.bytes))?;
                self.virtual_memory.physical(mapping.handle)?.kept = Some(bytes);
                self.device.retire(address)?;
                self.recorder.entry(&Entry::Free { address });
            }
            _ => {}
        }
        if let Some(known) = self.virtual_memory.mappings.get_mut(&address) {
            known.rights = rights;
        }
        Ok(())
    }
}

entries! {
    fn cuMemGetAllocationGranularity(
        bytes: *mut usize, properties: *const Properties, _option: c_int,
    ) => Device |_state| {
        check_properties(properties)?;
        put(bytes, GRANULARITY as usize)
    }

    fn cuMemAddressReserve(
        address: *mut u64, bytes: usize, _alignment: usize, _wanted: u64, flags: c_ulonglong,
    ) |state| {
        let bytes = bytes as u64;
        check_multiple(bytes)?;
        if bytes == 0 || flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let room = bytes.checked_add(GRANULARITY).ok_or(Error::INVALID_VALUE)?;
        let start = state.device.place(room)?.next_multiple_of(GRANULARITY);
        state.virtual_memory.reserved.insert(start, bytes);
        put(address, start)
    }

    fn cuMemAddressFree(address: u64, bytes: usize) |state| {
        let end = address.checked_add(bytes as u64).ok_or(Error::INVALID_VALUE)?;
        let is_whole = state.virtual_memory.reserved.get(&address) == Some(&(bytes as u64));
        if !is_whole || state.virtual_memory.mappings.range(address..end).next().is_some() {
            return Err(Error::INVALID_VALUE);
        }
        state.virtual_memory.reserved.remove(&address);
        Ok(())
    }

    fn cuMemCreate(handle: *mut u64, bytes: usize, properties: *const Properties, flags: c_ulonglong) |state| {
        check_properties(properties)?;
        check_multiple(bytes as u64)?;
        if bytes == 0 || flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let held: u64 = state.virtual_memory.physical.values().map(|memory| memory.bytes).sum();
        if held + bytes as u64 > state.device.room().1 {
            return Err(Error::MEMORY_ALLOCATION);
        }
        state.virtual_memory.last += 1;
        let number = FIRST_HANDLE + state.virtual_memory.last;
        let memory = Physical { bytes: bytes as u64, is_held: true, ..Physical::default() };
        state.virtual_memory.physical.insert(number, memory);
        put(handle, number)
    }

    fn cuMemRelease(handle: u64) |state| {
        let memory = state.virtual_memory.physical(handle)?;
        if !std::mem::replace(&mut memory.is_held, false) {
            return Err(Error::INVALID_VALUE);
        }
        state.virtual_memory.forget(handle);
        Ok(())
    }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: c_ulonglong) |state| {
        let bytes = bytes as u64;
        let memory = state.virtual_memory.physical(handle)?;
        let (is_free, is_whole) = (memory.mapped.is_none(), memory.bytes == bytes);
        let reserved = state.virtual_memory.reserved.range(..=address).next_back();
        let is_reserved = reserved.is_some_and(|(start, length)| address + bytes <= start + length);
        let is_mapped = state.virtual_memory.mappings.range(..address + bytes).next_back();
        let is_mapped = is_mapped.is_some_and(|(start, mapping)| start + mapping.bytes > address);
        if offset != 0 || flags != 0 || !is_reserved || is_mapped || !is_whole || !address.is_multiple_of(GRANULARITY) {
            return Err(Error::INVALID_VALUE);
        }
        if !is_free {
            return Err(state.refuse("cuMemMap", "memory at two addresses at a time is not supported"));
        }
        state.virtual_memory.physical(handle)?.mapped = Some(address);
        state.virtual_memory.mappings.insert(address, Mapping { handle, bytes, rights: 0 });
        Ok(())
    }

    fn cuMemUnmap(address: u64, bytes: usize) |state| {
        for (start, mapping) in state.virtual_memory.range(address, bytes as u64)? {
            state.set_rights(start, mapping, 0)?;
            state.virtual_memory.mappings.remove(&start);
            state.virtual_memory.physical(mapping.handle)?.mapped = None;
            state.virtual_memory.forget(mapping.handle);
        }
        Ok(())
    }

    fn cuMemSetAccess(address: u64, bytes: usize, list: *const Access, count: usize) |state| {
        for index in 0..count {
            let Access { place, device, rights } = get(list.wrapping_add(index))?;
            if place != DEVICE || device != 0 || !RIGHTS.contains(&rights) {
                return Err(Error::INVALID_VALUE);
            }
            for (start, mapping) in state.virtual_memory.range(address, bytes as u64)? {
                state.set_rights(start, mapping, rights)?;
            }
        }
        Ok(())
    }

    fn cuMemGetAccess(rights: *mut c_ulonglong, _place: *const c_void, address: u64) |state| {
        let (_, mapping) = state.virtual_memory.mapping_at(address)?;
        put(rights, mapping.rights as u64)
    }

    fn cuMemRetainAllocationHandle(handle: *mut u64, address: u64) |state| {
        let (_, mapping) = state.virtual_memory.mapping_at(address)?;
        state.virtual_memory.physical(mapping.handle)?.is_held = true;
        put(handle, mapping.handle)
    }

    fn cuMemGetAllocationPropertiesFromHandle(properties: *mut Properties, handle: u64) |state| {
        state.virtual_memory.physical(handle)?;
        let [kind, place] = [PINNED, DEVICE];
        put(properties, Properties { kind, handles: 0, place, device: 0, metadata: std::ptr::null(), flags: 0 })
    }
}
