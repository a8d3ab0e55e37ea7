//! Links of a module to joined ports of component instances: indices ranged over, exports followed.
//!
//! An index is `[*]`, a free name, or arithmetic over free names and parameters. A free index ranges over the array that it indexes
//! alone; if it indexes several arrays, they must be equally long. Between two arrays of ports, which are as long as they are linked,
//! `count` of the link gives the range. Combinations for which another index is outside its array are left out, so `tile[i].east ->
//! tile[i + 1].west` makes a chain.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Catalogue, Diagnostic, Diagnostics, Lacking, Span};

use super::expression::{self, Expression, Names, Number};
use super::flat::{Element, Environment, Flat, FlatInstance, Leaf, Scope, UnfoldedEntry};
use super::medium::{self, Medium};
use super::module::{self, LinkEntry, Text};
use super::patch::caused;

/// More links than this from one line are taken for a mistake.
const MOST_LINKS: u64 = 1 << 20;

/// One end of a link as it was written.
struct Pattern<'s> {
    text: &'s Text,
    part: &'s UnfoldedEntry,
    part_name: Text,
    part_index: Option<Index>,
    port: Text,
    port_index: Option<Index>,
}

struct Index {
    text: Text,
    expression: Option<Expression>,
}

impl Index {
    /// The free index, if that is all there is: `[*]` or `[i]`.
    fn bare(&self, environment: &Environment) -> Option<&str> {
        match &self.expression {
            None => Some("*"),
            Some(expression) => {
                expression.as_name().filter(|name| expression::Scope::node(environment, name).is_none())
            }
        }
    }

    fn free<'a>(&'a self, environment: &'a Environment) -> impl Iterator<Item = &'a str> {
        let star = self.expression.is_none().then_some("*");
        let names = self.expression.iter().flat_map(Expression::names).map(|(name, ..)| name);
        star.into_iter().chain(names.filter(|name| expression::Scope::node(environment, name).is_none()))
    }
}

/// The outside view of a port, from the module in which a link is written.
#[derive(Clone, Copy)]
struct Shape {
    array: bool,
    /// The length of an array, where something other than the links determines it.
    length: Option<usize>,
}

/// The tables that a walk needs.
struct Tables<'a> {
    catalogue: &'a Catalogue,
    instances: &'a [FlatInstance],
}

/// The reason why a port has no shape; nothing where it was reported elsewhere.
type Fault = Option<Box<Diagnostic>>;

/// Checks that the exports of a module name ports that exist.
pub(super) fn exports(scope: &Scope, catalogue: &Catalogue, flat: &mut Flat, diagnostics: &mut Diagnostics) {
    let tables = Tables { catalogue, instances: &flat.instances };
    for text in scope.exports.values() {
        if let Err(Some(fault)) = tables.export(scope, text) {
            let replaced = scope.replaced(text).filter(|replaced| replaced.file != text.span.file);
            flat.unsuited.extend(replaced);
            diagnostics.report(caused(*fault, replaced));
        }
    }
}

