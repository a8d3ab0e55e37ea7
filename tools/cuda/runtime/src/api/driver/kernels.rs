//! Attributes of kernels, and launches, as the driver has them.

use std::ffi::{c_int, c_uint, c_void};

use super::super::entries;
use super::super::launches::{Arguments, ExtendedAttribute};
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::made::{Configuration, Stream};
use crate::state::State;
use crate::words::Dim3;

/// A launch as the driver describes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Description {
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    stream: Stream,
    attributes: *const ExtendedAttribute,
    count: c_uint,
}

plain!(Description);

/// An attribute of a kernel, by the driver's number.
fn attribute(state: &mut State, stub: u64, number: c_int) -> Result<c_int> {
    let known = state.function_attributes(std::ptr::without_provenance(stub as usize))?;
    Ok(match number {
        0 => known.most_threads,
        1 => known.shared as c_int,
        2 => known.constant as c_int,
        3 => known.local as c_int,
        4 => known.registers,
        5 => known.ptx_version,
        6 => known.binary_version,
        7 => known.cache_mode,
        8 => known.dynamic_shared_at_most,
        9 => known.carveout,
        // No cluster has a size that it must have.
        10..=15 => 0,
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// Writes the threads of a block that fill an SM best, and the blocks that fill the device then. A size of shared memory that depends on the block is
/// a function of the program, which is not called.
fn put_best_block(
    state: &mut State,
    (grid, block): (*mut c_int, *mut c_int),
    stub: u64,
    (sizes, shared): (*const c_void, usize),
    limit: c_int,
) -> Result {
    if !sizes.is_null() {
        return Err(
            state.refuse("cuOccupancyMaxPotentialBlockSize", "shared memory by a function is not supported")
        );
    }
    let (_, kernel) = state.kernel(std::ptr::without_provenance(stub as usize))?;
    let most = attribute(state, stub, 0)?;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0, 0);
    for threads in (1..=most.div_euclid(32).max(1)).rev().map(|warps| (warps * 32).min(most)) {
        let blocks = state.resident_blocks(&kernel, threads as u32, shared as u64);
        if blocks * threads as u32 > best.0 {
            best = (blocks * threads as u32, threads, blocks * state.settings.sms);
        }
    }
    put(grid, best.2 as c_int)?;
    put(block, best.1)
}

/// Writes the address of a text about an error; null where there is no such error.
fn put_text(place: *mut u64, address: Option<u64>) -> Result {
    put(place, address.unwrap_or(0))?;
    address.map(drop).ok_or(Error::INVALID_VALUE)
}

entries! {
    fn cuFuncGetAttribute(value: *mut c_int, number: c_int, function: u64) |state| {
        put(value, attribute(state, function, number)?)
    }

    fn cuKernelGetAttribute(value: *mut c_int, number: c_int, kernel: u64, _device: c_int) |state| {
        put(value, attribute(state, kernel, number)?)
    }

    fn cuKernelSetAttribute(number: c_int, value: c_int, kernel: *const c_void, _device: c_int) |state| {
        state.set_function_attribute("cuKernelSetAttribute", kernel, number, value)
    }

    fn cuKernelSetCacheConfig(kernel: *const c_void, config: c_int, _device: c_int) |state| {
        super::super::devices::check_cache(config)?;
        state.modules.function(kernel.addr()).map(drop)
    }

    fn cuFuncGetParamInfo(function: *const c_void, index: usize, offset: *mut usize, bytes: *mut usize) |state| {
        let (_, kernel) = state.kernel(function)?;
        let parameter = kernel.params().get(index).ok_or(Error::INVALID_VALUE)?;
        put(offset, parameter.offset as usize)?;
        if bytes.is_null() { Ok(()) } else { put(bytes, parameter.size as usize) }
    }

    fn cuFuncGetParamCount(function: *const c_void, count: *mut usize) |state| {
        let (_, kernel) = state.kernel(function)?;
        put(count, kernel.params().len())
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: u64, sizes: *const c_void, shared: usize, limit: c_int,
    ) |state| {
        put_best_block(state, (grid, block), function, (sizes, shared), limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int, block: *mut c_int, function: u64, sizes: *const c_void, shared: usize, limit: c_int,
        _flags: c_uint,
    ) |state| {
        put_best_block(state, (grid, block), function, (sizes, shared), limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize, function: *const c_void, blocks: c_int, _threads: c_int,
    ) |state| {
        let (_, kernel) = state.kernel(function)?;
        let blocks = u64::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(Error::INVALID_VALUE)?;
        let left = (state.limits().shared_of_sm / blocks).saturating_sub(kernel.shared_bytes().into());
        put(bytes, left.min(state.limits().shared_of_block_at_most) as usize)
    }

    fn cuLaunchKernel(
        function: *const c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: Stream, places: *mut *mut c_void, extra: *mut *mut c_void,
    ) |state| {
        let (grid, block) = (Dim3 { x: grid_x, y: grid_y, z: grid_z }, Dim3 { x: block_x, y: block_y, z: block_z });
        let sizes = Configuration { grid, block, shared: shared as usize, stream };
        state.launch(function, sizes, Arguments { places, extra }, false)
    }

    fn cuLaunchKernelEx(
        description: *const Description, function: *const c_void, places: *mut *mut c_void, extra: *mut *mut c_void,
    ) |state| {
        let Description { grid, block, shared, stream, attributes, count } = get(description)?;
        let mut cooperative = false;
        for index in 0..count as usize {
            cooperative |= get(attributes.wrapping_add(index))?.is_cooperative(state, grid.sizes())?;
        }
        let sizes = Configuration { grid, block, shared: shared as usize, stream };
        state.launch(function, sizes, Arguments { places, extra }, cooperative)
    }

    fn cuLaunchCooperativeKernel(
        function: *const c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: Stream, places: *mut *mut c_void,
    ) |state| {
        let (grid, block) = (Dim3 { x: grid_x, y: grid_y, z: grid_z }, Dim3 { x: block_x, y: block_y, z: block_z });
        let sizes = Configuration { grid, block, shared: shared as usize, stream };
        state.launch(function, sizes, Arguments { places, extra: std::ptr::null_mut() }, true)
    }

    fn cuGetErrorName(error: c_int, place: *mut u64) => Always |state| {
        let name = Error(error).driver_name();
        let address = name.map(|name| state.lasting_text(name)).transpose()?;
        put_text(place, address)
    }

    fn cuGetErrorString(error: c_int, place: *mut u64) => Always |state| {
        let is_known = Error(error).driver_name().is_some();
        let address = is_known.then(|| state.address_of(Error(error).text())).transpose()?;
        put_text(place, address)
    }
}
