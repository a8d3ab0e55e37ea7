//! Last pass: checks whether the flat machine can be built. Reads every parameter, compares the two ends of every link,
//! counts the links of every port, and puts everything in an order that does not depend on the order of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::families::FamilyId;
use crate::model::params::{default_node, with_rest};
use crate::model::ports::{PortInfo, PortShape};
use crate::model::{
    Catalogue, Diagnostic, Diagnostics, Families, Field, Key, Node, ReadParams, Reader, Span, TypeInfo, Value,
};
use crate::time::Hertz;

use super::faults;
use super::flat::{Flat, FlatInstance, Leaf, Wire};
use super::machine::{Endpoint, Instance, Link, Machine, Origin, port_path};
use super::patch::caused;
use crate::telemetry::natural;

/// The clock of a component that names none.
const DEFAULT_CLOCK: Hertz = Hertz::new(1_000_000_000);

/// Checks a flat machine. The result is a machine only if nothing was reported.
pub(super) fn check(flat: &Flat, catalogue: &Catalogue, diagnostics: &mut Diagnostics) -> Machine {
    let mut order: Vec<usize> = (0..flat.instances.len()).collect();
    order.sort_by(|&a, &b| natural(&flat.instances[a].path, &flat.instances[b].path));
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &instance)| rank[instance] = place);
    let mut read = BTreeMap::new();
    let instances: Vec<Instance> =
        order.iter().map(|&at| instance(&flat.instances[at], catalogue, &mut read, diagnostics)).collect();
    unique(flat, &order, diagnostics);
    let mut checker = Checker {
        flat,
        diagnostics,
        uses: BTreeMap::new(),
        joined: BTreeMap::new(),
        repeated: BTreeSet::new(),
        mismatched: BTreeSet::new(),
        unsuited: flat.unsuited.clone(),
    };
    let mut links = Vec::new();
    for wire in &flat.wires {
        checker.wire(wire, &rank, &mut links);
    }
    checker.ports(&order);
    links.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    let mut senders: BTreeMap<Endpoint, u32> = BTreeMap::new();
    for link in &mut links {
        let next = senders.entry(link.to.clone()).or_default();
        link.sender_index = *next;
        *next += 1;
    }
    faults::attach(&flat.faults, &instances, &mut links, catalogue, diagnostics);
    Machine {
        name: flat.name.clone(),
        description: flat.description.clone(),
        follows: flat.follows,
        instances,
        links,
    }
}

/// Dotted names can spell the path of a part of a module.
fn unique(flat: &Flat, order: &[usize], diagnostics: &mut Diagnostics) {
    for pair in order.windows(2) {
        let (first, second) = (&flat.instances[pair[0]], &flat.instances[pair[1]]);
        if first.path == second.path {
            let diagnostic =
                Diagnostic::new(second.span, format!("two components are named `{}`", second.path));
            diagnostics.report(diagnostic.note(first.span, "the other one"));
        }
    }
}

/// For each kind, the parameters that were read last. Elements of an array follow each other, so that the next element usually has the
/// same ones.
type LastRead<'a> = BTreeMap<&'a str, LastParams<'a>>;

/// Parameters that were read without a problem.
#[derive(Clone)]
struct LastParams<'a> {
    /// As written.
    written: &'a Arc<Node>,
    /// With those that were not written.
    complete: Arc<Node>,
    /// As read.
    read: ReadParams,
}

