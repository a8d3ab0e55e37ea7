//! Textures: arrays, or memory, as fetches see them.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use counterpoint_cuda_capture::{Elements, Entry, Texels};
use counterpoint_ptx::texture::{AddressMode, Texture};

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::made::arrays::ChannelDescription;
use crate::state::State;

/// The memory behind a texture, as CUDA describes it: its kind, then fields by kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ResourceDescription {
    pub(super) kind: c_int,
    /// An array, or an address.
    pub(super) place: u64,
    pub(super) channels: ChannelDescription,
    /// Bytes of memory without rows; else texels of a row.
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pitch: usize,
}

pub(super) const ARRAY: c_int = 0;
pub(super) const LINEAR: c_int = 2;
pub(super) const PITCHED: c_int = 3;

/// CUDA's description of texture reads, up to the last field that is used here.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct TextureDescription {
    pub(super) address: [c_int; 3],
    pub(super) filter: c_int,
    pub(super) read: c_int,
    pub(super) gamma: c_int,
    pub(super) border: [f32; 4],
    pub(super) normalized: c_int,
}

plain!(ResourceDescription, TextureDescription);

#[derive(Clone, Copy)]
struct Memory {
    address: u64,
    description: ChannelDescription,
    dimensions: usize,
    size: [u32; 3],
    layers: Option<u32>,
    pitch: Option<u64>,
}

/// The texels beyond an edge, by CUDA's numbers, and the word of an application.
const EDGES: [(AddressMode, &str); 4] = [
    (AddressMode::Wrap, "wrap"),
    (AddressMode::Clamp, "clamp"),
    (AddressMode::Mirror, "mirror"),
    (AddressMode::Border, "border"),
];
/// The second and fourth of them.
const CLAMP: usize = 1;
const BORDER: usize = 3;

impl TextureDescription {
    fn edges(&self, dimensions: usize) -> Result<[usize; 3]> {
        let mut edges = [CLAMP; 3];
        for (axis, found) in edges.iter_mut().enumerate() {
            // Axes that the texture lacks are as the last one.
            let edge = self.address[axis.min(dimensions - 1)];
            let known = usize::try_from(edge).ok().filter(|edge| *edge < EDGES.len());
            let known = known.ok_or(Error::INVALID_VALUE)?;
            *found = if self.normalized == 0 && known != BORDER { CLAMP } else { known };
        }
        Ok(edges)
    }
}

impl State {
    /// Makes a texture of memory as it is described.
    pub(super) fn texture_of(
        &mut self,
        resource: ResourceDescription,
        texture: TextureDescription,
    ) -> Result<u64> {
        let description = resource.channels;
        let texel = description.bytes() as usize;
        let address = resource.place;
        let memory = match resource.kind {
            ARRAY => {
                let array = self.array(std::ptr::without_provenance(address as usize))?;
                Memory {
                    address: array.address,
                    description: array.description,
                    dimensions: array.dimensions(),
                    size: array.size,
                    layers: array.layers,
                    pitch: None,
                }
            }
            LINEAR if texel > 0 => {
                let size = [(resource.width / texel) as u32, 1, 1];
                Memory { address, description, dimensions: 1, size, layers: None, pitch: None }
            }
            PITCHED => {
                let size = [resource.width as u32, resource.height as u32, 1];
                let pitch = (resource.pitch != resource.width * texel).then_some(resource.pitch as u64);
                Memory { address, description, dimensions: 2, size, layers: None, pitch }
            }
            _ => {
                return Err(
                    self.refuse("cudaCreateTextureObject", "textures of several levels are not supported")
                );
            }
        };
        self.new_texture(memory, texture)
    }

    fn new_texture(&mut self, memory: Memory, description: TextureDescription) -> Result<u64> {
        let (channel, channels) = memory.description.channels().ok_or(Error::INVALID_VALUE)?;
        let edges = description.edges(memory.dimensions)?;
        let refuse = |state: &mut State, reason| Err(state.refuse("cudaCreateTextureObject", reason));
        if edges.contains(&BORDER) && description.border != [0.0; 4] {
            return refuse(self, "edges that have a colour are not supported");
        }
        if description.gamma != 0 {
            return refuse(self, "texels in sRGB are not supported");
        }
        let texture = Texture {
            size: memory.size,
            layers: memory.layers,
            channels,
            channel,
            fractions: description.read == 1 && channel.bytes() < 4,
            linear: description.filter == 1,
            normalized: description.normalized != 0,
            address: edges.map(|edge| EDGES[edge].0),
            pitch: memory.pitch,
            texels: memory.address,
        };
        self.next_texture += 1;
        let handle = self.next_texture;
        self.recorder.write(&Entry::Texture(Texels {
            elements: Elements {
                handle,
                address: memory.address,
                size: memory.size,
                layers: memory.layers,
                pitch: memory.pitch,
                channels,
                channel: format!("{channel:?}").to_lowercase(),
            },
            fractions: texture.fractions,
            linear: texture.linear,
            normalized: texture.normalized,
            edges: edges.map(|edge| EDGES[edge].1.to_owned()),
        }));
        Arc::make_mut(&mut self.textures).objects.insert(handle, texture);
        Ok(handle)
    }
}

entries! {
    fn cudaCreateTextureObject(
        handle: *mut u64, resource: *const ResourceDescription, texture: *const TextureDescription, view: *const c_void,
    ) |state| {
        if !view.is_null() {
            return Err(state.refuse("cudaCreateTextureObject", "views of another format are not supported"));
        }
        let (resource, texture) = (get(resource)?, get(texture)?);
        put(handle, state.texture_of(resource, texture)?)
    }

    fn cudaDestroyTextureObject(handle: u64) |state| {
        let removed = Arc::make_mut(&mut state.textures).objects.remove(&handle);
        removed.map(drop).ok_or(Error::INVALID_VALUE)
    }
}
