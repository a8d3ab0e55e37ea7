//! `textures:`: buffers as texture fetches see them.

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::BoundTexture;
use counterpoint_ptx::texture::{AddressMode, Channel, Texture};

use super::keys::TEXTURE;
use super::reader::Reader;
use crate::element::Element;

/// Texels of a texture and elements of a surface along an axis at most: those of a texture of two dimensions (CUDA C programming guide, "Technical
/// Specifications per Compute Capability").
pub(super) const MOST_TEXELS: u64 = 131_072;
/// Layers of a texture or surface at most (the same table).
pub(super) const MOST_LAYERS: u64 = 2048;

impl Reader<'_> {
    /// Reads the textures, in the order of their lines, which gives them their handles.
    pub(super) fn read_textures(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return };
        let Some(entries) = node.as_map() else {
            let message = format!("expected textures as a map, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return;
        };
        for (key, value) in entries {
            self.section(value, &TEXTURE);
            if self.application.buffers.iter().any(|buffer| buffer.name == key.name) {
                self.diagnostics.error(key.span, format!("`{}` is a buffer already", key.name));
            }
            if let Some(texture) = self.texture(&key.name, value) {
                self.application.textures.push(texture);
            }
        }
    }

    fn texture(&mut self, name: &str, node: &Node) -> Option<BoundTexture> {
        let buffer = self.required(node, "of", "a texture").and_then(|node| self.buffer(node));
        let size = self
            .required(node, "size", "a texture")
            .and_then(|size| self.extent(size, "size", [MOST_TEXELS; 3]));
        let channels = node.get("channels").map_or(Some(1), |node| self.count(node, "channels", 1, 4));
        let layers = match node.get("layers") {
            None => Some(None),
            Some(node) => self.count(node, "layers", 1, MOST_LAYERS).map(|count| Some(count as u32)),
        };
        let linear = self.one_of(node, "filter", ["point", "linear"]);
        let normalized = self.one_of(node, "coordinates", ["texels", "normalized"]);
        let wrap = self.one_of(node, "edge", ["clamp", "wrap"]);
        let fractions = self.one_of(node, "read", ["elements", "fractions"]);
        let (buffer, size, layers, channels) = (buffer?, size?, layers?, channels? as u32);
        let place = buffer.0 as usize;
        let element = self.elements[place];
        let Some(channel) = channel_of(element) else {
            let message = format!("a texture cannot be of {}", element.name());
            let help = "channels have 8, 16 or 32 bits: f32, u8 to u32, s8 to s32";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        };
        if channels == 3 {
            self.diagnostics.error(node.span, "a texel has 1, 2 or 4 channels");
        }
        if layers.is_some() && size[2] != 1 {
            self.diagnostics.error(node.span, "a layer has one or two dimensions");
        }
        let texture = Texture {
            size,
            layers,
            channels,
            channel,
            fractions: fractions?,
            linear: linear?,
            normalized: normalized?,
            address: [if wrap? { AddressMode::Wrap } else { AddressMode::Clamp }; 3],
            texels: 0,
        };
        if texture.linear && !texture.gives_floats() {
            let help = "use `read: fractions` for 8 and 16 bits, or f32";
            let diagnostic = Diagnostic::new(node.span, "only what is read as floats can be interpolated");
            self.diagnostics.report(diagnostic.help(help));
        }
        let bytes = self.application.buffers[place].bytes;
        if texture.bytes() > bytes {
            let message = format!("the texture has {} bytes, its buffer {bytes}", texture.bytes());
            self.diagnostics.error(node.span, message);
        }
        Some(BoundTexture { name: name.to_owned(), buffer, texture })
    }

    /// Whether a key that may be missing has the second of two values; the first one is the default.
    fn one_of(&mut self, node: &Node, key: &str, values: [&str; 2]) -> Option<bool> {
        let Some(value) = node.get(key) else { return Some(false) };
        let text = self.text(value)?;
        let found = values.iter().position(|known| *known == text);
        if found.is_none() {
            let diagnostic = Diagnostic::new(value.span, format!("`{text}` is no `{key}`"));
            let help = format!("it is `{}` or `{}`", values[0], values[1]);
            self.diagnostics.report(diagnostic.help(help).suggest(&text, values));
        }
        found.map(|place| place == 1)
    }
}

fn channel_of(element: Element) -> Option<Channel> {
    Some(match element {
        Element::F32 => Channel::F32,
        Element::U32 => Channel::U32,
        Element::S32 => Channel::S32,
        Element::U16 => Channel::U16,
        Element::S16 => Channel::S16,
        Element::U8 => Channel::U8,
        Element::S8 => Channel::S8,
        Element::U64 | Element::S64 | Element::F64 => return None,
    })
}
