//! `surfaces:`: buffers as kernels read and write them through surfaces.

use counterpoint_framework::model::Node;
use counterpoint_host_model::program::BoundSurface;
use counterpoint_ptx::surface::Surface;

use super::keys::SurfaceKeys;
use super::reader::Reader;
use super::textures::Bound;

impl Reader<'_> {
    /// Reads the surfaces, in the order of their lines, which gives them their handles.
    pub(super) fn read_surfaces(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return };
        let Some(entries) = node.as_map() else {
            let message = format!("expected surfaces as a map, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return;
        };
        for (key, value) in entries {
            if self.application.buffers.iter().any(|buffer| buffer.name == key.name) {
                self.diagnostics.error(key.span, format!("`{}` is a buffer already", key.name));
            } else if self.application.textures.iter().any(|texture| texture.name == key.name) {
                self.diagnostics.error(key.span, format!("`{}` is a texture already", key.name));
            }
            if let Some(surface) = self.surface(&key.name, value) {
                self.application.surfaces.push(surface);
            }
        }
    }

    fn surface(&mut self, name: &str, node: &Node) -> Option<BoundSurface> {
        let keys: SurfaceKeys = self.read(node)?;
        let bound = self.bound(&keys.bound)?;
        let Bound { buffer, start, element, size, layers, channels } = bound;
        let element_bytes = element.bytes() as u32 * channels;
        if !element_bytes.is_power_of_two() || element_bytes > 16 {
            let message =
                format!("an element of a surface has 1, 2, 4, 8 or 16 bytes, and this one {element_bytes}");
            self.diagnostics.error(node.span, message);
        }
        let surface = Surface { size, layers, element_bytes, elements: start };
        self.check_bound(node, &bound, "surface", surface.bytes());
        Some(BoundSurface { name: name.to_owned(), buffer, surface })
    }
}
