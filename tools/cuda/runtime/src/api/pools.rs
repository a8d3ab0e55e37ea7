//! Memory that streams and graphs allocate. There is one pool, of which all of the device's memory is.

use std::ffi::{c_int, c_void};

use super::devices::check_device;
use super::entries;
use super::memory::allocate_in_stream;
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::made::Stream;

pub(super) const POOL: usize = 1;

type Pool = *mut c_void;

fn check_pool(pool: Pool) -> Result {
    if pool.addr() == POOL { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Attributes of the pool that a program sets: whether memory is given again in three ways, which are numbers of 4 bytes, and the bytes that the pool
/// keeps, of 8. Nothing here depends on them.
const REUSE: std::ops::RangeInclusive<c_int> = 1..=3;
const KEPT: c_int = 4;

entries! {
    fn cudaDeviceGetDefaultMemPool(pool: *mut Pool, device: c_int) |_state| {
        check_device(device)?;
        put(pool, std::ptr::without_provenance_mut(POOL))
    }

    fn cudaDeviceGetMemPool(pool: *mut Pool, device: c_int) |_state| {
        check_device(device)?;
        put(pool, std::ptr::without_provenance_mut(POOL))
    }

    fn cudaDeviceSetMemPool(device: c_int, pool: Pool) |_state| {
        check_device(device)?;
        check_pool(pool)
    }

    fn cudaMallocFromPoolAsync(address: *mut u64, bytes: usize, pool: Pool, stream: Stream) |state| {
        check_pool(pool)?;
        allocate_in_stream(state, address, bytes as u64, stream)
    }

    fn cudaMemPoolSetAttribute(pool: Pool, attribute: c_int, value: *const c_void) |state| {
        check_pool(pool)?;
        let value = match attribute {
            KEPT => get(value.cast::<u64>())?,
            attribute if REUSE.contains(&attribute) => u64::from(get(value.cast::<u32>())?),
            _ => return Err(state.refuse("cudaMemPoolSetAttribute", "the attribute is not supported")),
        };
        state.pool.0.insert(attribute, value);
        Ok(())
    }

    fn cudaMemPoolGetAttribute(pool: Pool, attribute: c_int, value: *mut c_void) |state| {
        check_pool(pool)?;
        let set = state.pool.0.get(&attribute).copied();
        match attribute {
            KEPT => put(value.cast::<u64>(), set.unwrap_or(0)),
            attribute if REUSE.contains(&attribute) => put(value.cast::<u32>(), set.unwrap_or(1) as u32),
            _ => Err(state.refuse("cudaMemPoolGetAttribute", "the attribute is not supported")),
        }
    }

    /// Bytes that graphs use now and at most, and that are kept for them, which are as many.
    fn cudaDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: *mut u64) |state| {
        check_device(device)?;
        match attribute {
            0 | 2 => put(value, state.graph_memory.used),
            1 | 3 => put(value, state.graph_memory.most),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// Begins to count anew.
    fn cudaDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, _value: *const c_void) |state| {
        check_device(device)?;
        if attribute != 1 && attribute != 3 {
            return Err(Error::INVALID_VALUE);
        }
        state.graph_memory.most = state.graph_memory.used;
        Ok(())
    }

    fn cudaDeviceGraphMemTrim(device: c_int) |_state| { check_device(device) }
}
