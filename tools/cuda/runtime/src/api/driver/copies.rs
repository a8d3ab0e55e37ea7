//! Copies and fills as the driver has them: a function for each direction, and descriptions of rows and planes in which places are counted
//! in bytes.

use std::ffi::{c_int, c_uint, c_void};

use super::super::copies::{DEFAULT, ON_DEVICE, TO_DEVICE, TO_HOST};
use super::super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain};
use crate::made::Stream;
use crate::made::arrays::Extent;
use crate::pitched::{PitchedAddress, Planes, Shape, flat, line, pitched, plane};
use crate::state::State;

/// Kinds of memory of a description: of the host, of the device, an array, and whatever the address says.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const ARRAY: c_uint = 3;
const UNIFIED: c_uint = 4;

/// One side of a copy of rows.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side2D {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: *mut c_void,
    pitch: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Copy2D {
    from: Side2D,
    to: Side2D,
    width: usize,
    rows: usize,
}

/// One side of a copy of planes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3D {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: *mut c_void,
    reserved: usize,
    pitch: usize,
    rows: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Copy3D {
    from: Side3D,
    to: Side3D,
    width: usize,
    rows: usize,
    planes: usize,
}

plain!(Copy2D, Copy3D);

impl Side2D {
    fn in_planes(self, rows: usize) -> Side3D {
        let Side2D { x, y, kind, host, device, array, pitch } = self;
        Side3D { x, y, z: 0, level: 0, kind, host, device, array, reserved: 0, pitch, rows }
    }
}

impl Side3D {
    /// Its first place, the bytes from a plane to the next, and whether kernels reach it; none where the address says it.
    fn place(self, state: &State, block: Extent) -> Result<(PitchedAddress, u64, Option<bool>)> {
        let (address, on_device) = match self.kind {
            HOST => (self.host, Some(false)),
            DEVICE => (self.device, Some(true)),
            UNIFIED => (self.device, None),
            ARRAY => return self.in_array(state, block),
            _ => return Err(Error::INVALID_VALUE),
        };
        let pitch = if self.pitch == 0 { block.width } else { self.pitch };
        let rows = if self.rows == 0 { block.height } else { self.rows };
        let is_too_narrow = block.height.max(block.depth) > 1 && self.x.saturating_add(block.width) > pitch;
        if is_too_narrow || block.depth > 1 && self.y.saturating_add(block.height) > rows {
            return Err(Error::INVALID_VALUE);
        }
        let bytes = rows.checked_mul(pitch).and_then(|between| {
            let first =
                self.z.checked_mul(between)?.checked_add(self.y.checked_mul(pitch)?)?.checked_add(self.x)?;
            Some((between as u64, first as u64))
        });
        let (between, first) = bytes.ok_or(Error::INVALID_VALUE)?;
        Ok((PitchedAddress { address, pitch: pitch as u64 }.later(first)?, between, on_device))
    }

    fn in_array(self, state: &State, block: Extent) -> Result<(PitchedAddress, u64, Option<bool>)> {
        let array = state.array(self.array)?;
        let texel = array.description.bytes() as usize;
        if self.level != 0 || !self.x.is_multiple_of(texel) || !block.width.is_multiple_of(texel) {
            return Err(Error::INVALID_VALUE);
        }
        let at = Extent { width: self.x / texel, height: self.y, depth: self.z };
        let (place, between) = array.block(at, Extent { width: block.width / texel, ..block })?;
        Ok((place, between, Some(true)))
    }
}

