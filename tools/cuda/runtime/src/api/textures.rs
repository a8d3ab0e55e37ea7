//! Arrays, which hold texels, and textures.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use counterpoint_cuda_capture::{Entry, Texels};
use counterpoint_ptx::texture::{AddressMode, Channel, Texture};

use super::entries;
use super::memory::{Extent, Place, Shape, flat, line, pitched, plane};
use super::streams::Stream;
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::state::State;

/// Bits of each channel, and the kind of their numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ChannelDescription {
    bits: [c_int; 4],
    kind: c_int,
}

/// Kinds of numbers: with a sign, without, with a fraction.
const SIGNED: c_int = 0;
const UNSIGNED: c_int = 1;
const FLOAT: c_int = 2;

impl ChannelDescription {
    /// The type of a channel, and the number of channels.
    fn channels(self) -> Option<(Channel, u32)> {
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
}

/// Texels in device memory, x fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    address: u64,
    description: ChannelDescription,
    size: [u32; 3],
}

impl Array {
    fn texel(&self) -> u64 {
        self.description.bits.iter().map(|bits| *bits as u64 / 8).sum()
    }

    /// A place in it, by bytes and rows.
    fn place(&self, x: usize, y: usize) -> Place {
        let pitch = u64::from(self.size[0]) * self.texel();
        Place { address: self.address + y as u64 * pitch + x as u64, pitch }
    }
}

/// Handle of an array.
type Handle = *mut c_void;

/// Handles begin here, where no memory is.
const FIRST_HANDLE: usize = 1 << 60;

impl State {
    fn array(&self, handle: *const c_void) -> Result<Array> {
        let number = handle.addr().wrapping_sub(FIRST_HANDLE);
        self.arrays.get(&number).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    fn new_array(&mut self, description: ChannelDescription, size: [usize; 3]) -> Result<Handle> {
        if description.channels().is_none() {
            return Err(self.refuse("cudaMallocArray", "channels of this type are not supported"));
        }
        let size = size.map(|size| size.max(1) as u32);
        let texels: u64 = size.iter().map(|&size| u64::from(size)).product();
        let mut array = Array { address: 0, description, size };
        array.address = self.allocate(texels * array.texel())?;
        self.next_array += 1;
        self.arrays.insert(self.next_array, array);
        Ok(std::ptr::without_provenance_mut(FIRST_HANDLE + self.next_array))
    }

    /// Copies rows to or from an array.
    ///
    /// # Safety
    /// What lies on the host is the program's.
    unsafe fn copy_array(
        &mut self,
        (array, x, y): (*const c_void, usize, usize),
        other: Place,
        shape: Shape,
        (to_array, kind): (bool, c_int),
        (stream, waits): (u32, bool),
    ) -> Result {
        let place = self.array(array)?.place(x, y);
        let places = if to_array { (place, other) } else { (other, place) };
        // SAFETY: the caller's promise.
        unsafe { self.copy(places, shape, kind, stream, waits) }
    }

    fn new_texture(
        &mut self,
        texels: (u64, ChannelDescription, [u32; 3]),
        description: TextureDescription,
    ) -> Result<u64> {
        let (address, channels, size) = texels;
        let (channel, count) = channels.channels().ok_or(Error::INVALID_VALUE)?;
        let whole = |mode: &c_int| matches!(*mode, 0 | 1);
        let used = size.iter().filter(|size| **size > 1).count().max(1);
        if !description.address[..used].iter().all(whole) {
            return Err(self
                .refuse("cudaCreateTextureObject", "edges that mirror or have a colour are not supported"));
        }
        let normalized = description.normalized != 0;
        let wraps = normalized && description.address[0] == 0;
        let texture = Texture {
            size,
            layers: None,
            channels: count,
            channel,
            fractions: description.read == 1 && channel.bytes() < 4,
            linear: description.filter == 1,
            normalized,
            address: [if wraps { AddressMode::Wrap } else { AddressMode::Clamp }; 3],
            texels: address,
        };
        self.next_texture += 1;
        let handle = self.next_texture;
        self.recorder.write(&Entry::Texture(Texels {
            handle,
            address,
            size,
            channels: count,
            channel: format!("{channel:?}").to_lowercase(),
            fractions: texture.fractions,
            linear: texture.linear,
            normalized,
            wraps,
        }));
        Arc::make_mut(&mut self.textures).objects.insert(handle, texture);
        Ok(handle)
    }
}

/// The memory behind a texture, as CUDA describes it: its kind, then fields by kind.
#[repr(C)]
#[derive(Clone, Copy)]
struct ResourceDescription {
    kind: c_int,
    /// An array, or an address.
    place: u64,
    channels: ChannelDescription,
    /// Bytes of memory without rows; else texels of a row.
    width: usize,
    height: usize,
    pitch: usize,
}

/// Kinds of it.
const ARRAY: c_int = 0;
const LINEAR: c_int = 2;
const PITCHED: c_int = 3;

/// How a texture is read, up to what matters here.
#[repr(C)]
#[derive(Clone, Copy)]
struct TextureDescription {
    address: [c_int; 3],
    filter: c_int,
    read: c_int,
    rest: [c_int; 5],
    normalized: c_int,
}

/// A description of channels.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> ChannelDescription {
    ChannelDescription { bits: [x, y, z, w], kind }
}

