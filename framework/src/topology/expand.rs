//! Fourth pass: unfolds modules. Binds parameters, evaluates `${…}`, makes arrays, applies every setting to its
//! component, and leaves a flat list of component instances and of joined ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::ports::PortInfo;
use crate::model::{Catalogue, Diagnostic, Diagnostics, Node, Parameter, Reader, Span};

use super::clocks;
use super::expression;
use super::flat::{Clocks, Element, Environment, Flat, FlatInstance, Scope, UnfoldedEntry, join};
use super::layers::Layers;
use super::machine::Origin;
use super::module::{self, Body, ComponentEntry, Module, ParameterEntry};
use super::overrides::{Declared, Override, Setter, open};
use super::parameter_types::{ANY, TYPES, check_of};
use super::patch::Parts;
use super::settable;
use super::wire;

/// More instances than this are taken for a mistake.
const MOST_INSTANCES: usize = 1 << 14;

/// Deeper nesting of modules is refused, so that unfolding cannot exhaust the stack.
const DEEPEST: usize = 64;

/// Unfolds a machine.
pub(super) fn expand(parts: &Parts, catalogue: &Catalogue, diagnostics: &mut Diagnostics) -> Flat {
    let Parts { machine, .. } = parts;
    let mut overrides: Vec<Override> =
        parts.set.iter().map(|(key, value)| Override::new(key, value.clone())).collect();
    let nothing = Environment::default();
    for one in &mut overrides {
        if let Some(value) = expression::substitute(&one.value, &nothing, diagnostics) {
            one.value = value;
        }
    }
    let flat = Flat {
        name: machine.name.clone(),
        description: machine.description.clone(),
        follows: machine.follows,
        ..Flat::default()
    };
    let (within, seen, faulty, lost) = (Vec::new(), Vec::new(), Vec::new(), parts.lost.clone());
    let (layers, unfolded) = (Layers::default(), 0);
    let mut expander =
        Expander { catalogue, parts, diagnostics, flat, within, seen, faulty, layers, lost, unfolded };
    let scope = expander.module(machine, "", machine.span, overrides, &Clocks::new());
    expander.missing();
    let mut flat = expander.flat;
    for (faults, environment) in [(&machine.faults, &scope.environment), (&parts.faults, &nothing)] {
        let known = faults.iter().filter_map(|node| expression::substitute(node, environment, diagnostics));
        flat.faults.extend(known);
    }
    flat
}

struct Expander<'a> {
    catalogue: &'a Catalogue,
    parts: &'a Parts,
    diagnostics: &'a mut Diagnostics,
    flat: Flat,
    /// The modules being unfolded, outermost first.
    within: Vec<String>,
    /// The paths of modules so far, and of parts about which something is wrong, if overlays speak of single instances.
    seen: Vec<String>,
    faulty: Vec<String>,
    /// The overlays of the parts being unfolded, outermost first.
    layers: Layers<'a>,
    /// Names that are missing because the part that would bring them was reported.
    lost: Vec<String>,
    /// Components and modules unfolded so far.
    unfolded: usize,
}