/// The planes of a copy, the shape of each, and the direction.
pub(super) fn planes(state: &State, copy: Copy3D) -> Result<((Planes, Shape), c_int)> {
    let block = Extent { width: copy.width, height: copy.rows, depth: copy.planes };
    let shape = plane(copy.width, copy.rows);
    if block.is_empty() {
        let nowhere = PitchedAddress { address: 0, pitch: 0 };
        return Ok(((Planes { count: 0, ..Planes::one(nowhere, nowhere) }, shape), DEFAULT));
    }
    let (from, from_plane, from_device) = copy.from.place(state, block)?;
    let (to, to_plane, to_device) = copy.to.place(state, block)?;
    let kind = match (from_device, to_device) {
        (Some(false), Some(true)) => TO_DEVICE,
        (Some(true), Some(false)) => TO_HOST,
        (Some(true), Some(true)) => ON_DEVICE,
        _ => DEFAULT,
    };
    Ok(((Planes { to, from, steps: [to_plane, from_plane], count: copy.planes as u64 }, shape), kind))
}

fn copy_2d(state: &mut State, copy: *const Copy2D, stream: u32, waits: bool) -> Result {
    let Copy2D { from, to, width, rows } = get(copy)?;
    let copy = Copy3D { from: from.in_planes(rows), to: to.in_planes(rows), width, rows, planes: 1 };
    let (all, kind) = planes(state, copy)?;
    state.copy_planes(all, kind, stream, waits)
}

fn copy_3d(state: &mut State, copy: *const Copy3D, stream: u32, waits: bool) -> Result {
    let (all, kind) = planes(state, get(copy)?)?;
    state.copy_planes(all, kind, stream, waits)
}

