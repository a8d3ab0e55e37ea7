//! Rounds of steps, launches or tasks: the name of their number (`index`) and values computed from it
//! (`let`).

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_framework::topology::expression::Number;
use counterpoint_host_model::program::Step;

use super::code::Codes;
use super::keys::RoundKeys;
use super::reader::Reader;

impl Reader<'_> {
    /// Reads the steps of each round.
    pub(super) fn indexed_rounds(
        &mut self,
        scope: &RoundKeys,
        times: u32,
        inner: &Node,
        codes: &mut Codes,
    ) -> Option<Vec<Vec<Step>>> {
        let mut rounds = Vec::new();
        self.each_round(scope, times, |reader| rounds.push(reader.read_round(inner, codes)))?;
        Some(rounds)
    }

    /// Calls `read` for each round, with the round's `index` and `let` values bound.
    pub(super) fn each_round(
        &mut self,
        scope: &RoundKeys,
        times: u32,
        mut read: impl FnMut(&mut Self),
    ) -> Option<()> {
        let index = scope.index.as_ref()?;
        let name = self.text(index)?;
        self.check_new(&name, index.span)?;
        let values = scope.values.as_deref();
        if let Some(values) = values.filter(|values| values.as_map().is_none()) {
            let message = format!("expected values by their names, found {}", values.shape());
            self.diagnostics.error(values.span, message);
            return None;
        }
        let values = values.and_then(Node::as_map).unwrap_or_default();
        let before = self.diagnostics.reports();
        self.parameters.bind(&name, Some(Number::whole(0)));
        for (key, _) in values {
            self.check_new(&key.name, key.span);
        }
        self.parameters.bind(&name, None);
        if self.diagnostics.reports() > before {
            return None;
        }
        for round in 0..times {
            self.parameters.bind(&name, Some(Number::whole(round.into())));
            for (key, value) in values {
                let value = self.number(value);
                self.parameters.bind(&key.name, value);
            }
            if self.diagnostics.reports() == before {
                read(self);
            }
            values.iter().for_each(|(key, _)| self.parameters.bind(&key.name, None));
            // A mistake in one round would be reported again for each of the others.
            if self.diagnostics.reports() > before {
                break;
            }
        }
        self.parameters.bind(&name, None);
        Some(())
    }

    /// Reports a name that has a meaning.
    fn check_new(&mut self, name: &str, span: Span) -> Option<()> {
        if !self.parameters.has(name) {
            return Some(());
        }
        let message = format!("`{name}` has a meaning already");
        let help = "an index, or a value of a round, needs a name that no parameter has";
        self.diagnostics.report(Diagnostic::new(span, message).help(help));
        None
    }
}
