//! Attributes of kernels, and launches, as the driver has them.

use std::ffi::{c_int, c_uint, c_void};

use super::super::entries;
use super::super::launches::{Arguments, ExtendedAttribute};
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put, write};
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

/// Attributes of a kernel, by the driver's numbers: the runtime's structure has the first ten in another order.
fn attribute(state: &mut State, stub: u64, number: c_int) -> Result<c_int> {
    let stub: *const c_void = std::ptr::without_provenance(stub as usize);
    let (_, kernel) = state.kernel(stub)?;
    let set = state.functions.get(&stub.addr()).copied().unwrap_or_default();
    Ok(match number {
        0 => kernel.max_ntid().map_or(1024, |sizes| sizes.iter().product::<u32>()).min(1024) as c_int,
        1 => kernel.shared_bytes() as c_int,
        2 => kernel.constant_bytes() as c_int,
        3 => kernel.local_bytes as c_int,
        4 => kernel.registers_per_thread() as c_int,
        5 | 6 => kernel.target() as c_int,
        // Loads of global memory are cached by their own operators; no cluster has a size that it must have.
        7 | 10..=15 => 0,
        8 => state.dynamic_shared_limit(stub, &kernel) as c_int,
        9 => set.carveout.unwrap_or(-1),
        _ => return Err(Error::INVALID_VALUE),
    })
}

fn parameter(state: &mut State, stub: u64, index: usize) -> Result<(usize, usize)> {
    let (_, kernel) = state.kernel(std::ptr::without_provenance(stub as usize))?;
    let parameter = kernel.params().get(index).ok_or(Error::INVALID_VALUE)?;
    Ok((parameter.offset as usize, parameter.size as usize))
}

fn put_parameter((offset, bytes): (*mut usize, *mut usize), found: (usize, usize)) -> Result {
    put(offset, found.0)?;
    if bytes.is_null() { Ok(()) } else { put(bytes, found.1) }
}

/// Threads of a block that fill an SM best, and the blocks that fill the device then.
fn best_block(state: &mut State, stub: u64, shared: usize, limit: c_int) -> Result<(c_int, c_int)> {
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
    Ok((best.2 as c_int, best.1))
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

    fn cuFuncGetParamInfo(function: u64, index: usize, offset: *mut usize, bytes: *mut usize) |state| {
        put_parameter((offset, bytes), parameter(state, function, index)?)
    }

    fn cuKernelGetParamInfo(kernel: u64, index: usize, offset: *mut usize, bytes: *mut usize) |state| {
        put_parameter((offset, bytes), parameter(state, kernel, index)?)
    }

    fn cuFuncGetParamCount(function: *const c_void, count: *mut usize) |state| {
        let (_, kernel) = state.kernel(function)?;
        put(count, kernel.params().len())
    }

    fn cuKernelGetParamCount(kernel: *const c_void, count: *mut usize) |state| {
        let (_, kernel) = state.kernel(kernel)?;
        put(count, kernel.params().len())
    }

    /// A size of shared memory that depends on the block is a function of the program, which is not called: none has a size of its own.
    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: u64, sizes: *const c_void, shared: usize, limit: c_int,
    ) |state| {
        if !sizes.is_null() {
            return Err(state.refuse("cuOccupancyMaxPotentialBlockSize", "shared memory by a function is not supported"));
        }
        let (blocks, threads) = best_block(state, function, shared, limit)?;
        put(grid, blocks)?;
        put(block, threads)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int, block: *mut c_int, function: u64, sizes: *const c_void, shared: usize, limit: c_int,
        _flags: c_uint,
    ) |state| {
        if !sizes.is_null() {
            return Err(state.refuse("cuOccupancyMaxPotentialBlockSize", "shared memory by a function is not supported"));
        }
        let (blocks, threads) = best_block(state, function, shared, limit)?;
        put(grid, blocks)?;
        put(block, threads)
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

    /// The name of an error; none where there is no such error.
    fn cuGetErrorName(error: c_int, place: *mut u64) => Always |state| {
        let name = Error(error).driver_name();
        let address = match name {
            Some(name) => state.lasting_text(name)?,
            None => 0,
        };
        put(place, address)?;
        if address == 0 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuGetErrorString(error: c_int, place: *mut u64) => Always |state| {
        let address = match Error(error).driver_name() {
            Some(_) => state.address_of(Error(error).text())?,
            None => 0,
        };
        put(place, address)?;
        if address == 0 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

}

impl State {
    /// The address of a text in memory of the program, where it stays.
    pub(in crate::api) fn lasting_text(&mut self, text: &str) -> Result<u64> {
        if let Some(&address) = self.lasting.get(text) {
            return Ok(address);
        }
        let address = self.room_in_program(text.len() as u64 + 1)?;
        write(address, text.as_bytes())?;
        write(address + text.len() as u64, &[0])?;
        self.lasting.insert(text.to_owned(), address);
        Ok(address)
    }

    /// Memory of the program for so many bytes, where they stay.
    pub(super) fn room_in_program(&mut self, bytes: u64) -> Result<u64> {
        let bytes = bytes.next_multiple_of(8);
        if self.text_room.end - self.text_room.start < bytes {
            let room = bytes.max(4096);
            let start = self.allocate_pinned(room, 0, false)?;
            // Nobody frees it, not even a reset of the device.
            self.shared.blocks.remove(&start);
            self.text_room = start..start + room;
        }
        let address = self.text_room.start;
        self.text_room.start += bytes;
        Ok(address)
    }
}