/// Copies bytes in a direction, and waits for it on the default stream.
fn copy_now(state: &mut State, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> Result {
    let stream = state.default_stream();
    state.copy((line(to), line(from)), flat(bytes), kind, stream, true)
}

fn copy_later(
    state: &mut State,
    (to, from): (*mut c_void, *const c_void),
    bytes: usize,
    kind: c_int,
    stream: Stream,
) -> Result {
    let stream = state.stream(stream)?;
    state.copy((line(to), line(from)), flat(bytes), kind, stream, false)
}

/// Fills numbers of so many bytes.
fn fill(state: &mut State, (place, count): (*mut c_void, usize), value: &[u8], stream: u32) -> Result {
    let bytes = count.checked_mul(value.len()).ok_or(Error::INVALID_VALUE)?;
    if place.addr() % value.len() != 0 {
        return Err(Error::INVALID_VALUE);
    }
    state.fill(line(place), flat(bytes), value.to_vec(), stream)
}

fn fill_rows(
    state: &mut State,
    (place, pitch): (*mut c_void, usize),
    value: &[u8],
    (width, rows): (usize, usize),
    stream: u32,
) -> Result {
    let width = width.checked_mul(value.len()).ok_or(Error::INVALID_VALUE)?;
    if place.addr() % value.len() != 0 || pitch % value.len() != 0 {
        return Err(Error::INVALID_VALUE);
    }
    state.fill(pitched(place, pitch), plane(width, rows), value.to_vec(), stream)
}

entries! {
    fn cuMemcpy(to: *mut c_void, from: *const c_void, bytes: usize) |state| {
        copy_now(state, to, from, bytes, DEFAULT)
    }

    fn cuMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, stream: Stream) |state| {
        copy_later(state, (to, from), bytes, DEFAULT, stream)
    }

    fn cuMemcpyHtoD_v2(to: *mut c_void, from: *const c_void, bytes: usize) |state| {
        copy_now(state, to, from, bytes, TO_DEVICE)
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: *const c_void, bytes: usize) |state| {
        copy_now(state, to, from, bytes, TO_HOST)
    }

    fn cuMemcpyDtoD_v2(to: *mut c_void, from: *const c_void, bytes: usize) |state| {
        copy_now(state, to, from, bytes, ON_DEVICE)
    }

    fn cuMemcpyHtoDAsync_v2(to: *mut c_void, from: *const c_void, bytes: usize, stream: Stream) |state| {
        copy_later(state, (to, from), bytes, TO_DEVICE, stream)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: *const c_void, bytes: usize, stream: Stream) |state| {
        copy_later(state, (to, from), bytes, TO_HOST, stream)
    }

    fn cuMemcpyDtoDAsync_v2(to: *mut c_void, from: *const c_void, bytes: usize, stream: Stream) |state| {
        copy_later(state, (to, from), bytes, ON_DEVICE, stream)
    }

    fn cuMemcpyPeer(to: *mut c_void, _own: u64, from: *const c_void, _other: u64, bytes: usize) |state| {
        copy_now(state, to, from, bytes, ON_DEVICE)
    }

    fn cuMemcpyPeerAsync(
        to: *mut c_void, _own: u64, from: *const c_void, _other: u64, bytes: usize, stream: Stream,
    ) |state| {
        copy_later(state, (to, from), bytes, ON_DEVICE, stream)
    }

    fn cuMemcpy2D_v2(copy: *const Copy2D) |state| {
        let stream = state.default_stream();
        copy_2d(state, copy, stream, true)
    }

    fn cuMemcpy2DUnaligned_v2(copy: *const Copy2D) |state| {
        let stream = state.default_stream();
        copy_2d(state, copy, stream, true)
    }

    fn cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        copy_2d(state, copy, stream, false)
    }

    fn cuMemcpy3D_v2(copy: *const Copy3D) |state| {
        let stream = state.default_stream();
        copy_3d(state, copy, stream, true)
    }

    fn cuMemcpy3DAsync_v2(copy: *const Copy3D, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        copy_3d(state, copy, stream, false)
    }

    fn cuMemsetD8_v2(place: *mut c_void, value: c_uint, count: usize) |state| {
        let stream = state.default_stream();
        fill(state, (place, count), &value.to_le_bytes()[..1], stream)
    }

    fn cuMemsetD16_v2(place: *mut c_void, value: c_uint, count: usize) |state| {
        let stream = state.default_stream();
        fill(state, (place, count), &value.to_le_bytes()[..2], stream)
    }

    fn cuMemsetD32_v2(place: *mut c_void, value: c_uint, count: usize) |state| {
        let stream = state.default_stream();
        fill(state, (place, count), &value.to_le_bytes(), stream)
    }

    fn cuMemsetD8Async(place: *mut c_void, value: c_uint, count: usize, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        fill(state, (place, count), &value.to_le_bytes()[..1], stream)
    }

    fn cuMemsetD16Async(place: *mut c_void, value: c_uint, count: usize, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        fill(state, (place, count), &value.to_le_bytes()[..2], stream)
    }

    fn cuMemsetD32Async(place: *mut c_void, value: c_uint, count: usize, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        fill(state, (place, count), &value.to_le_bytes(), stream)
    }

    fn cuMemsetD2D8_v2(place: *mut c_void, pitch: usize, value: c_uint, width: usize, rows: usize) |state| {
        let stream = state.default_stream();
        fill_rows(state, (place, pitch), &value.to_le_bytes()[..1], (width, rows), stream)
    }

    fn cuMemsetD2D16_v2(place: *mut c_void, pitch: usize, value: c_uint, width: usize, rows: usize) |state| {
        let stream = state.default_stream();
        fill_rows(state, (place, pitch), &value.to_le_bytes()[..2], (width, rows), stream)
    }

    fn cuMemsetD2D32_v2(place: *mut c_void, pitch: usize, value: c_uint, width: usize, rows: usize) |state| {
        let stream = state.default_stream();
        fill_rows(state, (place, pitch), &value.to_le_bytes(), (width, rows), stream)
    }

    fn cuMemsetD2D8Async(
        place: *mut c_void, pitch: usize, value: c_uint, width: usize, rows: usize, stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        fill_rows(state, (place, pitch), &value.to_le_bytes()[..1], (width, rows), stream)
    }

    fn cuMemsetD2D16Async(
        place: *mut c_void, pitch: usize, value: c_uint, width: usize, rows: usize, stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        fill_rows(state, (place, pitch), &value.to_le_bytes()[..2], (width, rows), stream)
    }

    fn cuMemsetD2D32Async(
        place: *mut c_void, pitch: usize, value: c_uint, width: usize, rows: usize, stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        fill_rows(state, (place, pitch), &value.to_le_bytes(), (width, rows), stream)
    }
}
