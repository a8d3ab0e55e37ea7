//! The device: there is one.

use std::ffi::{c_int, c_uint, c_void};

use counterpoint_ptx::StackSize;

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::state::State;

/// Attributes of a kernel, up to those that programs set.
#[repr(C)]
#[derive(Clone, Copy)]
struct FunctionAttributes {
    shared: usize,
    constant: usize,
    local: usize,
    most_threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    dynamic_shared_at_most: c_int,
    carveout: c_int,
}

crate::foreign::plain!(FunctionAttributes);

/// Attributes of kernels that programs set: dynamic shared memory at most, and the share of shared memory.
const DYNAMIC_SHARED: c_int = 8;
const CARVEOUT: c_int = 9;

pub(super) fn check_device(device: c_int) -> Result {
    if device == 0 { Ok(()) } else { Err(Error::INVALID_DEVICE) }
}

/// A limit that nobody has set, by CUDA's number: stack, printf, heap, how deep kernels wait for kernels, how many of them wait, the portion in which
/// the L2 fetches, and the part of it that stays.
fn default_limit(limit: c_int) -> Result<usize> {
    let limits = [1 << 10, 1 << 20, 8 << 20, 2, 2048, 64, 0];
    usize::try_from(limit).ok().and_then(|limit| limits.get(limit).copied()).ok_or(Error::UNSUPPORTED_LIMIT)
}

/// Blocks of the kernel behind a stub that an SM holds at once.
fn resident_blocks(state: &mut State, stub: *const c_void, threads: c_int, shared: usize) -> Result<c_int> {
    let (_, kernel) = state.kernel(stub)?;
    Ok(state.resident_blocks(&kernel, threads as u32, shared as u64) as c_int)
}

entries! {
    fn cudaGetDeviceCount(count: *mut c_int) |_state| { put(count, 1) }

    fn cudaSetDevice(device: c_int) |_state| { check_device(device) }

    fn cudaGetDevice(device: *mut c_int) |_state| { put(device, 0) }

    fn cudaChooseDevice(device: *mut c_int, _properties: *const c_void) |_state| { put(device, 0) }

    fn cudaSetDeviceFlags(_flags: c_uint) |_state| { Ok(()) }

    fn cudaGetDeviceFlags(flags: *mut c_uint) |_state| { put(flags, 0) }

    fn cudaInitDevice(device: c_int, _device_flags: c_uint, _flags: c_uint) |_state| { check_device(device) }

    fn cudaDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) |state| {
        check_device(device)?;
        put(value, state.attribute(number))
    }

    fn cudaDeviceReset() |state| {
        state.synchronize(None);
        Ok(())
    }

    fn cudaThreadExit() |state| {
        state.synchronize(None);
        Ok(())
    }

    fn cudaDeviceSetCacheConfig(_config: c_int) |_state| { Ok(()) }

    fn cudaThreadSetCacheConfig(_config: c_int) |_state| { Ok(()) }

    fn cudaDeviceGetCacheConfig(config: *mut c_int) |_state| { put(config, 0) }

    fn cudaFuncSetCacheConfig(_stub: *const c_void, _config: c_int) |_state| { Ok(()) }

    fn cudaDeviceSetSharedMemConfig(_config: c_int) |_state| { Ok(()) }

    fn cudaFuncSetSharedMemConfig(_stub: *const c_void, _config: c_int) |_state| { Ok(()) }

    fn cudaDeviceCanAccessPeer(can: *mut c_int, _device: c_int, _peer: c_int) |_state| { put(can, 0) }

    /// There is one device, so that no other can be reached.
    fn cudaDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) |_state| {
        Err(if peer == 0 { Error::INVALID_DEVICE } else { Error::PEER_ACCESS_UNSUPPORTED })
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) |_state| { Err(Error::PEER_ACCESS_NOT_ENABLED) }

    fn cudaDeviceGetP2PAttribute(_value: *mut c_int, _attribute: c_int, _from: c_int, _to: c_int) |_state| {
        Err(Error::INVALID_DEVICE)
    }

    /// Limits of a device: its heap and what its kernels print have sizes of their own, but a program is given back what it has set.
    fn cudaDeviceSetLimit(limit: c_int, value: usize) |state| {
        default_limit(limit)?;
        state.limits_set.insert(limit, value);
        Ok(())
    }

    fn cudaDeviceGetLimit(value: *mut usize, limit: c_int) |state| {
        let default = default_limit(limit)?;
        put(value, state.limits_set.get(&limit).copied().unwrap_or(default))
    }

    /// Nothing of the L2 stays.
    fn cudaCtxResetPersistingL2Cache() |_state| { Ok(()) }

    fn cudaFuncSetAttribute(stub: *const c_void, attribute: c_int, value: c_int) |state| {
        let (_, kernel) = state.kernel(stub)?;
        let most = state.limits().shared_of_block_at_most;
        match attribute {
            DYNAMIC_SHARED if value >= 0 && u64::from(kernel.shared_bytes()) + value as u64 <= most => {
                state.dynamic_limits.insert(stub.addr(), value as u32);
                Ok(())
            }
            DYNAMIC_SHARED => Err(Error::INVALID_VALUE),
            CARVEOUT => Ok(()),
            _ => Err(state.refuse("cudaFuncSetAttribute", &format!("the attribute {attribute} is not supported"))),
        }
    }

    fn cudaFuncGetAttributes(attributes: *mut FunctionAttributes, stub: *const c_void) |state| {
        let (_, kernel) = state.kernel(stub)?;
        let threads = kernel.max_ntid().map_or(1024, |sizes| sizes.iter().product::<u32>());
        let most = state.dynamic_shared_limit(stub, &kernel);
        put(attributes, FunctionAttributes {
            shared: kernel.shared_bytes() as usize,
            constant: kernel.constant_bytes() as usize,
            local: kernel.local_bytes(StackSize::default()) as usize,
            most_threads: threads.min(1024) as c_int,
            registers: kernel.registers_per_thread() as c_int,
            ptx_version: kernel.target() as c_int,
            binary_version: kernel.target() as c_int,
            cache_mode: 0,
            dynamic_shared_at_most: most as c_int,
            carveout: -1,
        })
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, stub: *const c_void, threads: c_int, shared: usize,
    ) |state| {
        put(blocks, resident_blocks(state, stub, threads, shared)?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, stub: *const c_void, threads: c_int, shared: usize, _flags: c_uint,
    ) |state| {
        put(blocks, resident_blocks(state, stub, threads, shared)?)
    }
}
