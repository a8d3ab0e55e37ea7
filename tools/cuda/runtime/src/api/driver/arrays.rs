//! Arrays, textures and surfaces as the driver describes them.

use std::ffi::{c_int, c_uint, c_void};

use super::super::copies::{DEFAULT, ON_DEVICE, TO_DEVICE, TO_HOST};
use super::super::entries;
use super::super::textures::{ARRAY, LINEAR, PITCHED, ResourceDescription, TextureDescription};
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::made::Stream;
use crate::made::arrays::{ChannelDescription, Extent, FLOAT, SIGNED, UNSIGNED};
use crate::pitched::{PitchedAddress, flat, line};
use crate::state::State;

/// Format of a channel, by the driver's number: kind and bits.
static FORMATS: &[(c_uint, c_int, c_int)] = &[
    (0x01, UNSIGNED, 8),
    (0x02, UNSIGNED, 16),
    (0x03, UNSIGNED, 32),
    (0x08, SIGNED, 8),
    (0x09, SIGNED, 16),
    (0x0a, SIGNED, 32),
    (0x10, FLOAT, 16),
    (0x20, FLOAT, 32),
];

#[repr(C)]
#[derive(Clone, Copy)]
struct Plane {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Volume {
    width: usize,
    height: usize,
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// The memory of a texture: its kind, and fields by kind.
#[repr(C)]
#[derive(Clone, Copy)]
struct Resource {
    kind: c_int,
    place: u64,
    format: c_uint,
    channels: c_uint,
    /// Bytes of memory without rows; else texels of a row.
    width: usize,
    height: usize,
    pitch: usize,
}

/// The way in which a texture is read.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reading {
    edges: [c_int; 3],
    filter: c_int,
    flags: c_uint,
    levels: [u32; 5],
    border: [f32; 4],
}

plain!(Plane, Volume, Resource, Reading);

/// Flags of a reading: integers stay integers, coordinates reach from 0 to 1, and texels are in sRGB.
const INTEGERS: c_uint = 1;
const NORMALIZED: c_uint = 2;
const SRGB: c_uint = 0x10;

fn description(format: c_uint, channels: c_uint) -> Result<ChannelDescription> {
    let (_, kind, bits) =
        FORMATS.iter().find(|(number, ..)| *number == format).ok_or(Error::INVALID_VALUE)?;
    if ![1, 2, 4].contains(&channels) {
        return Err(Error::INVALID_VALUE);
    }
    let bits = std::array::from_fn(|channel| if channel < channels as usize { *bits } else { 0 });
    Ok(ChannelDescription { bits, kind: *kind })
}

/// Format and channels of a description.
fn format(description: ChannelDescription) -> (c_uint, c_uint) {
    let is =
        |(_, kind, bits): &&(c_uint, c_int, c_int)| *kind == description.kind && *bits == description.bits[0];
    let channels = description.bits.iter().filter(|bits| **bits > 0).count();
    (FORMATS.iter().find(is).map_or(0, |(number, ..)| *number), channels as c_uint)
}

impl Resource {
    fn of_runtime(self) -> Result<ResourceDescription> {
        let Resource { kind, place, format, channels, width, height, pitch } = self;
        let has_format = kind == LINEAR || kind == PITCHED;
        let channels =
            if has_format { description(format, channels)? } else { ChannelDescription::default() };
        Ok(ResourceDescription { kind, place, channels, width, height, pitch })
    }
}

impl Reading {
    fn of_runtime(self) -> TextureDescription {
        let has = |flag: c_uint| c_int::from(self.flags & flag != 0);
        TextureDescription {
            address: self.edges,
            filter: self.filter,
            read: 1 - has(INTEGERS),
            gamma: has(SRGB),
            border: self.border,
            normalized: has(NORMALIZED),
        }
    }
}

/// A place in an array of one row.
fn place(state: &State, array: *const c_void, offset: usize) -> Result<PitchedAddress> {
    state.array(array)?.place(offset, 0)
}

fn copy(
    state: &mut State,
    places: (PitchedAddress, PitchedAddress),
    bytes: usize,
    kind: c_int,
    stream: Option<Stream>,
) -> Result {
    let waits = stream.is_none();
    let stream = match stream {
        Some(stream) => state.stream(stream)?,
        None => state.default_stream(),
    };
    state.copy(places, flat(bytes), kind, stream, waits)
}

entries! {
    fn cuArrayCreate_v2(array: *mut *mut c_void, plane: *const Plane) |state| {
        let Plane { width, height, format, channels } = get(plane)?;
        let extent = Extent { width, height, depth: 0 };
        put(array, state.new_array("cuArrayCreate", description(format, channels)?, (extent, 0))?)
    }

    fn cuArray3DCreate_v2(array: *mut *mut c_void, volume: *const Volume) |state| {
        let Volume { width, height, depth, format, channels, flags } = get(volume)?;
        let extent = Extent { width, height, depth };
        put(array, state.new_array("cuArray3DCreate", description(format, channels)?, (extent, flags))?)
    }

    fn cuArrayGetDescriptor_v2(plane: *mut Plane, array: *const c_void) |state| {
        let array = state.array(array)?;
        let (format, channels) = format(array.description);
        put(plane, Plane { width: array.extent.width, height: array.extent.height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(volume: *mut Volume, array: *const c_void) |state| {
        let array = state.array(array)?;
        let (format, channels) = format(array.description);
        let Extent { width, height, depth } = array.extent;
        put(volume, Volume { width, height, depth, format, channels, flags: array.flags })
    }

    fn cuMemcpyHtoA_v2(array: *const c_void, offset: usize, from: *const c_void, bytes: usize) |state| {
        let to = place(state, array, offset)?;
        copy(state, (to, line(from)), bytes, TO_DEVICE, None)
    }

    fn cuMemcpyHtoAAsync_v2(
        array: *const c_void, offset: usize, from: *const c_void, bytes: usize, stream: Stream,
    ) |state| {
        let to = place(state, array, offset)?;
        copy(state, (to, line(from)), bytes, TO_DEVICE, Some(stream))
    }

    fn cuMemcpyAtoH_v2(to: *const c_void, array: *const c_void, offset: usize, bytes: usize) |state| {
        let from = place(state, array, offset)?;
        copy(state, (line(to), from), bytes, TO_HOST, None)
    }

    fn cuMemcpyAtoHAsync_v2(
        to: *const c_void, array: *const c_void, offset: usize, bytes: usize, stream: Stream,
    ) |state| {
        let from = place(state, array, offset)?;
        copy(state, (line(to), from), bytes, TO_HOST, Some(stream))
    }

    fn cuMemcpyDtoA_v2(array: *const c_void, offset: usize, from: *const c_void, bytes: usize) |state| {
        let to = place(state, array, offset)?;
        copy(state, (to, line(from)), bytes, ON_DEVICE, None)
    }

    fn cuMemcpyAtoD_v2(to: *const c_void, array: *const c_void, offset: usize, bytes: usize) |state| {
        let from = place(state, array, offset)?;
        copy(state, (line(to), from), bytes, ON_DEVICE, None)
    }

    fn cuMemcpyAtoA_v2(
        array: *const c_void, offset: usize, other: *const c_void, other_offset: usize, bytes: usize,
    ) |state| {
        let places = (place(state, array, offset)?, place(state, other, other_offset)?);
        copy(state, places, bytes, DEFAULT, None)
    }

    /// A view that has a format of its own is refused; NVIDIA's runtime describes one that has none.
    fn cuTexObjectCreate(
        handle: *mut u64, resource: *const Resource, reading: *const Reading, view: *const c_uint,
    ) |state| {
        if !view.is_null() && get(view)? != 0 {
            return Err(state.refuse("cuTexObjectCreate", "views of another format are not supported"));
        }
        let (resource, reading) = (get(resource)?.of_runtime()?, get(reading)?.of_runtime());
        put(handle, state.texture_of(resource, reading)?)
    }

    fn cuSurfObjectCreate(handle: *mut u64, resource: *const Resource) |state| {
        let resource = get(resource)?;
        if resource.kind != ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        put(handle, state.new_surface(resource.of_runtime()?)?)
    }
}