entries! {
    fn cudaMallocArray(
        handle: *mut Handle, description: *const ChannelDescription, width: usize, height: usize, _flags: c_uint,
    ) |state| {
        put(handle, state.new_array(get(description)?, [width, height, 1])?)
    }

    fn cudaMalloc3DArray(
        handle: *mut Handle, description: *const ChannelDescription, extent: Extent, flags: c_uint,
    ) |state| {
        if flags != 0 {
            return Err(state.refuse("cudaMalloc3DArray", "arrays with layers, of cubes and of surfaces are not supported"));
        }
        put(handle, state.new_array(get(description)?, [extent.width, extent.height, extent.depth])?)
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

    fn cudaMemcpyToArray(
        to: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int,
    ) |state| {
        state.copy_array((to, x, y), line(from), flat(bytes), (true, kind), (0, true))
    }

    fn cudaMemcpyFromArray(
        to: *mut c_void, from: *const c_void, x: usize, y: usize, bytes: usize, kind: c_int,
    ) |state| {
        state.copy_array((from, x, y), line(to), flat(bytes), (false, kind), (0, true))
    }

    fn cudaMemcpy2DToArray(
        to: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, rows: usize, kind: c_int,
    ) |state| {
        state.copy_array((to, x, y), pitched(from, pitch), plane(width, rows), (true, kind), (0, true))
    }

    fn cudaMemcpy2DToArrayAsync(
        to: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, rows: usize, kind: c_int,
        stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        state.copy_array((to, x, y), pitched(from, pitch), plane(width, rows), (true, kind), (stream, false))
    }

    fn cudaMemcpy2DFromArray(
        to: *mut c_void, pitch: usize, from: *const c_void, x: usize, y: usize, width: usize, rows: usize, kind: c_int,
    ) |state| {
        state.copy_array((from, x, y), pitched(to, pitch), plane(width, rows), (false, kind), (0, true))
    }

    fn cudaCreateTextureObject(
        handle: *mut u64, resource: *const ResourceDescription, texture: *const TextureDescription, view: *const c_void,
    ) |state| {
        if !view.is_null() {
            return Err(state.refuse("cudaCreateTextureObject", "views of another format are not supported"));
        }
        let (resource, texture) = (get(resource)?, get(texture)?);
        let channels = resource.channels;
        let texel = channels.bits.iter().map(|bits| *bits as usize / 8).sum::<usize>();
        let texels = match resource.kind {
            ARRAY => {
                let array = state.array(std::ptr::without_provenance(resource.place as usize))?;
                (array.address, array.description, array.size)
            }
            LINEAR if texel > 0 => (resource.place, channels, [(resource.width / texel) as u32, 1, 1]),
            PITCHED if resource.pitch == resource.width * texel => {
                (resource.place, channels, [resource.width as u32, resource.height as u32, 1])
            }
            PITCHED => {
                let reason = "a texture of memory with bytes between its rows is not supported";
                return Err(state.refuse("cudaCreateTextureObject", reason));
            }
            _ => return Err(state.refuse("cudaCreateTextureObject", "textures of several levels are not supported")),
        };
        put(handle, state.new_texture(texels, texture)?)
    }

    fn cudaDestroyTextureObject(handle: u64) |state| {
        let removed = Arc::make_mut(&mut state.textures).objects.remove(&handle);
        removed.map(drop).ok_or(Error::INVALID_VALUE)
    }
}
