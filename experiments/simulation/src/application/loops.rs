//! `until:`: loops whose end the device decides, such as a search that goes on while something was found.

use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_host_model::program::{Condition, Step};

use super::code::Codes;
use super::keys::CONDITION;
use super::reader::Reader;

impl Reader<'_> {
    pub(super) fn until(&mut self, node: &Node, codes: &mut Codes) -> Option<Step> {
        let written = node.get("until")?;
        self.looked_at(written.span);
        let until = self.condition(written);
        let most = self.required(node, "at_most", "a loop");
        let most = most.and_then(|node| self.count(node, "at_most", 1, u32::MAX.into()));
        let inner = self.required(node, "do", "a loop");
        let before = self.diagnostics.reports();
        let steps = self.read_round(inner, codes);
        if inner.is_some() && self.diagnostics.reports() == before && Step::launches(&steps).is_empty() {
            let diagnostic =
                Diagnostic::new(node.span, "the loop launches nothing, so that nothing can end it");
            self.diagnostics
                .report(diagnostic.help("`do` needs a `launch` that changes the buffer of `until`"));
        }
        Some(Step::Loop { until: until?, most: most? as u32, steps })
    }

    fn condition(&mut self, node: &Node) -> Option<Condition> {
        self.section(node, &CONDITION)?;
        let buffer = self.required(node, "buffer", "a condition").and_then(|node| self.buffer(node));
        let equals = self.required(node, "equals", "a condition");
        let buffer = buffer?;
        let size = self.elements[buffer.0 as usize].bytes() as u64;
        let offset = self.offset_of_element(node, buffer)?;
        let equals = equals?;
        let value = self.element_value(equals, buffer)?;
        let told = match equals.get("bytes") {
            Some(bytes) => format!("the bytes {}", self.text(bytes)?),
            None => self.text(equals)?,
        };
        let words = format!("{}[{}] equals {told}", self.name_of(buffer), offset / size);
        Some(Condition { buffer, offset, value: value.into(), words })
    }
}
