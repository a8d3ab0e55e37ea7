//! `until:`: loops whose end the device decides, such as a search that continues while it finds new elements.

use counterpoint_framework::model::{Diagnostic, Later, Node};
use counterpoint_host_model::program::{Condition, Step};

use super::code::Codes;
use super::keys::{ConditionKeys, LoopStep};
use super::reader::Reader;

impl Reader<'_> {
    pub(super) fn until(&mut self, keys: &LoopStep, node: &Node, codes: &mut Codes) -> Option<Step> {
        self.looked_at(keys.until.span);
        let until = self.condition(&keys.until);
        let most = self.count(&keys.at_most, "at_most", 1, u32::MAX.into());
        let before = self.diagnostics.reports();
        let steps = self.read_round(&keys.r#do, codes);
        if self.diagnostics.reports() == before && Step::launches(&steps).is_empty() {
            let diagnostic =
                Diagnostic::new(node.span, "the loop launches nothing, so that nothing can end it");
            self.diagnostics
                .report(diagnostic.help("`do` needs a `launch` that changes the buffer of `until`"));
        }
        Some(Step::Loop { until: until?, most: most? as u32, steps })
    }

    fn condition(&mut self, node: &Later<ConditionKeys>) -> Option<Condition> {
        let ConditionKeys { buffer, element, equals } = self.open(node)?;
        let buffer = self.buffer(&buffer)?;
        let size = self.elements[buffer.0 as usize].bytes() as u64;
        let offset = self.offset_of_element(element.as_deref(), buffer)?;
        let value = self.element_value(&equals, buffer)?;
        let told = match equals.get("bytes") {
            Some(bytes) => format!("the bytes {}", self.text(bytes)?),
            None => self.text(&equals)?,
        };
        let words = format!("{}[{}] equals {told}", self.name_of(buffer), offset / size);
        Some(Condition { buffer, offset, value: value.into(), words })
    }
}