/// Unfolds one line of `links:`.
pub(super) fn link(
    entry: &LinkEntry,
    scope: &Scope,
    catalogue: &Catalogue,
    flat: &mut Flat,
    diagnostics: &mut Diagnostics,
) {
    let tables = Tables { catalogue, instances: &flat.instances };
    let mut wires = Vec::new();
    let mut ends = Vec::new();
    let (mut faults, mut doubtful) = (Vec::new(), BTreeSet::new());
    for text in [&entry.from, &entry.to] {
        match pattern(text, scope) {
            Ok(pattern) => ends.push(pattern),
            Err(fault) => {
                // The end that was meant is not called unconnected.
                let meant = fault.as_ref().and_then(|fault| scope.parts.get(fault.suggestion.as_ref()?));
                let port = text.text.rsplit_once('.').map_or("", |(_, port)| port);
                let port = port.split_once('[').map_or(port, |(port, _)| port);
                meant.iter().for_each(|part| tables.doubt(part, port, &mut doubtful));
                faults.extend(fault);
            }
        }
    }
    let before = diagnostics.reports();
    let mut complete = false;
    if let ([from, to], false) = (ends.as_slice(), entry.doubtful) {
        let medium = Medium::read(entry, scope, catalogue, diagnostics);
        let count = medium::value::<u32>(&entry.count, scope, catalogue, diagnostics);
        match tables.join(from, to, count, &scope.environment) {
            Ok(pairs) => {
                complete = true;
                wires.extend(pairs.into_iter().map(|(from, to)| medium.wire(from, to, entry)));
            }
            Err(fault) => faults.extend(fault),
        }
    }
    if !complete || diagnostics.reports() > before {
        for end in &ends {
            let meant = faults.iter().filter_map(|fault| fault.suggestion.as_deref());
            let ports = meant.chain([end.port.text.as_str()]);
            ports.for_each(|port| tables.doubt(end.part, port, &mut doubtful));
        }
    }
    if !faults.is_empty() {
        let mut replaced = [&entry.from, &entry.to].into_iter().filter_map(|end| scope.replaced(end));
        let replaced = replaced.next().filter(|_| !entry.added);
        flat.unsuited.extend(replaced);
        let faults = faults.into_iter().map(|fault| (entry.line(), caused(*fault, replaced)));
        flat.missing.extend(faults);
    }
    flat.doubtful.extend(doubtful);
    flat.wires.extend(wires);
}

/// Takes `part[index].port[index]` apart.
fn pattern<'s>(text: &'s Text, scope: &'s Scope) -> Result<Pattern<'s>, Fault> {
    let fault = |span, message: String| Some(Box::new(Diagnostic::new(span, message)));
    let mut depth = 0;
    let mut dot = None;
    for (at, c) in text.text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            '.' if depth == 0 => dot = Some(at),
            _ => {}
        }
    }
    let Some(dot) = dot else {
        let diagnostic = Diagnostic::new(text.span, format!("`{}` is not a port", text.text));
        return Err(Some(Box::new(diagnostic.help("a port is named `component.port`"))));
    };
    let (left, right) = (text.part(0, dot), text.part(dot + 1, text.text.len()));
    let (part_name, part_index) = match scope.parts.contains_key(&left.text) {
        true => (left, None),
        false => indexed(&left)?,
    };
    let (port, port_index) = indexed(&right)?;
    let Some(part) = scope.parts.get(&part_name.text) else {
        return Err(Some(Box::new(unknown_part(&part_name, scope))));
    };
    let star = |index: &Option<Index>| index.as_ref().is_some_and(|index| index.expression.is_none());
    if star(&part_index) && star(&port_index) {
        let diagnostic = Diagnostic::new(text.span, "an end has one `[*]`");
        return Err(Some(Box::new(diagnostic.help("name the indices, as in `a[i].out[j] -> b[j].in[i]`"))));
    }
    match (&part_index, part.array) {
        _ if part.faulty => Ok(Pattern { text, part, part_name, part_index, port, port_index }),
        (Some(index), false) => Err(fault(index.text.span, format!("`{}` is not an array", part_name.text))),
        (None, true) => {
            let diagnostic = Diagnostic::new(part_name.span, format!("`{}` is an array", part_name.text));
            let help = format!("write `{0}[*]`, or an index such as `{0}[0]` or `{0}[i]`", part_name.text);
            Err(Some(Box::new(diagnostic.help(help))))
        }
        _ => Ok(Pattern { text, part, part_name, part_index, port, port_index }),
    }
}

/// The report on a name that no part has; a path into a module gets the module's exports.
fn unknown_part(name: &Text, scope: &Scope) -> Diagnostic {
    let moved = module::moved(&scope.moved, &name.text, name.span);
    if let Some(moved) = moved {
        return moved;
    }
    let diagnostic = Diagnostic::new(name.span, format!("unknown component `{}`", name.text));
    let first = name.text.split(['.', '[']).next().unwrap_or_default();
    let inside = scope.parts.get(first).and_then(|part| part.elements.first());
    match inside {
        Some(Element::Module(inner)) if first.len() < name.text.len() => {
            let exports: Vec<String> =
                inner.exports.keys().map(|export| format!("`{first}.{export}`")).collect();
            let exports = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
            diagnostic.help(format!("only what `{first}` exports can be joined: {exports}"))
        }
        _ => diagnostic.suggest(&name.text, scope.parts.keys().map(String::as_str)),
    }
}

