//! `buffers:`.

use std::collections::BTreeMap;

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::Buffer;

use super::keys::BUFFER;
use super::reader::Reader;
use crate::element::Element;

/// More bytes than any device has; keeps sums of sizes far from overflow.
const MOST_BYTES: u64 = 1 << 44;
/// Devices are numbered from 0; more than these cannot be on a bus.
pub(super) const LAST_DEVICE: u64 = 255;

impl Reader<'_> {
    /// Reads the buffers, in the order of their lines, which is the order of their addresses.
    pub(super) fn read_buffers(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return };
        let Some(entries) = node.as_map() else {
            self.diagnostics.error(node.span, format!("expected buffers as a map, found {}", node.shape()));
            return;
        };
        let mut seen = BTreeMap::new();
        for (key, value) in entries {
            // The YAML reader reports equal keys; the second one only has to be left out.
            if seen.insert(key.name.as_str(), key.span).is_some() {
                continue;
            }
            self.section(value, &BUFFER);
            let element = self.required(value, "type", "a buffer").and_then(|node| self.element(node));
            let element = element.unwrap_or(Element::U8);
            let elements = self.required(value, "elements", "a buffer");
            let elements =
                elements.and_then(|node| self.count(node, "the number of elements", 1, MOST_BYTES / 8));
            let device = value.get("device").and_then(|node| self.count(node, "device", 0, LAST_DEVICE));
            // A buffer with a problem still has a name, so that its uses are not reported as well.
            self.application.buffers.push(Buffer {
                name: key.name.clone(),
                bytes: elements.unwrap_or(0) * element.bytes() as u64,
                device: device.unwrap_or(0) as u32,
            });
            self.elements.push(element);
        }
    }

    /// The type that a name means. An unknown name is read as the suggested type, so that its values are not
    /// reported as well.
    fn element(&mut self, node: &Node) -> Option<Element> {
        let name = self.text(node)?;
        if let Some(element) = Element::parse(&name) {
            return Some(element);
        }
        let mut diagnostic = Diagnostic::new(node.span, format!("there is no type `{name}`"));
        match Element::of_c(&name) {
            Some(element) => diagnostic.suggestion = Some(element.name().to_owned()),
            None => diagnostic = diagnostic.suggest(&name, Element::ALL.map(|(name, _)| name)),
        }
        let meant = diagnostic.suggestion.as_deref().and_then(Element::parse);
        self.diagnostics.report(diagnostic);
        meant
    }
}
