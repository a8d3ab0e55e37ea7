//! `surfaces:`: buffers as kernels read and write them through surfaces.

use counterpoint_framework::model::Node;
use counterpoint_host_model::program::BoundSurface;
use counterpoint_ptx::surface::Surface;

use super::keys::SURFACE;
use super::reader::Reader;
use super::textures::{MOST_LAYERS, MOST_TEXELS};

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
            self.section(value, &SURFACE);
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
        let buffer = self.required(node, "of", SURFACE.name).and_then(|node| self.buffer(node));
        let size = self
            .required(node, "size", SURFACE.name)
            .and_then(|size| self.extent(size, "size", [MOST_TEXELS; 3]));
        let channels = node.get("channels").map_or(Some(1), |node| self.count(node, "channels", 1, 4));
        let layers = match node.get("layers") {
            None => Some(None),
            Some(node) => self.count(node, "layers", 1, MOST_LAYERS).map(|count| Some(count as u32)),
        };
        let (buffer, size, layers, channels) = (buffer?, size?, layers?, channels? as u32);
        let element_bytes = self.elements[buffer.0 as usize].bytes() as u32 * channels;
        if !element_bytes.is_power_of_two() || element_bytes > 16 {
            let message =
                format!("an element of a surface has 1, 2, 4, 8 or 16 bytes, and this one {element_bytes}");
            self.diagnostics.error(node.span, message);
        }
        if layers.is_some() && size[2] != 1 {
            self.diagnostics.error(node.span, "a layer has one or two dimensions");
        }
        let surface = Surface { size, layers, element_bytes, elements: 0 };
        let bytes = self.application.buffers[buffer.0 as usize].bytes;
        if surface.bytes() > bytes {
            let message = format!("the surface has {} bytes, its buffer {bytes}", surface.bytes());
            self.diagnostics.error(node.span, message);
        }
        Some(BoundSurface { name: name.to_owned(), buffer, surface })
    }
}