/// Takes `name[index]` apart.
fn indexed(text: &Text) -> Result<(Text, Option<Index>), Fault> {
    let Some(open) = text.text.rfind('[') else { return Ok((text.clone(), None)) };
    let Some(close) = text.text.rfind(']').filter(|close| *close + 1 == text.text.len() && *close > open)
    else {
        return Err(Some(Box::new(Diagnostic::new(
            text.span,
            format!("`{}` lacks a `]` at its end", text.text),
        ))));
    };
    let (name, inside) = (text.part(0, open), text.part(open + 1, close));
    let expression = match inside.text.as_str() {
        "*" => None,
        expression => {
            let parsed = Expression::parse(expression);
            Some(parsed.map_err(|error| Some(Box::new(error.diagnostic(inside.span, 0))))?)
        }
    };
    Ok((name, Some(Index { text: inside, expression })))
}

/// Parameters and the current values of the free indices.
struct Indices<'a> {
    environment: &'a Environment,
    free: BTreeMap<&'a str, i64>,
}

impl Names for Indices<'_> {
    fn value(&self, name: &str) -> Option<Number> {
        self.free.get(name).map(|&value| Number::whole(value)).or_else(|| self.environment.value(name))
    }

    fn names(&self) -> Vec<&str> {
        self.free.keys().copied().chain(self.environment.names()).collect()
    }
}

impl Indices<'_> {
    fn index(&self, index: &Index) -> Result<i64, Fault> {
        let Some(expression) = &index.expression else {
            return self.free.get("*").copied().ok_or(None);
        };
        let value = expression.evaluate(self);
        let value = value.map_err(|error| Some(Box::new(error.diagnostic(index.text.span, 0))))?;
        value.as_whole().ok_or_else(|| {
            let message = format!("the index is {value}, which is not a whole number");
            Some(Box::new(Diagnostic::new(index.text.span, message)))
        })
    }
}

