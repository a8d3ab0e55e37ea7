//! The clocks of a module: their frequencies, and the clock of each component.

use std::collections::BTreeMap;

use crate::model::{Bounds, Diagnostic, Diagnostics, Families, Node, Parameter, Reader, Span};
use crate::time::Hertz;

use super::expression;
use super::flat::{ClockUse, Clocks, Environment, join};
use super::module::Module;
use super::overrides::{Override, open};

/// The clocks of a module at a path, with the settings for them. `outer` are the clocks of the enclosing module.
pub(super) fn unfold(
    module: &Module,
    path: &str,
    environment: &Environment,
    settings: Vec<Override>,
    outer: &Clocks,
    diagnostics: &mut Diagnostics,
) -> Clocks {
    let mut values: BTreeMap<String, (Node, Option<Span>)> = BTreeMap::new();
    for (key, node) in &module.clocks {
        if let Some(value) = expression::substitute(node, environment, diagnostics) {
            values.insert(key.name.clone(), (value, None));
        }
    }
    for one in open(settings, diagnostics) {
        let name = one.head(one.path.len());
        if !module.clocks.iter().any(|(key, _)| key.name == name.name) {
            let diagnostic = Diagnostic::new(name.span, format!("there is no clock `{}`", name.name));
            let names = module.clocks.iter().map(|(key, _)| key.name.as_str());
            diagnostics.report(diagnostic.suggest(&name.name, names));
            continue;
        }
        values.insert(name.name, (one.value, Some(one.key)));
    }
    let families = Families::default();
    let mut clocks = BTreeMap::new();
    for (name, (node, overridden)) in values {
        if let Some(outer) = node.as_scalar().and_then(|text| outer.get(text)) {
            let clock = outer.as_ref().map(|outer| ClockUse { path: join(path, &name), ..outer.clone() });
            clocks.insert(name, clock);
            continue;
        }
        let frequency = Hertz::from_node(&node, &mut Reader::new(&families, diagnostics));
        let bounds = Bounds { min: Some("1 Hz"), max: Some("1000 GHz") };
        let frequency = frequency.filter(|frequency| {
            let within = frequency.within(&bounds);
            if !within {
                let diagnostic = Diagnostic::new(node.span, format!("`{frequency}` is out of range"));
                diagnostics.report(diagnostic.help("a clock runs at 1 Hz to 1000 GHz"));
            }
            within
        });
        let path = join(path, &name);
        clocks.insert(name, frequency.map(|frequency| ClockUse { path, frequency, overridden }));
    }
    clocks
}

pub(super) fn find(node: &Node, clocks: &Clocks, diagnostics: &mut Diagnostics) -> Option<ClockUse> {
    let name = node.as_scalar().unwrap_or_default();
    match clocks.get(name) {
        Some(clock) => clock.clone(),
        None => {
            let diagnostic = Diagnostic::new(node.span, format!("unknown clock `{name}`"));
            let mut diagnostic = diagnostic.suggest(name, clocks.keys().map(String::as_str));
            if clocks.is_empty() {
                diagnostic.help = Some("declare it under `clocks:`".to_owned());
            }
            diagnostics.report(diagnostic);
            None
        }
    }
}
