//! Memory as the driver gives it, and what it says of an address.

use std::ffi::{c_int, c_uint, c_void};

use super::super::entries;
use super::super::managed::Location;
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::made::Stream;
use crate::made::contexts::PRIMARY;
use crate::state::State;

/// Bytes of an element of rows that are read at once.
const ELEMENTS: [c_uint; 3] = [4, 8, 16];

/// Kinds of memory: of the host, and of the device.
const HOST: u64 = 1;
const DEVICE: u64 = 2;

/// Attributes of an address (`CUpointer_attribute` in CUDA's `cuda.h`).
const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const DEVICE_POINTER: c_int = 3;
const HOST_POINTER: c_int = 4;
const SYNC_MEMOPS: c_int = 6;
const BUFFER_ID: c_int = 7;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;
const START: c_int = 11;
const SIZE: c_int = 12;
const IS_MAPPED: c_int = 13;
const RIGHTS: c_int = 16;
/// Others, whose value is 0: tokens, handles of other processes and of pools, and what remote devices reach.
const OTHERS: [c_int; 8] = [5, 10, 14, 15, 17, 18, 19, 20];
/// Rights to read and to write.
const READ_WRITE: u64 = 3;

/// An attribute's value and its size in bytes; none where the address has no memory that CUDA knows.
fn attribute(state: &State, address: u64, number: c_int) -> Result<Option<(u64, usize)>> {
    let shared = state.shared.at(address).map(|(start, block)| (start, block.bytes));
    let on_device = state.device.allocation(address).map(|(start, found)| (start, found.bytes));
    let registered = state.registered_at(address).map(|(start, found)| (start, found.bytes));
    let Some((start, bytes)) = shared.or(on_device).or(registered) else {
        return if (CONTEXT..=20).contains(&number) { Ok(None) } else { Err(Error::INVALID_VALUE) };
    };
    let is_managed = shared.is_some() && state.shared.is_managed(address);
    let is_on_host = shared.or(registered).is_some();
    Ok(Some(match number {
        CONTEXT => (PRIMARY, 8),
        MEMORY_TYPE => (if is_on_host && !is_managed { HOST } else { DEVICE }, 4),
        DEVICE_POINTER if shared.is_some() || on_device.is_some() => (address, 8),
        HOST_POINTER if is_on_host => (address, 8),
        DEVICE_POINTER | HOST_POINTER => return Ok(None),
        SYNC_MEMOPS => (0, 4),
        BUFFER_ID => (start, 8),
        IS_MANAGED => (is_managed.into(), 4),
        DEVICE_ORDINAL => (0, 4),
        START => (start, 8),
        SIZE => (bytes, 8),
        IS_MAPPED => (1, 4),
        RIGHTS => (READ_WRITE, 4),
        _ if OTHERS.contains(&number) => (0, 8),
        _ => return Err(Error::INVALID_VALUE),
    }))
}

fn put_value(place: *mut c_void, (value, bytes): (u64, usize)) -> Result {
    if bytes == 4 { put(place.cast(), value as u32) } else { put(place.cast(), value) }
}

entries! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) |state| {
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        put(address, state.allocate(bytes as u64)?)
    }

    fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, rows: usize, element: c_uint) |state| {
        if !ELEMENTS.contains(&element) || width == 0 || rows == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let (given, between) = state.allocate_rows(width as u64, Some(rows as u64))?;
        put(pitch, between as usize)?;
        put(address, given)
    }

    fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) |state| {
        let (found, size) = match (state.shared.at(address), state.device.allocation(address)) {
            (Some((found, block)), _) => (found, block.bytes),
            (None, Some((found, allocation))) => (found, allocation.bytes),
            (None, None) => return Err(Error::NOT_FOUND),
        };
        if !start.is_null() {
            put(start, found)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, size as usize) }
    }

    fn cuPointerGetAttribute(place: *mut c_void, number: c_int, address: u64) |state| {
        put_value(place, attribute(state, address, number)?.ok_or(Error::INVALID_VALUE)?)
    }

    /// Several attributes at once; 0 where the address has no memory that CUDA knows, and -2 for its device.
    fn cuPointerGetAttributes(count: c_uint, numbers: *const c_int, places: *const *mut c_void, address: u64) |state| {
        for index in 0..count as usize {
            let (number, place) = (get(numbers.wrapping_add(index))?, get(places.wrapping_add(index))?);
            let unknown = match number {
                MEMORY_TYPE | IS_MANAGED | IS_MAPPED | RIGHTS | SYNC_MEMOPS => (0, 4),
                DEVICE_ORDINAL => (u64::from(u32::MAX - 1), 4),
                _ => (0, 8),
            };
            put_value(place, attribute(state, address, number)?.unwrap_or(unknown))?;
        }
        Ok(())
    }

    /// Copies of the memory always wait for each other here.
    fn cuPointerSetAttribute(_value: *const c_void, number: c_int, address: u64) |state| {
        attribute(state, address, number)?.ok_or(Error::INVALID_VALUE)?;
        if number == SYNC_MEMOPS { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: Stream) |state| {
        state.prefetch(address, bytes, Location::of(device), 0, stream)
    }

    fn cuMemAdvise(address: u64, bytes: usize, advice: c_int, device: c_int) |state| {
        state.advise(address, bytes, advice, Location::of(device))
    }

    fn cuDeviceGetMemPool(pool: *mut u64, device: c_int) => Device |_state| {
        super::super::devices::check_device(device)?;
        put(pool, super::super::pools::POOL as u64)
    }

    fn cuDeviceGetDefaultMemPool(pool: *mut u64, device: c_int) => Device |_state| {
        super::super::devices::check_device(device)?;
        put(pool, super::super::pools::POOL as u64)
    }
}
