//! Surfaces: arrays that kernels read and write by coordinates.

use std::sync::Arc;

use counterpoint_cuda_capture::{Elements, Entry};
use counterpoint_ptx::surface::{Surface, Surfaces};

use super::entries;
use super::textures::{ARRAY, ResourceDescription};
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::state::State;

impl State {
    pub(super) fn new_surface(&mut self, resource: ResourceDescription) -> Result<u64> {
        if resource.kind != ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        let array = self.array(std::ptr::without_provenance(resource.place as usize))?;
        if !array.is_for_surfaces() {
            return Err(Error::INVALID_VALUE);
        }
        let (channel, channels) = array.description.channels().ok_or(Error::INVALID_VALUE)?;
        let surface = Surface {
            size: array.size,
            layers: array.layers,
            element_bytes: array.description.bytes() as u32,
            elements: array.address,
        };
        let handle = Surfaces::FIRST_HANDLE + self.next_surface;
        self.next_surface += 1;
        self.recorder.write(&Entry::Surface(Elements {
            handle,
            address: array.address,
            size: array.size,
            layers: array.layers,
            pitch: None,
            channels,
            channel: format!("{channel:?}").to_lowercase(),
        }));
        Arc::make_mut(&mut self.textures).surfaces.objects.insert(handle, surface);
        Ok(handle)
    }
}

entries! {
    fn cudaCreateSurfaceObject(handle: *mut u64, resource: *const ResourceDescription) |state| {
        put(handle, state.new_surface(get(resource)?)?)
    }

    fn cudaDestroySurfaceObject(handle: u64) |state| {
        let removed = Arc::make_mut(&mut state.textures).surfaces.objects.remove(&handle);
        removed.map(drop).ok_or(Error::INVALID_VALUE)
    }
}
