//! `textures:`: buffers that texture fetches read.

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::{BoundTexture, BufferId};
use counterpoint_ptx::texture::{AddressMode, Channel, Texture};

use super::keys::{BoundKeys, TextureKeys};
use super::reader::Reader;
use crate::workloads::element::Element;

/// Texels of a texture and elements of a surface along an axis at most: those of a texture of two dimensions, and along x those of one of memory without
/// rows (CUDA C programming guide, "Technical Specifications per Compute Capability").
const MOST_TEXELS: [u64; 3] = [1 << 28, 131_072, 131_072];
/// Layers of a texture or surface at most (the same table).
const MOST_LAYERS: u64 = 2048;

/// Elements of a buffer before a texture, or from a row to the next, at most.
const MOST_ELEMENTS: u64 = 1 << 40;

/// Words of `edge`, the default first.
const EDGES: [(&str, AddressMode); 4] = [
    ("clamp", AddressMode::Clamp),
    ("wrap", AddressMode::Wrap),
    ("mirror", AddressMode::Mirror),
    ("border", AddressMode::Border),
];

/// A part of a buffer that has coordinates.
pub(super) struct Bound {
    pub(super) buffer: BufferId,
    /// Bytes of the buffer before it.
    pub(super) start: u64,
    /// Type of a channel.
    pub(super) element: Element,
    pub(super) size: [u32; 3],
    pub(super) layers: Option<u32>,
    pub(super) channels: u32,
}

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
            if self.application.buffers.iter().any(|buffer| buffer.name == key.name) {
                self.diagnostics.error(key.span, format!("`{}` is a buffer already", key.name));
            }
            if let Some(texture) = self.texture(&key.name, value) {
                self.application.textures.push(texture);
            }
        }
    }

    /// The keys that textures and surfaces have in common.
    pub(super) fn bound(&mut self, keys: &BoundKeys) -> Option<Bound> {
        let buffer = self.buffer(&keys.of);
        let size = self.extent(&keys.size, "size", MOST_TEXELS);
        let channels = keys.channels.as_ref().map_or(Some(1), |node| self.count(node, "channels", 1, 4));
        let layers = match &keys.layers {
            None => Some(None),
            Some(node) => self.count(node, "layers", 1, MOST_LAYERS).map(|count| Some(count as u32)),
        };
        let named = keys.channel.as_ref().map(|node| self.element(node));
        let first =
            keys.element.as_ref().map_or(Some(0), |node| self.count(node, "element", 0, MOST_ELEMENTS));
        let buffer = buffer?;
        let own = self.elements[buffer.0 as usize];
        let start = first? * own.bytes() as u64;
        let element = named.unwrap_or(Some(own))?;
        Some(Bound { buffer, start, element, size: size?, layers: layers?, channels: channels? as u32 })
    }

    /// Reports layers that are no planes, and textures that are larger than their buffer.
    pub(super) fn check_bound(&mut self, node: &Node, bound: &Bound, what: &str, bytes: u64) {
        if bound.layers.is_some() && bound.size[2] != 1 {
            self.diagnostics.error(node.span, "a layer has one or two dimensions");
        }
        let has = self.application.buffers[bound.buffer.0 as usize].bytes;
        if bound.start > has || bytes > has - bound.start {
            self.diagnostics.error(node.span, format!("the {what} has {bytes} bytes, its buffer {has}"));
        }
    }

    fn texture(&mut self, name: &str, node: &Node) -> Option<BoundTexture> {
        let keys: TextureKeys = self.read(node)?;
        let bound = self.bound(&keys.bound);
        let linear = self.one_of(keys.filter.as_deref(), "filter", ["point", "linear"]);
        let normalized = self.one_of(keys.coordinates.as_deref(), "coordinates", ["texels", "normalized"]);
        let address = keys.edge.map_or(Some([AddressMode::Clamp; 3]), |node| self.edges(&node));
        let pitch = match keys.pitch {
            None => Some(None),
            Some(node) => self.count(&node, "pitch", 1, MOST_ELEMENTS).map(Some),
        };
        let fractions = self.one_of(keys.read.as_deref(), "read", ["elements", "fractions"]);
        let bound = bound?;
        let Bound { buffer, start, element, size, layers, channels } = bound;
        let own = self.elements[buffer.0 as usize].bytes() as u64;
        let pitch = pitch?.map(|pitch| pitch * own);
        let Some(channel) = channel_of(element) else {
            let message = format!("a texture cannot be of {}", element.name());
            let help = "channels have 8, 16 or 32 bits: f32, u8 to u32, s8 to s32";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        };
        if channels == 3 {
            self.diagnostics.error(node.span, "a texel has 1, 2 or 4 channels");
        }
        let texture = Texture {
            size,
            layers,
            channels,
            channel,
            fractions: fractions?,
            linear: linear?,
            normalized: normalized?,
            address: address?,
            pitch,
            texels: start,
        };
        let row = u64::from(size[0]) * texture.texel_bytes();
        if let Some(pitch) = pitch.filter(|pitch| *pitch < row) {
            self.diagnostics.error(
                node.span,
                format!("a row has {row} bytes, and {pitch} from its beginning to the next"),
            );
        }
        if texture.linear && !texture.gives_floats() {
            let help = "use `read: fractions` for 8 and 16 bits, or f32";
            let diagnostic = Diagnostic::new(node.span, "only what is read as floats can be interpolated");
            self.diagnostics.report(diagnostic.help(help));
        }
        self.check_bound(node, &bound, "texture", texture.bytes());
        Some(BoundTexture { name: name.to_owned(), buffer, texture })
    }

    /// Address modes beyond the edges: one word for all axes, or one word per axis.
    fn edges(&mut self, node: &Node) -> Option<[AddressMode; 3]> {
        let single = std::slice::from_ref(node);
        let words = if node.as_scalar().is_some() { single } else { self.list(Some(node), "edges") };
        if words.is_empty() || words.len() > 3 {
            self.diagnostics.error(node.span, format!("expected one to three edges, found {}", words.len()));
            return None;
        }
        let mut edges = Vec::new();
        for word in words {
            let text = self.text(word)?;
            let found = EDGES.iter().find(|(known, _)| *known == text);
            if found.is_none() {
                let diagnostic = Diagnostic::new(word.span, format!("`{text}` is no `edge`"));
                let words = EDGES.map(|(word, _)| word);
                let help = format!("it is `{}`", words.join("`, `"));
                self.diagnostics.report(diagnostic.help(help).suggest(&text, words));
            }
            edges.push(found?.1);
        }
        // Axes without a word have the mode of the last axis that has one.
        Some(std::array::from_fn(|axis| edges[axis.min(edges.len() - 1)]))
    }

    /// Whether a key that may be missing has the second of two values; the first one is the default.
    fn one_of(&mut self, value: Option<&Node>, key: &str, values: [&str; 2]) -> Option<bool> {
        let Some(value) = value else { return Some(false) };
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
