//! Arrays, which hold texels: in one to three dimensions, in layers, and as the faces of cubes.

use std::ffi::{c_int, c_uint, c_void};

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::made::Stream;
use crate::made::arrays::{Array, CUBE, ChannelDescription, Extent, GATHER, LAYERED, SURFACE};
use crate::pitched::{PitchedAddress, Shape, flat, line, pitched, plane};
use crate::state::State;

/// Layers of a cube.
const FACES: usize = 6;
/// Texels in each dimension at most (CUDA C Programming Guide, technical specifications).
const LARGEST: [usize; 3] = [131_072, 65536, 16384];

pub(super) type Handle = *mut c_void;

/// Handles begin here, where no memory is.
const FIRST_HANDLE: usize = 1 << 60;

impl State {
    pub(super) fn array(&self, handle: *const c_void) -> Result<Array> {
        let number = handle.addr().wrapping_sub(FIRST_HANDLE);
        self.arrays.get(&number).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    pub(super) fn new_array(
        &mut self,
        call: &str,
        description: ChannelDescription,
        (extent, flags): (Extent, c_uint),
    ) -> Result<Handle> {
        let refuse = |state: &mut State, reason| Err(state.refuse(call, reason));
        if description.channels().is_none() {
            return refuse(self, "channels of this type are not supported");
        }
        if flags & !(LAYERED | SURFACE | CUBE | GATHER) != 0 {
            return refuse(self, "arrays that are sparse, or whose memory comes later, are not supported");
        }
        let Extent { width, height, depth } = extent;
        let cube_is_wrong = width != height || depth % FACES != 0 || (depth != FACES && flags & LAYERED == 0);
        let is_too_large = [width, height, depth].iter().zip(LARGEST).any(|(size, largest)| *size > largest);
        if width == 0
            || is_too_large
            || (flags & (CUBE | LAYERED) != 0 && depth == 0)
            || (flags & CUBE != 0 && cube_is_wrong)
        {
            return Err(Error::INVALID_VALUE);
        }
        let layers = (flags & (LAYERED | CUBE) != 0).then_some(depth as u32);
        let planes = if layers.is_some() { 1 } else { depth };
        let size = [width, height, planes].map(|size| size.max(1) as u32);
        let mut array = Array { address: 0, description, size, layers, extent, flags };
        let bytes = [height, depth]
            .iter()
            .try_fold(array.row(), |bytes, &more| bytes.checked_mul(more.max(1) as u64));
        array.address = self.allocate(bytes.ok_or(Error::MEMORY_ALLOCATION)?)?;
        self.next_array += 1;
        self.arrays.insert(self.next_array, array);
        Ok(std::ptr::without_provenance_mut(FIRST_HANDLE + self.next_array))
    }

    /// Copies rows to or from an array.
    fn copy_array(
        &mut self,
        (array, x, y): (*const c_void, usize, usize),
        other: PitchedAddress,
        shape: Shape,
        (to_array, kind): (bool, c_int),
        (stream, waits): (u32, bool),
    ) -> Result {
        let place = self.array(array)?.place(x, y)?;
        let places = if to_array { (place, other) } else { (other, place) };
        self.copy(places, shape, kind, stream, waits)
    }
}

entries! {
    fn cudaMallocArray(
        handle: *mut Handle, description: *const ChannelDescription, width: usize, height: usize, flags: c_uint,
    ) |state| {
        put(handle, state.new_array("cudaMallocArray", get(description)?, (Extent { width, height, depth: 0 }, flags))?)
    }

    fn cudaMalloc3DArray(
        handle: *mut Handle, description: *const ChannelDescription, extent: Extent, flags: c_uint,
    ) |state| {
        put(handle, state.new_array("cudaMalloc3DArray", get(description)?, (extent, flags))?)
    }

    fn cudaFreeArray(handle: Handle) |state| {
        if handle.is_null() {
            return Ok(());
        }
        let array = state.array(handle)?;
        state.arrays.remove(&handle.addr().wrapping_sub(FIRST_HANDLE));
        state.free(array.address)
    }

    fn cudaGetChannelDesc(description: *mut ChannelDescription, handle: *const c_void) |state| {
        put(description, state.array(handle)?.description)
    }

    fn cudaArrayGetInfo(
        description: *mut ChannelDescription, extent: *mut Extent, flags: *mut c_uint, handle: Handle,
    ) |state| {
        let array = state.array(handle)?;
        // A program may request only some of the results.
        if !description.is_null() {
            put(description, array.description)?;
        }
        if !extent.is_null() {
            put(extent, array.extent)?;
        }
        if flags.is_null() { Ok(()) } else { put(flags, array.flags) }
    }

    fn cudaMemcpyToArray(
        to: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int,
    ) |state| {
        let stream = state.default_stream();
        state.copy_array((to, x, y), line(from), flat(bytes), (true, kind), (stream, true))
    }

    fn cudaMemcpyFromArray(
        to: *mut c_void, from: *const c_void, x: usize, y: usize, bytes: usize, kind: c_int,
    ) |state| {
        let stream = state.default_stream();
        state.copy_array((from, x, y), line(to), flat(bytes), (false, kind), (stream, true))
    }

    fn cudaMemcpy2DToArray(
        to: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, rows: usize, kind: c_int,
    ) |state| {
        let stream = state.default_stream();
        plane(width, rows).check_pitches(&[pitch])?;
        state.copy_array((to, x, y), pitched(from, pitch), plane(width, rows), (true, kind), (stream, true))
    }

    fn cudaMemcpy2DToArrayAsync(
        to: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, rows: usize, kind: c_int,
        stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        plane(width, rows).check_pitches(&[pitch])?;
        state.copy_array((to, x, y), pitched(from, pitch), plane(width, rows), (true, kind), (stream, false))
    }

    fn cudaMemcpy2DFromArray(
        to: *mut c_void, pitch: usize, from: *const c_void, x: usize, y: usize, width: usize, rows: usize, kind: c_int,
    ) |state| {
        let stream = state.default_stream();
        plane(width, rows).check_pitches(&[pitch])?;
        state.copy_array((from, x, y), pitched(to, pitch), plane(width, rows), (false, kind), (stream, true))
    }

    fn cudaMemcpy2DFromArrayAsync(
        to: *mut c_void, pitch: usize, from: *const c_void, x: usize, y: usize, width: usize, rows: usize, kind: c_int,
        stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        plane(width, rows).check_pitches(&[pitch])?;
        state.copy_array((from, x, y), pitched(to, pitch), plane(width, rows), (false, kind), (stream, false))
    }

    fn cudaMemcpy2DArrayToArray(
        to: Handle, to_x: usize, to_y: usize, from: *const c_void, x: usize, y: usize, width: usize, rows: usize,
        kind: c_int,
    ) |state| {
        let from = state.array(from)?.place(x, y)?;
        let stream = state.default_stream();
        state.copy_array((to, to_x, to_y), from, plane(width, rows), (true, kind), (stream, true))
    }
}