impl Tables<'_> {
    /// All pairs of ports that a link joins.
    fn join(
        &self,
        from: &Pattern<'_>,
        to: &Pattern<'_>,
        count: Option<u32>,
        environment: &Environment,
    ) -> Result<Vec<(Leaf, Leaf)>, Fault> {
        if from.part.faulty || to.part.faulty {
            return Err(None);
        }
        // An array without elements has ports of no shape, and nothing to join.
        if from.part.elements.is_empty() || to.part.elements.is_empty() {
            return self.empty(from, to);
        }
        let shapes = [from, to].map(|end| self.pattern_shape(end, environment));
        let [from_shape, to_shape] = match shapes {
            [Ok(from), Ok(to)] => [from, to],
            [Err(fault), _] | [_, Err(fault)] => return Err(fault),
        };
        let ends = [(from, from_shape), (to, to_shape)];
        let ranges = ranges(&ends, count, environment)?;
        let mut total = 1u64;
        for range in ranges.values() {
            total = total.saturating_mul(*range as u64);
        }
        if total > MOST_LINKS {
            let message = format!("{total} links from one line are too many");
            return Err(Some(Box::new(Diagnostic::new(from.text.span, message))));
        }
        let mut indices = Indices { environment, free: BTreeMap::new() };
        let mut pairs = Vec::new();
        for mut count in 0..total {
            for (name, range) in &ranges {
                let range = *range as u64;
                indices.free.insert(name, (count % range) as i64);
                count /= range;
            }
            let [from, to] = [self.leaf(from, from_shape, &indices)?, self.leaf(to, to_shape, &indices)?];
            if let (Some(from), Some(to)) = (from, to) {
                pairs.push((from, to));
            }
        }
        if pairs.is_empty() && total > 0 {
            let span = Span { end: from.text.span.end.max(to.text.span.end), ..from.text.span };
            let span = if to.text.span.start < from.text.span.start { from.text.span } else { span };
            return Err(Some(Box::new(Diagnostic::new(span, "no index here lies inside its array"))));
        }
        Ok(pairs)
    }

    /// A link of an array without elements: fine if the other end ranges over nothing too.
    fn empty(&self, from: &Pattern<'_>, to: &Pattern<'_>) -> Result<Vec<(Leaf, Leaf)>, Fault> {
        for pattern in [from, to] {
            let length = pattern.part.elements.len();
            if pattern.part.array && length > 0 {
                let message =
                    format!("`{}` has {length} elements, the other end none", pattern.part_name.text);
                return Err(Some(Box::new(Diagnostic::new(pattern.part_name.span, message))));
            }
        }
        Ok(Vec::new())
    }

    fn pattern_shape(&self, pattern: &Pattern<'_>, environment: &Environment) -> Result<Shape, Fault> {
        let (elements, name) = (&pattern.part.elements, &pattern.part_name.text);
        let fixed = pattern.part_index.as_ref().filter(|index| index.free(environment).next().is_none());
        let none = Indices { environment, free: BTreeMap::new() };
        let at = fixed.map_or(Ok(0), |index| none.index(index))?;
        // An index outside of the array is reported where it is looked up.
        let element = usize::try_from(at).ok().and_then(|at| elements.get(at)).or(elements.first());
        let Some(element) = element else { return Err(None) };
        let shape = self.shape(element, name, &pattern.port)?;
        // Overlays can make the elements of an array of modules unlike.
        for (at, other) in elements.iter().enumerate().filter(|_| fixed.is_none()) {
            let Element::Module(_) = other else { break };
            if self.shape(other, &format!("{name}[{at}]"), &pattern.port)?.array != shape.array {
                let message =
                    format!("`{}` is an array of ports in some of `{name}` only", pattern.port.text);
                return Err(Some(Box::new(Diagnostic::new(pattern.port.span, message))));
            }
        }
        match (&pattern.port_index, shape.array) {
            (Some(index), false) => {
                let message = format!("`{}` is not an array of ports", pattern.port.text);
                Err(Some(Box::new(Diagnostic::new(index.text.span, message))))
            }
            (None, true) => {
                let message = format!("`{}` is an array of ports", pattern.port.text);
                let help =
                    format!("write `{0}[*]`, or an index such as `{0}[0]` or `{0}[i]`", pattern.port.text);
                Err(Some(Box::new(Diagnostic::new(pattern.port.span, message).help(help))))
            }
            _ => Ok(shape),
        }
    }

    /// The shape of a port of an element; `port` is where a fault is reported.
    fn shape(&self, element: &Element, owner: &str, port: &Text) -> Result<Shape, Fault> {
        match element {
            Element::Component(instance) => {
                // An unknown kind is reported where it is named.
                let instance = &self.instances[*instance];
                let kind = self.catalogue.get(&instance.kind).ok_or(None)?;
                let ports = &instance.ports;
                if let Some(info) = ports.iter().find(|info| info.name == port.text) {
                    return Ok(Shape { array: info.array, length: None });
                }
                let message = format!("`{owner}` ({}) has no port `{}`", kind.name, port.text);
                let diagnostic = Diagnostic::new(port.span, message);
                let families = &self.catalogue.families;
                let found = match families.lacking(&kind.fields, &instance.parameters, &port.text) {
                    Some(lacking) => lacks(diagnostic, lacking, &port.text),
                    None => diagnostic.suggest(&port.text, ports.iter().map(|info| info.name)),
                };
                Err(Some(Box::new(found)))
            }
            Element::Module(scope) => match scope.exports.get(&port.text) {
                // A faulty export is reported with its module.
                Some(text) => self.export(scope, text).map_err(|_| None),
                None => {
                    let message = format!("`{owner}` exports no `{}`", port.text);
                    let names = scope.exports.keys().map(String::as_str);
                    Err(Some(Box::new(Diagnostic::new(port.span, message).suggest(&port.text, names))))
                }
            },
        }
    }

    /// The shape of an export: an array if it ranges over an array of parts or exports an array of ports.
    fn export(&self, scope: &Scope, text: &Text) -> Result<Shape, Fault> {
        let pattern = pattern(text, scope)?;
        if pattern.part.faulty {
            return Err(None);
        }
        let length = pattern.part.elements.len();
        let Some(first) = pattern.part.elements.first() else {
            return Ok(Shape { array: true, length: Some(0) });
        };
        let inner = self.shape(first, &pattern.part_name.text, &pattern.port)?;
        let free = |index: &Option<Index>| {
            index.as_ref().is_some_and(|index| index.free(&scope.environment).count() > 0)
        };
        let over_parts = free(&pattern.part_index);
        let fault = |span, message: &str| Err(Some(Box::new(Diagnostic::new(span, message))));
        match &pattern.port_index {
            Some(index) if free(&pattern.port_index) => {
                return fault(index.text.span, "an export names an array of ports without an index");
            }
            Some(index) if !inner.array => return fault(index.text.span, "the port is not an array"),
            None if inner.array && over_parts => {
                return fault(pattern.port.span, "an export has one index, over parts or over ports");
            }
            _ => {}
        }
        if let Some(index) = &pattern.part_index {
            if over_parts && index.bare(&scope.environment).is_none() {
                return fault(index.text.span, "an export ranges with `[*]` over its parts");
            }
            if over_parts {
                return Ok(Shape { array: true, length: Some(length) });
            }
            let indices = Indices { environment: &scope.environment, free: BTreeMap::new() };
            let at = indices.index(index)?;
            if !usize::try_from(at).is_ok_and(|at| at < length) {
                return fault(index.text.span, "the index lies outside its array");
            }
        }
        Ok(if pattern.port_index.is_some() { Shape { array: false, length: None } } else { inner })
    }

    /// The port of a pattern for given indices; `None` if an index is outside its array.
    fn leaf(
        &self,
        pattern: &Pattern<'_>,
        shape: Shape,
        indices: &Indices<'_>,
    ) -> Result<Option<Leaf>, Fault> {
        let mut place = [None, None];
        let limits = [Some(pattern.part.elements.len()), shape.length];
        for (slot, (index, limit)) in
            [&pattern.part_index, &pattern.port_index].into_iter().zip(limits).enumerate()
        {
            let Some(index) = index else { continue };
            let value = indices.index(index)?;
            match u32::try_from(value).ok().filter(|at| limit.is_none_or(|limit| (*at as usize) < limit)) {
                Some(at) => place[slot] = Some(at),
                // Without a free index there is no other value to try: the line is wrong.
                None if index.free(indices.environment).next().is_none() => {
                    let diagnostic =
                        Diagnostic::new(index.text.span, format!("the index {value} lies outside its array"));
                    let help = limit.map(|limit| format!("the length of the array is {limit}"));
                    return Err(Some(Box::new(Diagnostic { help, ..diagnostic })));
                }
                None => return Ok(None),
            }
        }
        let [part, port] = place;
        let Some(element) = pattern.part.elements.get(part.unwrap_or(0) as usize) else { return Ok(None) };
        let found = self.resolve(element, &pattern.port.text, port)?;
        Ok(found.map(|(instance, port, index)| Leaf { instance, port, index, span: pattern.text.span }))
    }

    /// Follows exports down to a component.
    fn resolve(
        &self,
        element: &Element,
        port: &str,
        index: Option<u32>,
    ) -> Result<Option<(usize, String, Option<u32>)>, Fault> {
        let scope = match element {
            Element::Component(instance) => return Ok(Some((*instance, port.to_owned(), index))),
            Element::Module(scope) => scope,
        };
        let text = scope.exports.get(port).ok_or(None)?;
        let pattern = pattern(text, scope)?;
        let indices = Indices { environment: &scope.environment, free: BTreeMap::new() };
        let fixed = |inner: &Option<Index>| match inner {
            Some(inner) if inner.free(&scope.environment).next().is_none() => {
                indices.index(inner).map(|value| u32::try_from(value).ok())
            }
            _ => Ok(None),
        };
        let over_parts =
            pattern.part_index.as_ref().is_some_and(|index| index.bare(&scope.environment).is_some());
        let part = if over_parts { index } else { fixed(&pattern.part_index)? };
        let port =
            if over_parts || pattern.port_index.is_some() { fixed(&pattern.port_index)? } else { index };
        let Some(element) = pattern.part.elements.get(part.unwrap_or(0) as usize) else { return Ok(None) };
        self.resolve(element, &pattern.port.text, port)
    }

    /// Notes all ports that an end may mean, so that they are not called unconnected for want of a faulty link.
    fn doubt(&self, part: &UnfoldedEntry, port: &str, doubtful: &mut BTreeSet<(usize, String)>) {
        for element in &part.elements {
            match element {
                Element::Component(instance) => {
                    doubtful.insert((*instance, port.to_owned()));
                }
                Element::Module(scope) => {
                    if let Some(inner) = scope.exports.get(port).and_then(|text| pattern(text, scope).ok()) {
                        self.doubt(inner.part, &inner.port.text, doubtful);
                    }
                }
            }
        }
    }
}