impl Expander<'_> {
    /// Unfolds a module that `span` uses, at a path, with the settings from outside. `outer` are the clocks of the module
    /// that it is part of: its own may be set to one of them.
    fn module(
        &mut self,
        module: &Module,
        path: &str,
        span: Span,
        outside: Vec<Override>,
        outer: &Clocks,
    ) -> Scope {
        self.within.push(module.name.clone());
        let outside = open(outside, self.diagnostics);
        let mut settings = self.sort(module, outside);
        let environment = self.parameters(module, span, &settings.parameters);
        let own: Vec<Override> = module
            .set
            .iter()
            .filter_map(|(key, value)| {
                let value = expression::substitute(value, &environment, self.diagnostics)?;
                Some(Override::new(key, value))
            })
            .collect();
        let own = self.sort(module, own);
        for one in own.parameters {
            let help = "give the parameter another default";
            self.diagnostics
                .report(Diagnostic::new(one.key, "a module cannot set its own parameter").help(help));
        }
        // A setting from outside comes last and wins.
        settings.clocks.splice(0..0, own.clocks);
        for (name, mut inner) in own.parts {
            let outer = settings.parts.remove(&name).unwrap_or_default();
            inner.extend(outer);
            settings.parts.insert(name, inner);
        }
        let clocks = clocks::unfold(module, path, &environment, settings.clocks, outer, self.diagnostics);
        let mut scope = Scope { environment, moved: module.moved.clone(), ..Scope::default() };
        for entry in &module.components {
            let settings = settings.parts.remove(&entry.key.name).unwrap_or_default();
            let part = self.part(entry, path, &scope.environment, &clocks, settings);
            scope.parts.insert(entry.key.name.clone(), part);
        }
        for (key, node) in &module.exports {
            match module::Text::of(node) {
                Some(text) => drop(scope.exports.insert(key.name.clone(), text)),
                None => self.diagnostics.error(node.span, format!("expected a port, found {}", node.shape())),
            }
        }
        wire::exports(&scope, self.catalogue, &mut self.flat, self.diagnostics);
        for link in &module.links {
            wire::link(link, &scope, self.catalogue, &mut self.flat, self.diagnostics);
        }
        self.within.pop();
        scope
    }

    /// Sorts settings by target.
    fn sort(&mut self, module: &Module, overrides: Vec<Override>) -> Settings {
        let mut settings = Settings::default();
        for one in overrides {
            let words = one.path.len();
            let part = (1..=words).rev().find(|&words| {
                let head = one.head(words).name;
                module.components.iter().any(|entry| entry.key.name == head)
            });
            let first = &one.path[0];
            let element = (1..=words).rev().find_map(|words| {
                let (name, index) = one.indexed(words)?;
                let array = |entry: &ComponentEntry| {
                    let may_be = entry.count.is_some() || matches!(entry.body, Body::Unknown);
                    may_be && entry.key.name == name
                };
                module.components.iter().any(array).then_some((words, name, index))
            });
            if let Some((words, name, index)) =
                element.filter(|(words, ..)| part.is_none_or(|part| *words > part))
            {
                let element = Some((index, one.path[words - 1].span));
                settings.parts.entry(name).or_default().push(Override { element, ..one.inner(words) });
            } else if let Some(words) = part {
                settings.parts.entry(one.head(words).name).or_default().push(one.inner(words));
            } else if first.name == "clocks" {
                settings.clocks.push(one.inner(1));
            } else if module.parameters.iter().any(|entry| entry.key.name == first.name) {
                if words > 1 {
                    let message = format!("the parameter `{}` has no parts", first.name);
                    self.diagnostics.error(one.path[1].span, message);
                } else {
                    settings.parameters.push(one);
                }
            } else if let Some(moved) = (1..=words).rev().find_map(|words| {
                let head = one.head(words);
                module.moved(&head.name, head.span)
            }) {
                self.diagnostics.report(moved);
            } else {
                let message = format!("there is nothing named `{}` to set in `{}`", first.name, module.name);
                if let Some((name, _)) = one.indexed(1)
                    && module.components.iter().any(|entry| entry.key.name == name)
                {
                    let help = format!("`{name}` is not an array: leave the index out");
                    self.diagnostics.report(Diagnostic::new(first.span, message).help(help));
                    continue;
                }
                let names = module.parameters.iter().map(|entry| entry.key.name.as_str());
                let names = names.chain(module.components.iter().map(|entry| entry.key.name.as_str()));
                let mut diagnostic = Diagnostic::new(first.span, message).suggest(&first.name, names);
                let whole = one.head(words);
                if diagnostic.suggestion.is_none()
                    && let Some(path) =
                        settable::nearest_path(self.parts, self.catalogue, module, &whole.name)
                {
                    diagnostic =
                        Diagnostic { span: whole.span, suggestion: Some(path), help: None, ..diagnostic };
                }
                self.flat.missing.push((one.head(words).name, diagnostic));
            }
        }
        settings
    }

    fn parameters(&mut self, module: &Module, span: Span, settings: &[Override]) -> Environment {
        let mut environment = Environment::default();
        for entry in &module.parameters {
            let given = settings.iter().rev().find(|one| one.path[0].name == entry.key.name);
            let default = |diagnostics: &mut Diagnostics| {
                expression::substitute(entry.default.as_ref()?, &environment, diagnostics)
            };
            let value = match given {
                Some(one) => Some(one.value.clone()),
                None => default(self.diagnostics),
            };
            let Some(value) = value else {
                // A default that exists and has no value was reported.
                if entry.default.is_none() {
                    let message = format!("`{}` needs the parameter `{}`", module.name, entry.key.name);
                    self.diagnostics
                        .report(Diagnostic::new(span, message).note(entry.key.span, "declared here"));
                }
                continue;
            };
            let is_right = self.parameter(entry, &value, &environment);
            // In place of a wrong value there is a right one, so that its dependents are not reported as
            // well.
            let instead = || default(&mut Diagnostics::default()).or_else(|| entry.min.clone());
            if let Some(value) = if is_right { Some(value) } else { instead() } {
                environment.values.insert(entry.key.name.clone(), value);
            }
        }
        environment
    }

    fn parameter(&mut self, entry: &ParameterEntry, value: &Node, environment: &Environment) -> bool {
        let kind = entry.kind.as_ref().and_then(Node::as_scalar).unwrap_or(ANY);
        let check = match check_of(kind) {
            Some(check) => check,
            None if kind == ANY => return true,
            None => {
                let span = entry.kind.as_ref().map_or(entry.key.span, |kind| kind.span);
                let types = TYPES.iter().map(|(name, _)| *name).chain([ANY]);
                let diagnostic = Diagnostic::new(span, format!("unknown type `{kind}`"));
                self.diagnostics.report(diagnostic.suggest(kind, types));
                return false;
            }
        };
        let bound = |node: &Option<Node>, diagnostics: &mut Diagnostics| {
            expression::substitute(node.as_ref()?, environment, diagnostics)
        };
        let (min, max) = (bound(&entry.min, self.diagnostics), bound(&entry.max, self.diagnostics));
        let mut reader = Reader::new(&self.catalogue.families, self.diagnostics);
        check(value, min.as_ref(), max.as_ref(), &entry.key.name, &mut reader)
    }

    fn part(
        &mut self,
        entry: &ComponentEntry,
        path: &str,
        environment: &Environment,
        clocks: &Clocks,
        settings: Vec<Override>,
    ) -> UnfoldedEntry {
        let count = match &entry.count {
            None => Some(1),
            Some(node) => self.count(node, environment),
        };
        let replaced = (entry.origin == Origin::Replaced).then_some(entry.key.span);
        let (array, faulty) = (entry.count.is_some(), count.is_none() || matches!(entry.body, Body::Unknown));
        let mut part = UnfoldedEntry { array, elements: Vec::new(), faulty, replaced };
        let path = join(path, &entry.key.name);
        if part.faulty {
            self.faulty.push(path);
            return part;
        }
        let beyond =
            |one: &Override| one.element.filter(|(index, _)| count.is_some_and(|count| *index >= count));
        for (index, span) in settings.iter().filter_map(beyond) {
            let name = &entry.key.name;
            let diagnostic = Diagnostic::new(span, format!("there is no `{name}[{index}]` to set"));
            let help = format!("`{name}` has {} elements, from 0 on", count.unwrap_or_default());
            self.diagnostics.report(diagnostic.help(help));
        }
        let is_single = settings.iter().any(|one| one.element.is_some());
        let mut alike = None;
        for index in 0..count.unwrap_or(0) {
            let path = if part.array { format!("{path}[{index}]") } else { path.clone() };
            let for_this = |one: &&Override| one.element.is_none_or(|(wanted, _)| wanted == index);
            let own: Vec<Override>;
            let settings = if is_single {
                own = settings.iter().filter(for_this).cloned().collect();
                &own
            } else {
                &settings
            };
            let reports = self.diagnostics.reports();
            let element = match alike {
                Some(first) => Some(self.twin(first, path.clone())),
                None => self.element(entry, &path, environment, clocks, settings),
            };
            if let (Some(Element::Component(instance)), false) = (&element, is_single)
                && self.diagnostics.reports() == reports
            {
                alike = Some(*instance);
            }
            match element {
                Some(element) => part.elements.push(element),
                None => {
                    part.faulty = true;
                    self.faulty.push(path);
                    break;
                }
            }
        }
        part
    }

    /// An element that is set as an earlier one of its array: it differs in its path alone.
    fn twin(&mut self, first: usize, path: String) -> Element {
        self.unfolded += 1;
        self.flat.instances.push(FlatInstance { path, ..self.flat.instances[first].clone() });
        Element::Component(self.flat.instances.len() - 1)
    }

    fn count(&mut self, node: &Node, environment: &Environment) -> Option<usize> {
        let value = expression::substitute(node, environment, self.diagnostics)?;
        let mut reader = Reader::new(&self.catalogue.families, self.diagnostics);
        let count = usize::from_node(&value, &mut reader)?;
        let most = MOST_INSTANCES.saturating_sub(self.unfolded);
        if count > most {
            let diagnostic = Diagnostic::new(node.span, format!("{count} are too many"));
            self.diagnostics
                .report(diagnostic.help(format!("a machine has at most {MOST_INSTANCES} components")));
            return None;
        }
        Some(count)
    }

    fn element(
        &mut self,
        entry: &ComponentEntry,
        path: &str,
        environment: &Environment,
        clocks: &Clocks,
        settings: &[Override],
    ) -> Option<Element> {
        self.unfolded += 1;
        if self.unfolded > MOST_INSTANCES || self.within.len() > DEEPEST {
            let message = format!("a machine has at most {MOST_INSTANCES} components, nested {DEEPEST} deep");
            self.diagnostics.error(entry.key.span, message);
            return None;
        }
        match &entry.body {
            Body::Module { module: name, with, set } => {
                let text = name.as_scalar().unwrap_or_default();
                let parts = self.parts;
                let Some(module) = parts.modules.get(text) else {
                    if !parts.complete {
                        return None;
                    }
                    let diagnostic = Diagnostic::new(name.span, format!("unknown module `{text}`"));
                    let names: Vec<&str> = parts.modules.keys().map(String::as_str).collect();
                    let none = names.is_empty().then_some("name its file under `include:`");
                    let mut diagnostic = diagnostic.suggest(text, names);
                    diagnostic.help = diagnostic.help.or(none.map(str::to_owned));
                    self.diagnostics.report(diagnostic);
                    return None;
                };
                if self.within.contains(&module.name) {
                    let message = format!("`{}` contains itself", module.name);
                    self.diagnostics.error(name.span, message);
                    return None;
                }
                let overlays =
                    with.and_then(|place| parts.of_parts.get(&place)).map_or(&[][..], Vec::as_slice);
                let mut inside = self.layers.open(overlays, path, module, environment, self.diagnostics);
                for (key, value) in set {
                    if let Some(value) = expression::substitute(value, environment, self.diagnostics) {
                        inside.push(Override::new(key, value));
                    }
                }
                inside.extend_from_slice(settings);
                let changes = self.layers.changes(&module.name, path);
                let single = parts.single.at(path, module, &changes, &mut self.lost, self.diagnostics);
                let module = single.as_ref().unwrap_or(module);
                if !parts.single.is_empty() || !self.layers.0.is_empty() {
                    self.seen.push(path.to_owned());
                }
                let scope = self.module(module, path, entry.key.span, inside, clocks);
                for layer in self.layers.close(overlays.len()).filter(|_| parts.complete) {
                    self.lost.extend(layer.nowhere(
                        &self.seen,
                        &self.faulty,
                        &parts.modules,
                        self.diagnostics,
                    ));
                }
                Some(Element::Module(Box::new(scope)))
            }
            Body::Kind { kind, clock, parameters, span } => {
                let mut given = Vec::new();
                for (key, value) in parameters {
                    if let Some(value) = expression::substitute(value, environment, self.diagnostics) {
                        given.push((key.clone(), value));
                    }
                }
                let incomplete = given.len() < parameters.len();
                let mut parameters = Node::map(given, *span);
                let mut clock = clock.clone();
                let mut overridden = Vec::new();
                let known = kind.as_scalar().and_then(|name| self.catalogue.get(name));
                let fields = known.map(|kind| (&kind.fields, kind.moved));
                let mut found = Diagnostics::default();
                for one in open(settings.to_vec(), self.diagnostics) {
                    if one.path[0].name == "clock" && one.path.len() == 1 {
                        clock = Some(one.value);
                    } else if let Some((fields, moved)) = fields {
                        let declared = Declared { fields, moved };
                        let mut setter = Setter {
                            catalogue: self.catalogue,
                            diagnostics: &mut found,
                            overridden: &mut overridden,
                        };
                        setter.set(&mut parameters, &one.path, &one.value, declared, "", one.key);
                    }
                }
                for problem in found.sorted() {
                    self.diagnostics.report(match entry.origin {
                        Origin::Replaced => {
                            problem.note(entry.key.span, "an overlay replaces the component here")
                        }
                        _ => problem,
                    });
                }
                let kind_name = kind.as_scalar().unwrap_or_default();
                let instance = FlatInstance {
                    ports: self.ports(kind_name, &parameters, entry.key.span),
                    path: path.to_owned(),
                    kind: kind_name.to_owned(),
                    kind_span: kind.span,
                    span: entry.key.span,
                    origin: entry.origin,
                    clock: clock.and_then(|clock| clocks::find(&clock, clocks, self.diagnostics)),
                    parameters: Arc::new(parameters),
                    incomplete,
                    overridden: overridden.into(),
                };
                self.flat.instances.push(instance);
                Some(Element::Component(self.flat.instances.len() - 1))
            }
            Body::Unknown => None,
        }
    }

    /// The ports of a component; those of a chosen variant must not bear the name of another one.
    fn ports(&mut self, kind: &str, parameters: &Node, span: Span) -> Arc<[PortInfo]> {
        let ports = self.catalogue.ports(kind, parameters);
        for (at, port) in ports.iter().enumerate() {
            if ports[..at].iter().any(|before| before.name == port.name) {
                let message = format!("two ports of this {kind} are named `{}`", port.name);
                let help = "a chosen variant brings ports of its own along; choose another one";
                self.diagnostics.report(Diagnostic::new(span, message).help(help));
            }
        }
        ports.into()
    }

    /// Reports missing names, and overlays' instances. A name within a missing instance or module is missing
    /// because of it.
    fn missing(&mut self) {
        let mut lost = self.parts.single.nowhere(&self.seen, &self.faulty, self.diagnostics);
        lost.append(&mut self.lost);
        for (path, diagnostic) in std::mem::take(&mut self.flat.missing) {
            let is_lost = |word: &str| lost.iter().any(|lost| lost == word);
            if !path.split(['.', '[', ' ']).any(is_lost) {
                self.diagnostics.report(diagnostic);
            }
        }
    }
}

#[derive(Default)]
struct Settings {
    parameters: Vec<Override>,
    clocks: Vec<Override>,
    parts: BTreeMap<String, Vec<Override>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Key;

    #[test]
    fn a_path_splits_at_dots_outside_brackets() {
        let key = Key { name: "gpu[0].sm.l1d.capacity".to_owned(), span: Span::default() };
        let one = Override::new(&key, Node::scalar("1", Span::default()));
        let names: Vec<&str> = one.path.iter().map(|segment| segment.name.as_str()).collect();
        assert_eq!(names, ["gpu[0]", "sm", "l1d", "capacity"]);
        assert_eq!(one.head(2).name, "gpu[0].sm");
        assert_eq!(one.inner(3).path[0].name, "capacity");
    }
}
