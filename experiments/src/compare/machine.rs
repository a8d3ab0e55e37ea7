//! Two machines as they were resolved: components, links and faults by path, and the differences within those
//! that both have.

use std::collections::BTreeMap;

use counterpoint_framework::model::Node;
use counterpoint_framework::topology::natural;

use super::change::{Change, differences, dotted, grouped, leaves};

/// Compares two resolved machines.
pub(super) fn compare(a: &Node, b: &Node) -> Vec<Change> {
    let (a, b) = (parts(a), parts(b));
    // A part that only one has is listed once, without its content.
    let only = |own: &BTreeMap<String, MachinePart>, other: &BTreeMap<String, MachinePart>| {
        let lacking = own.iter().filter(|(name, _)| !other.contains_key(*name));
        lacking.map(|(name, part)| (name.clone(), part.sort.clone())).collect()
    };
    let mut changes = Vec::new();
    for (name, part) in &a {
        let Some(other) = b.get(name) else { continue };
        let within = differences(&part.entries, &other.entries);
        changes
            .extend(within.into_iter().map(|change| Change { name: dotted(name, &change.name), ..change }));
    }
    changes.sort_by(|x, y| natural(&x.name, &y.name));
    let mut lacking = differences(&only(&a, &b), &only(&b, &a));
    // Links come and go with their ends.
    lacking.sort_by_key(|change| change.name.contains(ARROW));
    changes.extend(lacking);
    grouped(changes)
}

/// Between the ends of a link.
const ARROW: &str = " -> ";

/// A component, a link, a fault, or another part of a machine.
struct MachinePart {
    /// Sort of the part; for a component, its kind.
    sort: String,
    entries: BTreeMap<String, String>,
}

/// The parts of a machine by name. Arrays are taken apart, so that one with a single element that differs compares with one
/// that has none.
fn parts(machine: &Node) -> BTreeMap<String, MachinePart> {
    let mut found = BTreeMap::new();
    for (key, node) in machine.as_map().unwrap_or_default() {
        match key.name.as_str() {
            "components" => {
                for (path, component) in node.as_map().unwrap_or_default() {
                    found.extend(components(&path.name, component));
                }
            }
            "links" | "faults" => {
                let sort = key.name.trim_end_matches('s');
                for item in node.as_list().unwrap_or_default() {
                    let (name, part) = link(sort, item);
                    let same = |n: &usize| found.contains_key(&numbered(&name, *n));
                    let number = (1..).take_while(same).count() + 1;
                    found.insert(numbered(&name, number), part);
                }
            }
            // The manifest has the name, and nothing depends on a machine's description of itself.
            "counterpoint" | "machine" | "description" => {}
            other => {
                let own = leaves(node).into_iter().map(|(path, text)| (dotted(other, &path), text));
                let rest = found
                    .entry(String::new())
                    .or_insert_with(|| MachinePart { sort: String::new(), entries: BTreeMap::new() });
                rest.entries.extend(own);
            }
        }
    }
    found
}

/// The name of the first, second … of several that have the same.
fn numbered(name: &str, number: usize) -> String {
    match number {
        1 => name.to_owned(),
        number => format!("{name} #{number}"),
    }
}

/// A component, or each of an array.
fn components(path: &str, node: &Node) -> Vec<(String, MachinePart)> {
    let mut entries = leaves(node);
    let count = entries.remove("count").and_then(|count| count.parse::<usize>().ok());
    let sort = entries.get("type").cloned().unwrap_or_default();
    let part = |name: String| (name, MachinePart { sort: sort.clone(), entries: entries.clone() });
    match count {
        None => vec![part(path.to_owned())],
        Some(count) => (0..count).map(|index| part(format!("{path}[{index}]"))).collect(),
    }
}

/// A link or a fault by its ends.
fn link(sort: &str, node: &Node) -> (String, MachinePart) {
    let mut entries = leaves(node);
    let ends = ["from", "to"].map(|end| entries.remove(end).unwrap_or_default());
    let kind = if sort == "fault" { "fault of " } else { "" };
    (format!("{kind}{}", ends.join(ARROW)), MachinePart { sort: sort.to_owned(), entries })
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::model::{Diagnostics, SourceMap, yaml};

    use super::*;

    fn machine(text: &str) -> Node {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let file = sources.add("machine.yaml", text);
        yaml::parse(file, &sources, &mut diagnostics).unwrap()
    }

    #[test]
    fn an_array_compares_with_its_elements_and_links_by_their_ends() {
        let a = machine(
            "machine: a\nclocks: { core: 1 GHz }\ncomponents: { sm: { type: gpu/sm, count: 3, l1: { ways: 4 } } }\n\
             links:\n  - { from: \"sm[0].x\", to: net.a, latency: 8 cycles }\n  - { from: \"sm[1].x\", to: net.b }\n",
        );
        let b = machine(
            "machine: b\nclocks: { core: 2 GHz }\ncomponents:\n  \"sm[0]\": { type: gpu/sm, l1: { ways: 4 } }\n  \
             \"sm[1]\": { type: gpu/sm, l1: { ways: 8 } }\n  net: { type: net/switch }\n\
             links:\n  - { from: \"sm[1].x\", to: net.b }\n  - { from: \"sm[0].x\", to: net.a }\n",
        );
        let text = |text: &str| (text != "-").then(|| text.to_owned());
        let change = |name: &str, a, b| Change { name: name.to_owned(), a: text(a), b: text(b), times: 1 };
        let expected = [
            change("clocks.core", "1 GHz", "2 GHz"),
            change("sm[0].x -> net.a.latency", "8 cycles", "-"),
            change("sm[1].l1.ways", "4", "8"),
            change("net", "-", "net/switch"),
            change("sm[2]", "gpu/sm", "-"),
        ];
        assert_eq!(compare(&a, &b), expected);
        assert_eq!(compare(&a, &a), []);
    }
}
