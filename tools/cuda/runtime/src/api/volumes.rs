//! Memory with rows and planes: allocated, and copied, perhaps to or from an array.

use std::ffi::c_void;

use super::copies::Kind;
use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::made::Stream;
use crate::made::arrays::{Array, Extent};
use crate::pitched::{PitchedAddress, Planes, Shape, plane};
use crate::state::State;
use crate::words::{Argument, Words};

/// A place with rows and planes, as CUDA describes it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct PitchedPointer {
    address: u64,
    pitch: usize,
    width: usize,
    pub(super) height: usize,
}

impl PitchedPointer {
    /// A place by bytes, rows and planes, and the bytes from a plane to the next.
    pub(super) fn block(self, at: Extent) -> Result<(PitchedAddress, u64)> {
        let plane = self.height.checked_mul(self.pitch);
        let before = plane.and_then(|plane| {
            let rows = at.height.checked_mul(self.pitch)?;
            at.depth.checked_mul(plane)?.checked_add(rows)?.checked_add(at.width)
        });
        let (Some(plane), Some(before)) = (plane, before) else { return Err(Error::INVALID_VALUE) };
        let first = PitchedAddress { address: self.address, pitch: self.pitch as u64 };
        Ok((first.later(before as u64)?, plane as u64))
    }

    /// Checks that a block in it has rows within their pitch, and planes within theirs.
    fn check(self, at: Extent, block: Extent) -> Result {
        if block.depth > 1 && block.height > self.height {
            return Err(Error::INVALID_PITCH);
        }
        // A plane that is followed by another counts like a row that is followed by another.
        let rows = block.height.max(block.depth);
        Shape { width: block.width as u64, rows: rows as u64 }.check_pitches(&[self.pitch])?;
        let fits = |at: usize, count: usize, size| at.checked_add(count).is_some_and(|end| end <= size);
        let is_within = (rows == 1 || fits(at.width, block.width, self.pitch))
            && (block.depth == 1 || fits(at.height, block.height, self.height));
        if is_within { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Copy3D {
    from_array: *mut c_void,
    from_position: Extent,
    from: PitchedPointer,
    to_array: *mut c_void,
    to_position: Extent,
    to: PitchedPointer,
    extent: Extent,
    pub(super) kind: Kind,
}

/// The planes of a copy, and the shape of each.
pub(super) fn planes(state: &State, copy: Copy3D) -> Result<(Planes, Shape)> {
    let [from, to] = [copy.from_array, copy.to_array]
        .map(|array| if array.is_null() { Ok(None) } else { state.array(array).map(Some) });
    let (from, to) = (from?, to?);
    let element = |array: &Array| array.description.bytes() as usize;
    let [from_bytes, to_bytes] = [&from, &to].map(|array| array.as_ref().map(element));
    // Sizes of a copy of an array count its elements.
    let bytes = match (from_bytes, to_bytes) {
        (Some(from), Some(to)) if from != to => return Err(Error::INVALID_VALUE),
        (from, to) => from.or(to).unwrap_or(1),
    };
    let width = copy.extent.width.checked_mul(bytes).ok_or(Error::INVALID_VALUE)?;
    let in_bytes = Extent { width, ..copy.extent };
    let place = |array: Option<Array>, pointer: PitchedPointer, at: Extent| match array {
        Some(array) => array.block(at, copy.extent),
        None if copy.extent.is_empty() => Ok((PitchedAddress { address: pointer.address, pitch: 0 }, 0)),
        None => {
            pointer.check(at, in_bytes)?;
            pointer.block(at)
        }
    };
    let (from, from_plane) = place(from, copy.from, copy.from_position)?;
    let (to, to_plane) = place(to, copy.to, copy.to_position)?;
    let count = copy.extent.depth as u64;
    Ok((Planes { to, from, steps: [to_plane, from_plane], count }, plane(width, copy.extent.height)))
}

plain!(PitchedPointer, Copy3D);

impl Argument for PitchedPointer {
    fn take(words: &mut Words) -> Result<Self> {
        let [address, pitch, width, height] = words.many()?;
        Ok(PitchedPointer { address, pitch: pitch as usize, width: width as usize, height: height as usize })
    }
}

entries! {
    fn cudaMallocPitch(address: *mut u64, pitch: *mut usize, width: usize, rows: usize) |state| {
        let (given, between) = state.allocate_rows(width as u64, Some(rows as u64))?;
        put(pitch, between as usize)?;
        put(address, given)
    }

    fn cudaMalloc3D(pointer: *mut PitchedPointer, extent: Extent) |state| {
        let rows = extent.height.checked_mul(extent.depth).map(|rows| rows as u64);
        let (address, pitch) = state.allocate_rows(extent.width as u64, rows)?;
        put(pointer, PitchedPointer { address, pitch: pitch as usize, width: extent.width, height: extent.height })
    }

    fn cudaMemcpy3D(copy: *const Copy3D) |state| {
        let (copy, stream) = (get(copy)?, state.default_stream());
        let all = planes(state, copy)?;
        state.copy_planes(all, copy.kind, stream, true)
    }

    fn cudaMemcpy3DAsync(copy: *const Copy3D, stream: Stream) |state| {
        let (copy, stream) = (get(copy)?, state.stream(stream)?);
        let all = planes(state, copy)?;
        state.copy_planes(all, copy.kind, stream, false)
    }
}
