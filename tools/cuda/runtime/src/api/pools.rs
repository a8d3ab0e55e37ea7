//! Memory that streams and graphs allocate. All pools are of the device's memory, and none has a size of its own.

use std::ffi::{c_int, c_void};

use super::devices::check_device;
use super::entries;
use super::memory::allocate_in_stream;
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::made::Stream;
use crate::state::State;

pub(super) const POOL: usize = 1;

type Pool = *mut c_void;

/// Rights to read and to write.
const READ_WRITE: c_int = 3;

/// Checks that a pool is the device's own, or one that the program has made.
fn check_pool(state: &State, pool: Pool) -> Result {
    let is_known = pool.addr() == POOL || state.pool.made.contains(&pool.addr());
    if is_known { Ok(()) } else { Err(Error::INVALID_VALUE) }
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

    fn cudaDeviceSetMemPool(device: c_int, pool: Pool) |state| {
        check_device(device)?;
        check_pool(state, pool)
    }

    fn cudaMallocFromPoolAsync(address: *mut u64, bytes: usize, pool: Pool, stream: Stream) |state| {
        check_pool(state, pool)?;
        allocate_in_stream(state, address, bytes as u64, stream)
    }

    fn cudaMemPoolSetAttribute(pool: Pool, attribute: c_int, value: *const c_void) |state| {
        check_pool(state, pool)?;
        let value = match attribute {
            KEPT => get(value.cast::<u64>())?,
            attribute if REUSE.contains(&attribute) => u64::from(get(value.cast::<u32>())?),
            _ => return Err(state.refuse("cudaMemPoolSetAttribute", "the attribute is not supported")),
        };
        state.pool.set.insert((pool.addr(), attribute), value);
        Ok(())
    }

    fn cudaMemPoolGetAttribute(pool: Pool, attribute: c_int, value: *mut c_void) |state| {
        check_pool(state, pool)?;
        let set = state.pool.set.get(&(pool.addr(), attribute)).copied();
        match attribute {
            KEPT => put(value.cast::<u64>(), set.unwrap_or(0)),
            attribute if REUSE.contains(&attribute) => put(value.cast::<u32>(), set.unwrap_or(1) as u32),
            _ => Err(state.refuse("cudaMemPoolGetAttribute", "the attribute is not supported")),
        }
    }

    fn cudaMemPoolCreate(pool: *mut Pool, _properties: *const c_void) |state| {
        let number = state.pool.made.last().map_or(POOL, |last| *last) + 1;
        state.pool.made.insert(number);
        put(pool, std::ptr::without_provenance_mut(number))
    }

    fn cudaMemPoolDestroy(pool: Pool) |state| {
        if state.pool.made.remove(&pool.addr()) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn cudaMemPoolTrimTo(pool: Pool, _bytes: usize) |state| { check_pool(state, pool) }

    /// The device has all rights to its pools.
    fn cudaMemPoolSetAccess(pool: Pool, _list: *const c_void, _count: usize) |state| { check_pool(state, pool) }

    fn cudaMemPoolGetAccess(rights: *mut c_int, pool: Pool, _place: *const c_void) |state| {
        check_pool(state, pool)?;
        put(rights, READ_WRITE)
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
