//! A machine in Graphviz's language.

use std::fmt::Write;

use counterpoint_framework::kernel::Cut;
use counterpoint_framework::topology::Machine;
use counterpoint_framework::topology::picture::Graph;

/// The modules as clusters within clusters, arrays as one box each.
pub(crate) fn modules(graph: &Graph) -> String {
    let mut out = begin(&graph.name);
    module(graph, 0, 1, &mut out);
    arrows(graph, &mut out);
    out + "}\n"
}

fn module(graph: &Graph, group: usize, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for (number, part) in graph.parts.iter().enumerate().filter(|(_, part)| part.group == group) {
        let lines: Vec<String> =
            [part.title(), part.kind.clone()].into_iter().chain(part.rates.iter().cloned()).collect();
        let _ = writeln!(out, "{indent}n{number} [label={}];", quoted(&lines.join("\n")));
    }
    let within = graph.groups.iter().enumerate().filter(|(_, inner)| inner.parent == Some(group));
    for (number, inner) in within {
        let _ =
            writeln!(out, "{indent}subgraph cluster_{number} {{\n{indent}  label={};", quoted(&inner.name));
        module(graph, number, depth + 1, out);
        let _ = writeln!(out, "{indent}}}");
    }
}

/// A cluster for each island, with every component for itself (a graph whose arrays are apart): the elements of an array may
/// be in several.
pub(crate) fn islands(machine: &Machine, graph: &Graph, cut: &Cut) -> String {
    let mut out = begin(&graph.name);
    let paths: Vec<String> = machine.processes().map(|(path, _)| path).collect();
    for (number, island) in cut.islands.iter().enumerate() {
        let name = quoted(&format!("island {number:03}, thread {}", island.thread));
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={name};");
        for &member in &island.processes {
            // A link's fault injector is no component of the file and has no kind.
            let kind = machine.instances.get(member).map_or("", |instance| instance.kind.as_str());
            let _ = writeln!(out, "    n{member} [label={}];", quoted(&format!("{}\n{kind}", paths[member])));
        }
        out.push_str("  }\n");
    }
    arrows(graph, &mut out);
    out + "}\n"
}

fn begin(name: &str) -> String {
    format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box, fontname=Helvetica];\n", quoted(name))
}

fn arrows(graph: &Graph, out: &mut String) {
    for arrow in &graph.arrows {
        let [a, b] = arrow.ends;
        let way = match arrow.heads {
            [true, true] => "both",
            [true, false] => "back",
            [false, _] => "forward",
        };
        let label = quoted(&arrow.labels.join("\n"));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  n{a} -> n{b} [dir={way}, label={label}];");
    }
}

/// A text in quotes; a line's end is one in the picture, too.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