fn instance<'a>(
    flat: &'a FlatInstance,
    catalogue: &Catalogue,
    last: &mut LastRead<'a>,
    diagnostics: &mut Diagnostics,
) -> Instance {
    let mut params = Arc::clone(&flat.parameters);
    let mut read = None;
    match catalogue.get(&flat.kind) {
        None => {
            let diagnostic = Diagnostic::new(flat.kind_span, format!("unknown kind `{}`", flat.kind));
            let names = catalogue.kinds().map(|kind| kind.name);
            diagnostics.report(diagnostic.suggest(&flat.kind, names));
        }
        Some(kind) => {
            let before = diagnostics.reports();
            let mut found = Diagnostics::default();
            let known = last.get(flat.kind.as_str());
            let shared = known.filter(|known| Arc::ptr_eq(known.written, &params));
            read = match shared.or(known.filter(|known| known.written.same(&params))) {
                Some(known) => Some(known.read.clone()),
                None => (kind.read)(&params, Reader::new(&catalogue.families, &mut found)),
            };
            // A message about a map as a whole would be false for one that lost a parameter on the way.
            let valid = |problem: &Diagnostic| !flat.incomplete || problem.span != params.span;
            found.sorted().into_iter().filter(valid).for_each(|problem| diagnostics.report(problem));
            // Only a map that was read without a problem has a complete form.
            if diagnostics.reports() == before {
                params = match shared {
                    Some(shared) => Arc::clone(&shared.complete),
                    None => Arc::new(complete(&params, &kind.fields, &catalogue.families)),
                };
            }
            if let Some(read) = read.clone().filter(|_| found.reports() == 0) {
                let (written, complete) = (&flat.parameters, Arc::clone(&params));
                last.insert(&flat.kind, LastParams { written, complete, read });
            }
        }
    }
    Instance {
        path: flat.path.clone(),
        kind: flat.kind.clone(),
        role: catalogue.get(&flat.kind).map_or("", |kind| kind.role),
        clock_name: flat.clock.as_ref().map(|clock| clock.path.clone()),
        clock: flat.clock.as_ref().map_or(DEFAULT_CLOCK, |clock| clock.frequency),
        clock_overridden: flat.clock.as_ref().and_then(|clock| clock.overridden),
        params,
        read,
        overridden: Arc::clone(&flat.overridden),
        span: flat.span,
        origin: flat.origin,
    }
}

/// A map with every declared parameter, in the order of declaration; a parameter without any value is left
/// out.
fn complete(node: &Node, fields: &[Field], families: &Families) -> Node {
    let mut entries = Vec::new();
    for field in fields {
        let written = node.as_map().unwrap_or_default().iter().find(|(key, _)| key.name == field.name);
        let (span, value) = match (written, field.default) {
            (Some((key, value)), default) => {
                let whole = default.and_then(|default| with_rest(value, &field.kind, default));
                (key.span, whole.unwrap_or_else(|| value.clone()))
            }
            (None, Some(default)) => (node.span, default_node(default, node.span)),
            (None, None) => continue,
        };
        if value.value == Value::Null && !field.required && field.default.is_none() {
            continue;
        }
        let key = Key { name: field.name.to_owned(), span };
        entries.push((key, complete_value(value, &field.kind, families)));
    }
    Node::map(entries, node.span)
}

fn complete_value(node: Node, kind: &TypeInfo, families: &Families) -> Node {
    if kind.list
        && let Value::List(items) = node.value
    {
        let element = TypeInfo { list: false, ..kind.clone() };
        let items = items.into_iter().map(|item| complete_value(item, &element, families)).collect();
        return Node { span: node.span, value: Value::List(items) };
    }
    if let Some(family) = kind.family.filter(|_| !kind.every) {
        return complete_choice(node, family, families);
    }
    let fields = families.fields_of(kind);
    if fields.is_empty() { node } else { complete(&node, &fields, families) }
}

/// A chosen variant with all its parameters, or only its name if it has none.
fn complete_choice(node: Node, family: FamilyId, families: &Families) -> Node {
    let (name, span, params) = match node.value {
        Value::Scalar { text, .. } => (text, node.span, Node { span: node.span, value: Value::Null }),
        Value::Map(mut entries) if entries.len() == 1 => {
            let (key, params) = entries.remove(0);
            (key.name, key.span, params)
        }
        value => return Node { value, ..node },
    };
    let variant = families.variants(family).find(|variant| variant.name == name);
    let fields = variant.map_or(&[][..], |variant| &variant.fields);
    let params = complete(&params, fields, families);
    if params.as_map().is_none_or(<[_]>::is_empty) {
        return Node::scalar(name, span);
    }
    Node::map(vec![(Key { name, span }, params)], node.span)
}

/// The texts that join a port to something, by index in an array of ports.
type Uses = BTreeMap<Option<u32>, Vec<Span>>;

/// An end of a link: component, port, index.
type End<'a> = (usize, &'a str, Option<u32>);

struct Checker<'a> {
    flat: &'a Flat,
    diagnostics: &'a mut Diagnostics,
    /// For each port, by index: the texts that join it to something.
    uses: BTreeMap<(usize, &'a str), Uses>,
    /// The place where the two ends of a link were joined first.
    joined: BTreeMap<(End<'a>, End<'a>), Span>,
    /// Lines that occur twice, and lines whose ends do not suit each other: one report serves all their elements.
    repeated: BTreeSet<Span>,
    mismatched: BTreeSet<Span>,
    /// The places where overlays put components that do not suit a link.
    unsuited: BTreeSet<Span>,
}