/// The range of each free index.
fn ranges<'a>(
    ends: &'a [(&'a Pattern<'a>, Shape); 2],
    count: Option<u32>,
    environment: &'a Environment,
) -> Result<BTreeMap<&'a str, usize>, Fault> {
    let mut known: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let mut used: BTreeMap<&str, Span> = BTreeMap::new();
    for (pattern, shape) in ends {
        let part = (&pattern.part_index, Some(pattern.part.elements.len()), &pattern.part_name);
        let port = (&pattern.port_index, shape.length, &pattern.port);
        for (index, length, array) in [part, port] {
            let Some(index) = index else { continue };
            for name in index.free(environment) {
                used.entry(name).or_insert(index.text.span);
            }
            let (Some(length), Some(name)) = (length, index.bare(environment)) else { continue };
            match known.get(name) {
                Some((other, first)) if *other != length => {
                    let message = format!(
                        "arrays of unequal length: `{first}` has {other} elements, `{}` has {length}",
                        array.text
                    );
                    return Err(Some(Box::new(Diagnostic::new(pattern.text.span, message))));
                }
                Some(_) => {}
                None => {
                    known.insert(name, (length, array.text.clone()));
                }
            }
        }
    }
    for (name, span) in used {
        if let (None, Some(count)) = (known.get(name), count) {
            known.insert(name, (count as usize, String::new()));
        } else if !known.contains_key(name) {
            let diagnostic = Diagnostic::new(span, format!("the range of `{name}` is not known"));
            let help = "an index must stand alone in the brackets of an array of components, or the link say `count`";
            let parameters = environment.names();
            let mut diagnostic = diagnostic.help(help);
            diagnostic.suggestion =
                crate::model::diagnostics::nearest(name, parameters.iter().copied()).map(str::to_owned);
            return Err(Some(Box::new(diagnostic)));
        }
    }
    Ok(known.into_iter().map(|(name, (length, _))| (name, length)).collect())
}

/// Adds to a diagnostic the choice of a variant that lacks a port.
fn lacks(diagnostic: Diagnostic, lacking: Lacking, port: &str) -> Diagnostic {
    let Lacking { parameter, place, chosen, variants } = lacking;
    let variants: Vec<String> = variants.iter().map(|name| format!("`{name}`")).collect();
    let help = format!("`{port}` comes with {} of `{parameter}`, which is `{chosen}`", variants.join(" or "));
    match place {
        Some(place) => diagnostic.help(help).note(place, "set here"),
        None => diagnostic.help(help),
    }
}
