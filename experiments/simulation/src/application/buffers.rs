//! `buffers:`.

use std::collections::BTreeMap;

use counterpoint_framework::model::{Diagnostic, Key, Node};
use counterpoint_host_model::program::{Buffer, BufferId, BufferPlace};

use super::code::Codes;
use super::keys::BufferKeys;
use super::reader::Reader;
use crate::workloads::element::Element;

/// More bytes than any device has; keeps sums of sizes far from overflow.
const MOST_BYTES: u64 = 1 << 44;
/// Devices are numbered from 0; more than these cannot be on a bus.
pub(super) const LAST_DEVICE: u64 = 255;

impl Reader<'_> {
    /// Reads the buffers, in the order of their lines, which is the order of their addresses.
    pub(super) fn read_buffers(&mut self, node: Option<&Node>, codes: &mut Codes) {
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
            // A buffer with a problem still has a name, so that its uses are not reported as well.
            let (mut element, mut buffer) = (Element::U8, Buffer::default());
            if let Some(keys) = self.read::<BufferKeys>(value) {
                let device =
                    keys.device.as_deref().and_then(|node| self.count(node, "device", 0, LAST_DEVICE));
                buffer.device = device.unwrap_or(0) as u32;
                (element, buffer.bytes, buffer.place) = match &keys.variable {
                    Some(variable) => self.variable_buffer(&keys, variable, codes),
                    None => self.own_buffer(key, value, &keys),
                };
            }
            self.application.buffers.push(Buffer { name: key.name.clone(), ..buffer });
            self.elements.push(element);
        }
    }

    /// Reads a buffer with memory of its own: its type, its bytes and its address.
    fn own_buffer(&mut self, key: &Key, value: &Node, keys: &BufferKeys) -> (Element, u64, BufferPlace) {
        let element = self.required(keys.element.as_deref(), value, "type", "a buffer");
        let element = element.and_then(|node| self.element(node));
        let element = element.unwrap_or(Element::U8);
        let elements = self.required(keys.elements.as_deref(), value, "elements", "a buffer");
        let elements =
            elements.and_then(|node| self.count(node, "the number of elements", 1, MOST_BYTES / 8));
        let address = keys.address.as_deref().and_then(|node| {
            self.note_fixed(format!("`{}`", key.name), node.span);
            self.fixed_address(node)
        });
        let bytes = elements.unwrap_or(0) * element.bytes() as u64;
        (element, bytes, address.map_or(BufferPlace::Anywhere, BufferPlace::At))
    }

    /// A buffer that is a variable of a module.
    fn variable_buffer(
        &mut self,
        keys: &BufferKeys,
        node: &Node,
        codes: &mut Codes,
    ) -> (Element, u64, BufferPlace) {
        if let Some(address) = &keys.address {
            let message = "a variable lies where its module has it";
            let help = "`code: { k: { file: k.ptx, globals: 0x40000 } }` fixes the addresses of a module's variables";
            self.diagnostics.report(Diagnostic::new(address.span, message).help(help));
        }
        let given = keys.element.as_deref().and_then(|node| self.element(node));
        let found = self.variable(node, codes);
        let Some((own, size, variable, kernel)) = found else {
            return (given.unwrap_or(Element::U8), 0, BufferPlace::Anywhere);
        };
        let element = given.unwrap_or(own);
        let most = size / element.bytes() as u64;
        let elements = match &keys.elements {
            Some(node) => {
                self.count(node, "the number of elements of a variable", 1, most.max(1)).unwrap_or(0)
            }
            None => most,
        };
        let buffer = BufferId(self.application.buffers.len() as u32);
        self.variables.push((buffer, kernel));
        (element, elements * element.bytes() as u64, BufferPlace::Variable(variable))
    }

    /// The type that a name means. An unknown name is read as the suggested type, so that its values are not
    /// reported as well.
    pub(super) fn element(&mut self, node: &Node) -> Option<Element> {
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