impl<'a> Checker<'a> {
    fn wire(&mut self, wire: &'a Wire, rank: &[usize], links: &mut Vec<Link>) {
        let (Some(from), Some(to)) = (self.info(&wire.from), self.info(&wire.to)) else { return };
        let name = |leaf: &'a Leaf| (leaf.instance, leaf.port.as_str(), leaf.index);
        let ends = (name(&wire.from), name(&wire.to));
        let before = self.joined.get(&ends).copied();
        if let Some(first) = before {
            if self.repeated.insert(wire.span) {
                let (from, to) = (self.path(&wire.from), self.path(&wire.to));
                let diagnostic =
                    Diagnostic::new(wire.span, format!("`{from}` and `{to}` have this link already"));
                self.diagnostics.report(diagnostic.note(first, "the first one"));
            }
        } else {
            self.joined.insert(ends, wire.span);
            for leaf in [&wire.from, &wire.to] {
                let by_index = self.uses.entry((leaf.instance, leaf.port.as_str())).or_default();
                by_index.entry(leaf.index).or_default().push(leaf.span);
            }
        }
        if let Err(diagnostic) = self.suits(wire, &from, &to) {
            if self.mismatched.insert(wire.span) {
                let ends = [&wire.from, &wire.to].map(|leaf| &self.flat.instances[leaf.instance]);
                let replaced = ends.into_iter().find(|end| end.origin == Origin::Replaced);
                let replaced = replaced.filter(|_| !wire.added).map(|instance| instance.span);
                self.unsuited.extend(replaced);
                self.diagnostics.report(caused(*diagnostic, replaced));
            }
            return;
        }
        let end = |leaf: &Leaf| Endpoint {
            instance: rank[leaf.instance],
            port: leaf.port.clone(),
            index: leaf.index,
        };
        let socket = matches!(from.shape, PortShape::Socket { .. });
        if let (false, Some((_, span))) = (socket, wire.back)
            && self.mismatched.insert(wire.span)
        {
            let diagnostic = Diagnostic::new(span, "a link of one direction has no way back");
            self.diagnostics.report(diagnostic.help("`back` is for sockets, which join both directions"));
        }
        let link = Link {
            from: end(&wire.from),
            to: end(&wire.to),
            latency: wire.latency,
            back: wire.back.map_or(wire.latency, |(back, _)| back),
            capacity: wire.capacity,
            bandwidth: wire.bandwidth,
            sender_index: 0,
            socket,
            faults: Vec::new(),
            added: wire.added.then_some(wire.span),
        };
        if socket {
            let (latency, back) = (link.back, link.latency);
            links.push(Link { from: link.to.clone(), to: link.from.clone(), latency, back, ..link.clone() });
        }
        links.push(link);
    }

    fn info(&self, leaf: &Leaf) -> Option<PortInfo> {
        self.flat.instances[leaf.instance].ports.iter().find(|info| info.name == leaf.port).copied()
    }

    /// Whether the two ends can be joined in this direction.
    fn suits(&self, wire: &Wire, from: &PortInfo, to: &PortInfo) -> Result<(), Box<Diagnostic>> {
        let ends = || (self.path(&wire.from), self.path(&wire.to));
        let fault =
            |span, message: String, help: String| Err(Box::new(Diagnostic::new(span, message).help(help)));
        match (from.shape, to.shape) {
            (PortShape::Out(sent), PortShape::In(received)) if sent.id == received.id => Ok(()),
            (PortShape::Socket { sends: a, receives: b }, PortShape::Socket { sends: c, receives: d })
                if a.id == d.id && b.id == c.id =>
            {
                Ok(())
            }
            (PortShape::In(_), PortShape::Out(_)) => {
                let (left, right) = ends();
                fault(
                    wire.from.span,
                    format!("`{left}` is an input and `{right}` an output"),
                    format!("turn the link round: `{right} -> {left}`"),
                )
            }
            (PortShape::Out(_), PortShape::Out(_)) => {
                fault(wire.to.span, "both ends are outputs".into(), self.both(wire, from, to))
            }
            (PortShape::In(_), PortShape::In(_)) => {
                fault(wire.from.span, "both ends are inputs".into(), self.both(wire, from, to))
            }
            _ => {
                let (left, right) = ends();
                let message = format!("`{left}` and `{right}` do not suit each other");
                fault(wire.to.span, message, self.both(wire, from, to))
            }
        }
    }

