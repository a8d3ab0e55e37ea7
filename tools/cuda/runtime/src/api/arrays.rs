//! Arrays, which hold texels: in one to three dimensions, in layers, and as the faces of cubes.

use std::ffi::{c_int, c_uint, c_void};

use counterpoint_ptx::texture::Channel;

use super::entries;
use super::streams::Stream;
use super::volumes::Extent;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::places::{PitchedAddress, Shape, flat, line, pitched, plane};
use crate::state::State;

/// Bits of each channel, and the kind of their numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChannelDescription {
    bits: [c_int; 4],
    kind: c_int,
}

/// Kinds of numbers: with a sign, without, with a fraction.
const SIGNED: c_int = 0;
const UNSIGNED: c_int = 1;
const FLOAT: c_int = 2;

impl ChannelDescription {
    /// The type of a channel, and the number of channels.
    pub(super) fn channels(self) -> Option<(Channel, u32)> {
        let count = self.bits.iter().take_while(|bits| **bits != 0).count();
        let alike = self.bits[..count].iter().all(|bits| *bits == self.bits[0]);
        let channel = match (self.kind, self.bits[0]) {
            (FLOAT, 32) => Channel::F32,
            (SIGNED, 32) => Channel::S32,
            (SIGNED, 16) => Channel::S16,
            (SIGNED, 8) => Channel::S8,
            (UNSIGNED, 32) => Channel::U32,
            (UNSIGNED, 16) => Channel::U16,
            (UNSIGNED, 8) => Channel::U8,
            _ => return None,
        };
        (alike && matches!(count, 1 | 2 | 4)).then_some((channel, count as u32))
    }

    /// Bytes of a texel.
    pub(super) fn bytes(self) -> u64 {
        self.bits.iter().map(|bits| (*bits).max(0) as u64 / 8).sum()
    }
}

/// Flags of arrays: the third dimension is one of layers; surfaces write it; six layers are a cube; gathers read it.
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;
const CUBE: c_uint = 4;
const GATHER: c_uint = 8;
const FACES: usize = 6;
/// Texels in each dimension at most (CUDA C Programming Guide, technical specifications).
const LARGEST: [usize; 3] = [131_072, 65536, 16384];

/// Texels in device memory, x fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(super) address: u64,
    pub(super) description: ChannelDescription,
    /// Texels in x, y and z; 1 where it has no such dimension.
    pub(super) size: [u32; 3],
    pub(super) layers: Option<u32>,
    /// Its size and flags as the program gave them.
    extent: Extent,
    flags: c_uint,
}

impl Array {
    /// Its dimensions, without that of layers.
    pub(super) fn dimensions(&self) -> usize {
        match self.extent {
            Extent { depth: 1.., .. } if self.layers.is_none() => 3,
            Extent { height: 0, .. } => 1,
            _ => 2,
        }
    }

    pub(super) fn is_for_surfaces(&self) -> bool {
        self.flags & SURFACE != 0
    }

    fn row(&self) -> u64 {
        u64::from(self.size[0]) * self.description.bytes()
    }

    /// A place in it, by bytes and rows.
    fn place(&self, x: usize, y: usize) -> Result<PitchedAddress> {
        let before = (y as u64).checked_mul(self.row()).and_then(|bytes| bytes.checked_add(x as u64));
        let first = PitchedAddress { address: self.address, pitch: self.row() };
        first.later(before.ok_or(Error::INVALID_VALUE)?)
    }

    /// A place in it by texels, rows and planes, if a block of this size is within it; and the bytes from a plane to the next.
    pub(super) fn block(&self, at: Extent, block: Extent) -> Result<(PitchedAddress, u64)> {
        let [width, height, depth] = self.size.map(|size| size as usize);
        let fits = |at: usize, count: usize, size| at.checked_add(count).is_some_and(|end| end <= size);
        let planes = depth.max(self.layers.unwrap_or(1) as usize);
        if !(fits(at.width, block.width, width)
            && fits(at.height, block.height, height)
            && fits(at.depth, block.depth, planes))
        {
            return Err(Error::INVALID_VALUE);
        }
        let plane = self.row() * height as u64;
        let x = at.width as u64 * self.description.bytes();
        let address = self.address + at.depth as u64 * plane + at.height as u64 * self.row() + x;
        Ok((PitchedAddress { address, pitch: self.row() }, plane))
    }
}

pub(super) type Handle = *mut c_void;

/// Handles begin here, where no memory is.
const FIRST_HANDLE: usize = 1 << 60;

impl State {
    pub(super) fn array(&self, handle: *const c_void) -> Result<Array> {
        let number = handle.addr().wrapping_sub(FIRST_HANDLE);
        self.arrays.get(&number).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    fn new_array(
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

plain!(ChannelDescription);

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
        // A program may ask for some of it.
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
