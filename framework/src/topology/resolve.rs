//! A machine back to YAML: everything filled in, no modules left, and beside each overridden value the text that set it,
//! beside each part of an overlay the line that brought it.
//! The output is a machine file that loads to an equal machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::model::{Node, SourceMap, Span, Value};
use crate::time::Latency;

use super::machine::{Instance, Machine, Origin};

/// Prints a machine.
pub fn resolve(machine: &Machine, sources: &SourceMap) -> String {
    let mut printer = Printer { out: String::new(), sources, comments: true };
    printer.machine(machine);
    printer.out
}

/// Prints a machine without the authors of settings: two machines that are the same give the same text.
pub fn resolve_plain(machine: &Machine, sources: &SourceMap) -> String {
    let mut printer = Printer { out: String::new(), sources, comments: false };
    printer.machine(machine);
    printer.out
}

struct Printer<'a> {
    out: String,
    sources: &'a SourceMap,
    comments: bool,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str, comment: Option<&str>) {
        let comment = comment.filter(|_| self.comments);
        let comment = comment.map(|comment| format!("  # {comment}")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{:width$}{text}{comment}", "", width = 2 * depth);
    }

    fn machine(&mut self, machine: &Machine) {
        self.line(0, "counterpoint: 1", None);
        self.line(0, &format!("machine: {}", scalar(&machine.name)), None);
        if let Some(description) = &machine.description {
            self.line(0, &format!("description: {}", scalar(description)), None);
        }
        if let Some(follows) = machine.follows {
            self.line(0, &format!("follows: {}", follows.as_str()), None);
        }
        let mut clocks = BTreeMap::new();
        for instance in &machine.instances {
            if let Some(name) = &instance.clock_name {
                clocks.insert(name.as_str(), (instance.clock, instance.clock_overridden));
            }
        }
        if !clocks.is_empty() {
            self.line(0, "clocks:", None);
        }
        for (name, (frequency, by)) in clocks {
            let by = by.map(|span| self.who("set", span));
            self.line(1, &format!("{}: {frequency}", scalar(name)), by.as_deref());
        }
        if !machine.instances.is_empty() {
            self.line(0, "components:", None);
        }
        let mut rest = machine.instances.as_slice();
        while let Some(first) = rest.first() {
            let (name, count) = array(rest);
            self.instance(first, name, count);
            rest = &rest[count.unwrap_or(1)..];
        }
        let links: Vec<_> =
            machine.links.iter().filter(|link| !link.socket || link.from <= link.to).collect();
        if !links.is_empty() {
            self.line(0, "links:", None);
        }
        for link in links {
            let (from, to) = (machine.path(&link.from), machine.path(&link.to));
            let mut text = format!("- {{ from: \"{from}\", to: \"{to}\"");
            if link.latency != Latency::default() {
                text.push_str(&format!(", latency: {}", link.latency));
            }
            if link.back != link.latency {
                text.push_str(&format!(", back: {}", link.back));
            }
            text.extend(link.capacity.map(|capacity| format!(", capacity: {capacity}")));
            text.extend(link.bandwidth.map(|bandwidth| format!(", bandwidth: {bandwidth}")));
            let by = link.added.map(|span| self.who("added", span));
            self.line(1, &format!("{text} }}"), by.as_deref());
        }
        self.faults(machine);
    }

    /// Every fault with both ends of its link: together they leave no doubt, whatever was written.
    fn faults(&mut self, machine: &Machine) {
        let mut faults =
            machine.links.iter().flat_map(|link| link.faults.iter().map(move |fault| (link, fault)));
        let mut next = faults.next();
        if next.is_some() {
            self.line(0, "faults:", None);
        }
        while let Some((link, fault)) = next {
            let (from, to) = (machine.path(&link.from), machine.path(&link.to));
            let settings: Vec<String> = fault
                .settings()
                .into_iter()
                .map(|(key, value)| format!("{key}: {}", scalar(&value)))
                .collect();
            let text = format!("- {{ from: \"{from}\", to: \"{to}\", {} }}", settings.join(", "));
            self.line(1, &text, None);
            next = faults.next();
        }
    }

    fn instance(&mut self, instance: &Instance, name: &str, count: Option<usize>) {
        let by = match instance.origin {
            Origin::Own => None,
            Origin::Added => Some(self.who("added", instance.span)),
            Origin::Replaced => Some(self.who("replaced", instance.span)),
        };
        self.line(1, &format!("{}:", scalar(name)), by.as_deref());
        self.line(2, &format!("type: {}", scalar(&instance.kind)), None);
        if let Some(count) = count {
            self.line(2, &format!("count: {count}"), None);
        }
        if let Some(clock) = &instance.clock_name {
            self.line(2, &format!("clock: {}", scalar(clock)), None);
        }
        for (key, value) in instance.params.as_map().unwrap_or_default() {
            self.entry(2, &key.name, value, &key.name, (instance, instance.params.span));
        }
    }

    /// A parameter of an instance, in a map with the given place.
    fn entry(
        &mut self,
        depth: usize,
        name: &str,
        value: &Node,
        path: &str,
        (instance, map): (&Instance, Span),
    ) {
        let by = instance.overridden.iter().rev().find(|(overridden, _)| overridden == path);
        // A value that is neither in the component's own entry nor, as a default, for the whole map came
        // through a parameter of the module.
        let own = instance.params.span;
        let inside =
            value.span.file == own.file && value.span.start >= own.start && value.span.end <= own.end;
        let leaf = value.as_map().is_none_or(<[_]>::is_empty);
        let moved = leaf && !inside && value.span != map;
        let by = by.map(|(_, span)| *span).or(moved.then_some(value.span)).map(|span| self.who("set", span));
        let name = scalar(name);
        match value.as_map().filter(|entries| !entries.is_empty()) {
            Some(entries) => {
                self.line(depth, &format!("{name}:"), by.as_deref());
                for (key, inner) in entries {
                    let path = format!("{path}.{}", key.name);
                    self.entry(depth + 1, &key.name, inner, &path, (instance, value.span));
                }
            }
            None => self.line(depth, &format!("{name}: {}", flow(value)), by.as_deref()),
        }
    }

    /// The author of a text that had an effect: file and line, or the setting itself.
    fn who(&self, did: &str, span: Span) -> String {
        let place = self.sources.place(span);
        if place.argument {
            return format!("{did} by {}", place.name);
        }
        format!("{did} by {}:{}", place.name, place.line)
    }
}