    fn both(&self, wire: &Wire, from: &PortInfo, to: &PortInfo) -> String {
        let one = |leaf: &Leaf, info: &PortInfo| {
            let what = match info.shape {
                PortShape::In(message) => format!("receives {}", message.name),
                PortShape::Out(message) => format!("sends {}", message.name),
                PortShape::Socket { sends, receives } => {
                    format!("sends {} and receives {}", sends.name, receives.name)
                }
            };
            format!("`{}` of {} {what}", info.name, self.flat.instances[leaf.instance].kind)
        };
        format!("{}; {}", one(&wire.from, from), one(&wire.to, to))
    }

    fn path(&self, leaf: &Leaf) -> String {
        port_path(&self.flat.instances[leaf.instance].path, &leaf.port, leaf.index)
    }

    /// Counts the links of every port.
    fn ports(&mut self, order: &[usize]) {
        let doubtful: BTreeSet<(usize, &str)> =
            self.flat.doubtful.iter().map(|(instance, port)| (*instance, port.as_str())).collect();
        let mut open: BTreeMap<(Span, &str), Vec<String>> = BTreeMap::new();
        // Links under a misspelt key are not read.
        let is_misspelt = self.diagnostics.suggests("links");
        let none = BTreeMap::new();
        for &at in order {
            let instance = &self.flat.instances[at];
            for info in instance.ports.iter() {
                let uses = self.uses.get(&(at, info.name)).unwrap_or(&none);
                let path = |index| port_path(&instance.path, info.name, index);
                if !matches!(info.shape, PortShape::In(_)) {
                    for (index, spans) in uses.iter().filter(|(_, spans)| spans.len() > 1) {
                        let what =
                            if matches!(info.shape, PortShape::Out(_)) { "An output" } else { "A socket" };
                        let diagnostic =
                            Diagnostic::new(spans[1], format!("`{}` has a link already", path(*index)));
                        let help = format!("{} has exactly one link", what.to_lowercase());
                        self.diagnostics.report(diagnostic.help(help).note(spans[0], "the first one"));
                    }
                }
                if doubtful.contains(&(at, info.name)) || self.unsuited.contains(&instance.span) {
                    continue;
                }
                if uses.is_empty() && !info.optional && !is_misspelt {
                    open.entry((instance.span, info.name)).or_default().push(path(None));
                }
                if info.array {
                    gap(uses, &path, self.diagnostics);
                }
            }
        }
        for ((span, _), paths) in open {
            let more = match paths.len() {
                1 => String::new(),
                count => format!(" (and {} more like it)", count - 1),
            };
            let diagnostic = Diagnostic::new(span, format!("`{}` is not connected{more}", paths[0]));
            self.diagnostics.report(diagnostic.help("join it to a port under `links:`"));
        }
    }
}

/// Indices of an array of ports begin at zero and leave none out.
fn gap(uses: &Uses, path: &dyn Fn(Option<u32>) -> String, diagnostics: &mut Diagnostics) {
    for (expected, (index, spans)) in uses.iter().enumerate() {
        let expected = expected as u32;
        if *index != Some(expected) {
            let message = format!("`{}` is linked, but `{}` is not", path(*index), path(Some(expected)));
            let diagnostic = Diagnostic::new(spans[0], message);
            diagnostics.report(diagnostic.help("the indices of a port array run from 0 without a gap"));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Params, SourceMap, yaml};

    /// A set in a set.
    #[derive(Params)]
    struct Inner {
        /// A parameter without a default.
        #[expect(dead_code, reason = "the declaration is what counts")]
        size: u32,
        /// A parameter with a default.
        #[param(default = 2)]
        #[expect(dead_code, reason = "the declaration is what counts")]
        ways: u32,
    }

    /// A set whose default gives what the inner set requires.
    #[derive(Params)]
    struct Outer {
        /// The inner set.
        #[param(default = "{ size: 1 }")]
        #[expect(dead_code, reason = "the declaration is what counts")]
        inner: Inner,
    }

    #[test]
    fn a_set_that_is_written_in_part_has_the_rest_of_its_default() {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let mut parse = |text: &str| {
            let file = sources.add("machine.yaml", text);
            yaml::parse(file, &sources, &mut diagnostics).unwrap()
        };
        let whole = parse("{ inner: { size: 1, ways: 3 } }");
        let part = complete(&parse("{ inner: { ways: 3 } }"), &Outer::fields(), &Families::default());
        assert!(part.same(&whole), "{part:?}");
    }
}
