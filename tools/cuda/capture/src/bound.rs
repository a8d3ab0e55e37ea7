//! `textures:` and `surfaces:` of an application: parts of its buffers, each in a line.

use std::fmt::Write as _;

use crate::buffers::Buffers;
use crate::record::{Elements, Entry, Region, Texels};

impl Entry {
    /// The memory of a texture or surface.
    pub(crate) fn bound(&self) -> Option<&Elements> {
        match self {
            Entry::Texture(texels) => Some(&texels.elements),
            Entry::Surface(elements) => Some(elements),
            _ => None,
        }
    }
}

impl Elements {
    /// Region of the elements, with `channel_bytes` per channel; rows of planes and layers are contiguous.
    pub(crate) fn region(&self, channel_bytes: u64) -> Region {
        let [x, y, z] = self.size.map(u64::from);
        let width = x * u64::from(self.channels) * channel_bytes;
        let rows = y * z * u64::from(self.layers.unwrap_or(1));
        Region { address: self.address, width, rows, pitch: self.pitch.unwrap_or(width) }
    }
}

/// Writes both lists, each in the order of the handles.
pub(crate) fn lists(yaml: &mut String, entries: &[Entry], buffers: &Buffers) {
    let (mut textures, mut surfaces) = (String::new(), String::new());
    for entry in entries {
        match entry {
            Entry::Texture(texels) => {
                let elements = &texels.elements;
                let _ = write!(textures, "  t{}: {{ of: ", elements.handle);
                memory(&mut textures, elements, buffers);
                fetches(&mut textures, texels);
                textures.push_str(" }\n");
            }
            Entry::Surface(elements) => {
                let _ = write!(surfaces, "  surface{}: {{ of: ", surfaces.lines().count() + 1);
                memory(&mut surfaces, elements, buffers);
                surfaces.push_str(" }\n");
            }
            _ => {}
        }
    }
    for (key, list) in [("textures", textures), ("surfaces", surfaces)] {
        if !list.is_empty() {
            let _ = write!(yaml, "{key}:\n{list}");
        }
    }
}

/// The part of a buffer, its size, and its channels.
fn memory(yaml: &mut String, elements: &Elements, buffers: &Buffers) {
    let Some((buffer, at)) = buffers.at(elements.address) else { return };
    yaml.push_str(&buffer.name);
    if at > 0 {
        let _ = write!(yaml, ", element: {}", at / buffer.element.bytes);
    }
    if buffer.element.name != elements.channel {
        let _ = write!(yaml, ", type: {}", elements.channel);
    }
    let [x, y, z] = elements.size;
    let _ = write!(yaml, ", size: [{x}, {y}, {z}]");
    if let Some(layers) = elements.layers {
        let _ = write!(yaml, ", layers: {layers}");
    }
    if let Some(pitch) = elements.pitch {
        let _ = write!(yaml, ", pitch: {}", pitch / buffer.element.bytes);
    }
    let _ = write!(yaml, ", channels: {}", elements.channels);
}

/// The way in which a texture is read.
fn fetches(yaml: &mut String, texels: &Texels) {
    let edges = &texels.edges;
    let edge = match edges.iter().all(|edge| *edge == edges[0]) {
        true if edges[0] == "clamp" => String::new(),
        true => format!(", edge: {}", edges[0]),
        false => format!(", edge: [{}]", edges.join(", ")),
    };
    let words = [
        (texels.linear, ", filter: linear"),
        (texels.normalized, ", coordinates: normalized"),
        (true, &edge),
        (texels.fractions, ", read: fractions"),
    ];
    words.iter().filter(|(is, _)| *is).for_each(|(_, word)| yaml.push_str(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(handle: u64, address: u64, channel: &str) -> Elements {
        let channel = channel.to_owned();
        Elements { handle, address, size: [5, 3, 1], layers: None, pitch: None, channels: 1, channel }
    }

    fn texture(elements: Elements, edges: [&str; 3]) -> Entry {
        let edges = edges.map(str::to_owned);
        Entry::Texture(Texels { elements, fractions: true, linear: false, normalized: true, edges })
    }

    fn listed(entries: &[Entry]) -> String {
        let mut yaml = String::new();
        lists(&mut yaml, entries, &Buffers::new(entries, &[]));
        yaml
    }

    #[test]
    fn parts_of_a_buffer_have_their_place_and_type() {
        let entries = [
            Entry::Allocate { address: 512, bytes: 256 },
            texture(elements(1, 512, "s16"), ["wrap", "mirror", "mirror"]),
            Entry::Surface(Elements { layers: Some(4), ..elements(1 << 48, 512, "u16") }),
            texture(Elements { pitch: Some(12), ..elements(2, 512 + 16, "u16") }, ["border"; 3]),
        ];
        let expected = "textures:
  t1: { of: b1, type: s16, size: [5, 3, 1], channels: 1, coordinates: normalized, edge: [wrap, mirror, mirror], read: fractions }
  t2: { of: b1, element: 8, size: [5, 3, 1], pitch: 6, channels: 1, coordinates: normalized, edge: border, read: fractions }
surfaces:
  surface1: { of: b1, size: [5, 3, 1], layers: 4, channels: 1 }
";
        assert_eq!(listed(&entries), expected);
    }

    #[test]
    fn a_place_between_two_elements_makes_a_buffer_one_of_bytes() {
        let entries = [
            Entry::Allocate { address: 512, bytes: 256 },
            texture(elements(1, 512 + 2, "u16"), ["clamp"; 3]),
            texture(elements(2, 512, "f32"), ["clamp"; 3]),
        ];
        let found = listed(&entries);
        assert!(found.contains("t1: { of: b1, element: 2, type: u16, "), "{found}");
        assert!(found.contains("t2: { of: b1, type: f32, "), "{found}");
    }
}