/// The name and length of the array of equal components at the beginning of a list; only the name for a single component.
fn array(instances: &[Instance]) -> (&str, Option<usize>) {
    let first = &instances[0];
    let Some(name) = first.path.strip_suffix("[0]") else { return (&first.path, None) };
    let alike = |index: usize, instance: &Instance| {
        instance.path.strip_prefix(name).is_some_and(|rest| rest == format!("[{index}]"))
            && instance.kind == first.kind
            && instance.clock_name == first.clock_name
            && (Arc::ptr_eq(&instance.params, &first.params) || instance.params.same(&first.params))
    };
    let count = instances.iter().enumerate().take_while(|(index, instance)| alike(*index, instance)).count();
    let array = instances.iter().filter(|instance| {
        instance.path.strip_prefix(name).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']'))
    });
    // An array with unequal elements, which only dotted names can make, is written element by element.
    if array.count() == count { (name, Some(count)) } else { (&first.path, None) }
}

/// A value on one line, as YAML reads it back.
pub fn flow(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Scalar { text, .. } => scalar(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar(&key.name), flow(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A text as a YAML scalar, in quotes where it could be read as something else.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ./_-+%".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    let reserved = text == "null" || text.starts_with("...") || text.ends_with(' ');
    if begins && !reserved && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c) || c == '\u{feff}' => {
                out.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
