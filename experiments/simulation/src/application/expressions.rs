//! Parameters, and values that may be arithmetic over them.

use std::collections::BTreeMap;

use counterpoint_framework::model::{Diagnostic, Node, Value};
use counterpoint_framework::topology::COMMAND_LINE;
use counterpoint_framework::topology::expression::{Expression, Number, substitute};

use super::parameters::{DEFAULT, SETTING_PREFIX, decimal, is_special, parse_float};
use super::reader::Reader;

impl Reader<'_> {
    /// Reads `parameters:` in the order of their lines; each may use those above it. A value of `--set` takes
    /// precedence over the chosen entry of `sizes`, which takes precedence over the line.
    pub(super) fn read_parameters(&mut self, node: Option<&Node>, sizes: Option<&Node>, sets: &[String]) {
        let empty: &[_] = &[];
        let entries = node.map_or(Some(empty), Node::as_map);
        if entries.is_none()
            && let Some(node) = node
        {
            let message = format!("expected parameters as a map, found {}", node.shape());
            self.diagnostics.error(node.span, message);
        }
        let entries = entries.unwrap_or_default();
        let names: Vec<&str> = entries.iter().map(|(key, _)| key.name.as_str()).collect();
        let sizes = self.read_sizes(sizes, entries);
        let (size, sets) = self.chosen_size(&sizes, sets, &names);
        let settings = self.settings(&sets, &names);
        self.size = settings.is_empty().then(|| size.map_or(DEFAULT, |(name, _)| name).to_owned());
        for (key, value) in entries {
            let sized = size.and_then(|(_, values)| values.iter().find(|(name, _)| name.name == key.name));
            let value = match settings.get(&key.name) {
                Some(set) => Some(*set),
                None => self.number(sized.map_or(value, |(_, value)| value)),
            };
            // A parameter without a value would make every use of it a further problem.
            self.parameters.bind(&key.name, Some(value.unwrap_or(Number::whole(1))));
        }
    }

    /// The parameters that `--set app.name=value` gives.
    fn settings(&mut self, sets: &[&String], names: &[&str]) -> BTreeMap<String, Number> {
        let mut found = BTreeMap::new();
        for set in sets {
            let file = self.sources.add_argument(COMMAND_LINE, set);
            let whole = self.sources.whole(file);
            let Some((path, value)) = set.split_once('=') else {
                let diagnostic = Diagnostic::new(whole, "a setting without `=`");
                self.diagnostics.report(diagnostic.help("write --set path=value"));
                continue;
            };
            let path = path.trim_end();
            let name = path.strip_prefix(SETTING_PREFIX).unwrap_or(path);
            if !names.contains(&name) {
                let span = whole.part(path.len() - name.len(), name.len());
                let diagnostic = Diagnostic::new(span, format!("the application has no parameter `{name}`"));
                self.diagnostics.report(diagnostic.suggest(name, names.iter().copied()));
                continue;
            }
            match Number::parse(value.trim()) {
                Some(number) => {
                    found.insert(name.to_owned(), number);
                }
                None => {
                    let span = whole.part(set.len() - value.len(), value.len());
                    self.diagnostics.error(span, format!("`{}` is not a number", value.trim()));
                }
            }
        }
        found
    }

    /// A single value, with its expressions replaced.
    pub(super) fn text(&mut self, node: &Node) -> Option<String> {
        if !matches!(node.value, Value::Scalar { .. }) {
            self.diagnostics.error(node.span, format!("expected a single value, found {}", node.shape()));
            return None;
        }
        if let Some(number) = self.whole_expression(node) {
            return number.map(decimal);
        }
        let replaced = substitute(node, &self.parameters, &mut self.diagnostics)?;
        replaced.as_scalar().map(str::to_owned)
    }

    /// The exact value of a scalar that is nothing but one `${…}`, such as a third, which no decimal holds; `None` for
    /// other nodes, `Some(None)` for an expression with a problem.
    fn whole_expression(&mut self, node: &Node) -> Option<Option<Number>> {
        let Value::Scalar { text, quoted } = &node.value else { return None };
        let inside = text.strip_prefix("${")?.strip_suffix('}').filter(|inside| !inside.contains('}'))?;
        let value = Expression::parse(inside).and_then(|expression| expression.evaluate(&self.parameters));
        let inset = usize::from(*quoted) + "${".len();
        Some(value.map_err(|error| self.diagnostics.report(error.diagnostic(node.span, inset))).ok())
    }

    pub(super) fn number(&mut self, node: &Node) -> Option<Number> {
        if let Some(number) = self.whole_expression(node) {
            return number;
        }
        let text = self.text(node)?;
        let number = Number::parse(&text);
        if number.is_none() {
            self.diagnostics.error(node.span, format!("`{text}` is not a number"));
        }
        number
    }

    /// A number with a point or an exponent, perhaps with C's `f` behind it.
    pub(super) fn float(&mut self, node: &Node) -> Option<f64> {
        let text = self.text(node)?;
        let value = parse_float(&text);
        if value.is_none() {
            self.diagnostics.error(node.span, format!("`{text}` is not a number"));
        }
        value
    }

    /// A number as [`Reader::float`] reads it, or NaN (`nan`) or infinity (`inf`, `-inf`).
    pub(super) fn any_float(&mut self, node: &Node) -> Option<f64> {
        match self.text(node)?.as_str() {
            text if is_special(text) => text.parse().ok(),
            _ => self.float(node),
        }
    }

    /// A whole number in a range; `what` names it in messages.
    pub(super) fn count(&mut self, node: &Node, what: &str, min: u64, max: u64) -> Option<u64> {
        let number = self.number(node)?;
        let value = number.as_whole().and_then(|value| u64::try_from(value).ok());
        let value = value.filter(|value| (min..=max).contains(value));
        if value.is_none() {
            let message = format!("{what} is {number}");
            let help = format!("expected a whole number from {min} to {max}");
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
        }
        value
    }
}
