//! Memory of the host that copies and perhaps kernels use: allocated by CUDA, or by the program and registered.

use std::ffi::c_uint;

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{put, read};
use crate::made::Registered;
use crate::pages::PAGE;
use crate::state::State;

/// Flags of memory of the host: for all devices, reached by kernels, written past the caches.
const PORTABLE: c_uint = 1;
const MAPPED: c_uint = 2;
const WRITE_COMBINED: c_uint = 4;
/// Flags of memory that is registered: two of those, of a device, only read.
const REGISTERED: c_uint = PORTABLE | MAPPED | 4 | 8;

impl State {
    /// Registered memory that contains an address, with its start.
    pub(super) fn registered_at(&self, address: u64) -> Option<(u64, Registered)> {
        let (&start, &found) = self.registered.range(..=address).next_back()?;
        (address - start < found.bytes).then_some((start, found))
    }

    fn register(&mut self, address: u64, bytes: u64, flags: c_uint) -> Result {
        let end = address.checked_add(bytes).filter(|end| *end > address && address > 0);
        let end = end.ok_or(Error::INVALID_VALUE)?;
        if flags & !REGISTERED != 0 || self.device.holds(address) && self.shared.find(address).is_none() {
            return Err(Error::INVALID_VALUE);
        }
        let before = self.registered.range(..end).next_back();
        if before.is_some_and(|(start, found)| start + found.bytes > address)
            || self.shared.overlaps(address, bytes)
        {
            return Err(Error::ALREADY_REGISTERED);
        }
        // The program has memory there.
        read(address, 1).and_then(|_| read(end - 1, 1))?;
        self.registered.insert(address, Registered { bytes, flags, on_device: None });
        Ok(())
    }

    /// The address by which kernels reach registered memory.
    fn registered_on_device(&mut self, start: u64, found: Registered) -> Result<u64> {
        if let Some(there) = found.on_device {
            return Ok(there);
        }
        let pages = |start: u64, found: &Registered| start / PAGE..(start + found.bytes).div_ceil(PAGE);
        let mine = pages(start, &found);
        let mut others = self.registered.iter().filter(|(_, other)| other.on_device.is_some());
        if others.any(|(start, other)| {
            pages(*start, other).start < mine.end && mine.start < pages(*start, other).end
        }) {
            let reason =
                "kernels reach one piece of registered memory in a page of 4 KiB, and there is another one";
            return Err(self.refuse("cudaHostGetDevicePointer", reason));
        }
        let there = self.share_registered(start, found.bytes)?;
        self.registered.insert(start, Registered { on_device: Some(there), ..found });
        Ok(there)
    }
}

fn check_flags(flags: c_uint) -> Result {
    if flags & !(PORTABLE | MAPPED | WRITE_COMBINED) == 0 { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

entries! {
    fn cudaMallocHost(address: *mut u64, bytes: usize) |state| {
        put(address, state.allocate_pinned(bytes as u64, 0, false)?)
    }

    fn cudaHostAlloc(address: *mut u64, bytes: usize, flags: c_uint) |state| {
        check_flags(flags)?;
        put(address, state.allocate_pinned(bytes as u64, flags, flags & MAPPED != 0)?)
    }

    fn cudaFreeHost(address: u64) |state| {
        state.print();
        match address {
            0 => Ok(()),
            address if state.shared.is_managed(address) => Err(Error::INVALID_VALUE),
            address => state.free_shared(address),
        }
    }

    fn cudaHostGetDevicePointer(device: *mut u64, host: u64, flags: c_uint) |state| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if state.shared.find(host).is_none() && let Some((start, found)) = state.registered_at(host) {
            return put(device, state.registered_on_device(start, found)? + (host - start));
        }
        let start = state.shared.start(host).ok_or(Error::INVALID_VALUE)?;
        state.put_on_device(start)?;
        put(device, host)
    }

    /// The flags of the allocation. With one space of addresses, kernels reach all such memory.
    fn cudaHostGetFlags(flags: *mut c_uint, host: u64) |state| {
        let registered = state.registered_at(host).map(|(_, found)| found.flags);
        let found = state.shared.flags(host).or(registered).ok_or(Error::INVALID_VALUE)?;
        put(flags, found | MAPPED)
    }

    /// Memory of the host that copies may use: all may. Kernels reach it by the address that `cudaHostGetDevicePointer` gives.
    fn cudaHostRegister(address: u64, bytes: usize, flags: c_uint) |state| {
        state.register(address, bytes as u64, flags)
    }

    fn cudaHostUnregister(address: u64) |state| {
        match state.registered_at(address) {
            Some((start, found)) if start == address => {
                state.registered.remove(&address);
                found.on_device.map_or(Ok(()), |there| state.free_shared(there))
            }
            Some(_) => Err(Error::INVALID_VALUE),
            None => Err(Error::NOT_REGISTERED),
        }
    }
}
