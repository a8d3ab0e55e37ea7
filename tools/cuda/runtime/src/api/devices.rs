//! The device: there is one.

use std::ffi::{c_int, c_uint, c_void};

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::put;

/// Flags of a device: the schedule of the host's waits, of which one is set; mapped host memory, which is always on; local memory that is
/// kept; and synchronous copies.
const SCHEDULE: [c_uint; 4] = [0, 1, 2, 4];
const SCHEDULE_MASK: c_uint = 7;
const MAP_HOST: c_uint = 8;
const OTHERS: c_uint = 0x10 | 0x80;
/// The flags of a call are to be those of the device.
const FLAGS_ARE_VALID: c_uint = 1;

pub(super) fn check_device(device: c_int) -> Result {
    if device == 0 { Ok(()) } else { Err(Error::INVALID_DEVICE) }
}

/// Checks how a cache and shared memory are to share their bytes.
pub(super) fn check_cache(config: c_int) -> Result {
    if (0..=3).contains(&config) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Checks a width of the banks of shared memory.
pub(super) fn check_banks(config: c_int) -> Result {
    if (0..=2).contains(&config) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

fn check_flags(flags: c_uint) -> Result {
    let is_known = flags & !(SCHEDULE_MASK | MAP_HOST | OTHERS) == 0;
    if is_known && SCHEDULE.contains(&(flags & SCHEDULE_MASK)) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

entries! {
    fn cudaGetDeviceCount(count: *mut c_int) |_state| { put(count, 1) }

    fn cudaSetDevice(device: c_int) => Always |_state| { check_device(device) }

    fn cudaGetDevice(device: *mut c_int) |_state| { put(device, 0) }

    fn cudaChooseDevice(device: *mut c_int, _properties: *const c_void) |_state| { put(device, 0) }

    fn cudaSetDeviceFlags(flags: c_uint) |state| {
        check_flags(flags)?;
        state.device_flags = flags;
        Ok(())
    }

    fn cudaGetDeviceFlags(flags: *mut c_uint) |state| { put(flags, state.device_flags | MAP_HOST) }

    fn cudaInitDevice(device: c_int, device_flags: c_uint, flags: c_uint) |state| {
        check_device(device)?;
        if flags & FLAGS_ARE_VALID != 0 {
            check_flags(device_flags)?;
            state.device_flags = device_flags;
        }
        Ok(())
    }

    fn cudaDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) |state| {
        check_device(device)?;
        put(value, state.attribute(number)?)
    }

    /// The device is as it was in the beginning, and works again if a kernel has failed.
    fn cudaDeviceReset() => Always |state| { state.reset() }

    fn cudaThreadExit() => Always |state| { state.reset() }

    fn cudaDeviceSetCacheConfig(config: c_int) |state| {
        check_cache(config)?;
        state.cache_config = config;
        Ok(())
    }

    fn cudaThreadSetCacheConfig(config: c_int) |state| {
        check_cache(config)?;
        state.cache_config = config;
        Ok(())
    }

    fn cudaDeviceGetCacheConfig(config: *mut c_int) |state| { put(config, state.cache_config) }

    fn cudaDeviceSetSharedMemConfig(config: c_int) |_state| { check_banks(config) }

    fn cudaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) |_state| {
        check_device(device)?;
        check_device(peer)?;
        put(can, 0)
    }

    /// Only one device exists, so no peer is accessible.
    fn cudaDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) |_state| {
        Err(if peer == 0 { Error::INVALID_DEVICE } else { Error::PEER_ACCESS_UNSUPPORTED })
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) |_state| { Err(Error::PEER_ACCESS_NOT_ENABLED) }

    fn cudaDeviceGetP2PAttribute(_value: *mut c_int, _attribute: c_int, _from: c_int, _to: c_int) |_state| {
        Err(Error::INVALID_DEVICE)
    }

    /// The L2 has no persisting lines.
    fn cudaCtxResetPersistingL2Cache() |_state| { Ok(()) }
}
