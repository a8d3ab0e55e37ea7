//! Machines as pictures: everything is there once, and nothing lies over anything else.

use std::collections::BTreeMap;

use counterpoint_cli::{FAILURE, SUCCESS};
use counterpoint_framework::topology::Machine;
use counterpoint_framework::topology::picture::{Arrays, Graph, Layout, Metrics, Rect};
use counterpoint_simulation::find::{Sort, list};
use counterpoint_simulation::registry;
use counterpoint_simulation::run::load_machine;

use crate::cli::call;
use crate::support::{request, root};

const METRICS: Metrics = Metrics { title: [9.0, 17.0], text: [7.0, 14.0], stack: 8.0 };

/// All machines, including large and unusual ones.
fn machines() -> Vec<Machine> {
    let names = list(Sort::Machine, &root(), &registry());
    assert!(names.len() >= 11, "the walk found {names:?} only");
    let load = |name: &String| load_machine(&request(name, "", &[]), &registry()).unwrap().machine;
    names.iter().map(load).collect()
}

fn graph(machine: &Machine, arrays: Arrays) -> Graph {
    Graph::new(machine, arrays, |instance| instance.kind == "host/cpu")
}

/// Asserts that numbers are those up to `count`, each once.
#[track_caller]
fn each_once(numbers: impl Iterator<Item = usize>, count: usize) {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..count).collect::<Vec<_>>());
}

#[test]
fn every_component_and_link_is_drawn_once() {
    for machine in machines() {
        for arrays in [Arrays::Together, Arrays::Apart] {
            let graph = graph(&machine, arrays);
            each_once(graph.parts.iter().flat_map(|part| part.instances.clone()), machine.instances.len());
            each_once(graph.arrows.iter().flat_map(|arrow| arrow.links.clone()), machine.links.len());
            for (part, found) in graph.parts.iter().enumerate() {
                let path = &machine.instances[found.instances[0]].path;
                let group = &graph.groups[found.group].path;
                assert!(path.starts_with(group.as_str()), "{path} is not in {group}");
                assert!(arrays == Arrays::Together || found.instances == [part]);
            }
            for arrow in &graph.arrows {
                let ends: Vec<[usize; 2]> = arrow
                    .links
                    .iter()
                    .map(|&link| [&machine.links[link].from, &machine.links[link].to].map(|end| end.instance))
                    .collect();
                let within = |end: usize, instance| graph.parts[end].instances.contains(&instance);
                let [a, b] = arrow.ends;
                let there = |[from, to]: &[usize; 2]| within(a, *from) && within(b, *to);
                let back = |[from, to]: &[usize; 2]| within(b, *from) && within(a, *to);
                assert!(ends.iter().all(|ends| there(ends) || back(ends)));
                assert_eq!(arrow.heads, [ends.iter().any(back), ends.iter().any(there)]);
            }
        }
    }
}

#[test]
fn nothing_lies_over_anything_else() {
    for machine in machines() {
        let graph = graph(&machine, Arrays::Together);
        let layout = Layout::new(&graph, &METRICS);
        // Boxes and labels may only have the modules around them in common.
        let labels = layout.routes.iter().map(|route| route.label);
        let all: Vec<Rect> = layout.parts.iter().copied().chain(labels).collect();
        for (index, one) in all.iter().enumerate() {
            assert!(one.width > 0.0 && one.height > 0.0 && layout.groups[0].contains(one));
            let over = all[..index].iter().position(|other| one.overlaps(other));
            assert_eq!(over, None, "{}: {index}: {one:?}", machine.name);
        }
        for (group, rect) in layout.groups.iter().enumerate() {
            for (other, inner) in layout.groups.iter().enumerate().skip(group + 1) {
                let within = graph.groups[other].path.starts_with(&graph.groups[group].path);
                assert!(
                    if within { rect.contains(inner) } else { !rect.overlaps(inner) },
                    "{}",
                    machine.name
                );
            }
            for (part, inner) in graph.parts.iter().zip(&layout.parts) {
                let own = part.group == group;
                assert!(!own || rect.contains(inner), "{}: {}", machine.name, part.name);
            }
        }
        // Arrows pass boxes and labels in places of their own: where they are level, they touch none but their ends.
        for (arrow, route) in graph.arrows.iter().zip(&layout.routes) {
            assert!(route.points.windows(2).all(|pair| pair[0][0] < pair[1][0]), "{:?}", route.points);
            for pair in route.points.windows(2).filter(|pair| pair[0][1] == pair[1][1]) {
                let [[x, y], [end, _]] = [pair[0], pair[1]];
                let line = Rect { x, y: y - 0.5, width: end - x, height: 1.0 };
                for (part, rect) in layout.parts.iter().enumerate() {
                    let own = arrow.ends.contains(&part);
                    assert!(own || !rect.overlaps(&line), "{}: {:?}", machine.name, arrow.labels);
                }
            }
        }
    }
}

#[test]
fn arrays_and_sockets_are_told_in_words() {
    let machine = load_machine(&request("tiny", "", &["gpu.sms=16"]), &registry()).unwrap().machine;
    let graph = graph(&machine, Arrays::Together);
    let place: BTreeMap<String, usize> =
        graph.parts.iter().enumerate().map(|(place, part)| (part.title(), place)).collect();
    let arrow = |a: &str, b: &str| {
        let found = graph.arrows.iter().find(|arrow| arrow.ends == [place[a], place[b]]);
        found.unwrap_or_else(|| panic!("there is no arrow from {a} to {b}"))
    };
    assert_eq!(arrow("scheduler", "sm × 16").labels, ["16 × 8 cycles"]);
    assert_eq!(arrow("network", "l2 × 4").heads, [true, true]);
    assert_eq!(arrow("bridge", "pcie").labels, ["1 cycle"]);
    assert_eq!(graph.parts[place["pcie"]].rates, ["bandwidth 15.75 GB/s"]);
    assert_eq!(graph.parts[place["sm × 16"]].kind, "gpu/sm");
}

#[test]
fn a_link_has_its_bandwidth_its_ways_and_its_faults_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.yaml");
    let text = std::fs::read_to_string(root().join("topologies/systems/tiny.yaml")).unwrap();
    let modules = root().join("topologies/modules").display().to_string();
    let text = text.replace("../modules", &modules).replace(
        "- pcie.downstream -> gpu.bus",
        "- { from: pcie.downstream, to: gpu.bus, latency: 5 ns, back: 7 ns, bandwidth: 2 GB/s }\nfaults:\n  - { to: \"gpu.sm[0].memory\", fault: drop, nth: 5 }",
    );
    std::fs::write(&file, text).unwrap();
    let called = call(&["graph", &file.to_string_lossy(), "--svg"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    assert!(called.out.contains(">5 ns there, 7 ns back, 2 GB/s</text>"), "{}", called.out);
    assert!(called.out.contains(">8 cycles, with faults</text>"), "{}", called.out);
}

#[test]
fn the_command_draws_and_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tiny.svg");
    let printed = call(&["graph", "tiny", "--svg"]);
    assert_eq!((printed.status, printed.err.as_str()), (SUCCESS, ""));
    let written = call(&["graph", "tiny", "--svg", "--out", &file.to_string_lossy()]);
    assert_eq!((written.status, written.out.as_str()), (SUCCESS, ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), printed.out);
    let machine = load_machine(&request("tiny", "", &[]), &registry()).unwrap().machine;
    let graph = graph(&machine, Arrays::Together);
    let count = |class: &str| printed.out.matches(&format!("<g class=\"{class}\">")).count();
    let expected = (graph.parts.len(), graph.arrows.len(), graph.groups.len());
    assert_eq!((count("component"), count("link"), count("module")), expected);
    assert!(printed.out.contains(">sm × 2</text>") && printed.out.contains(">2 × 8 cycles</text>"));

    let dot = call(&["graph", "tiny", "--dot"]).out;
    assert!(
        dot.contains("label=\"sm × 2\\ngpu/sm\"") && dot.contains("dir=both, label=\"2 × 8 cycles\""),
        "{dot}"
    );
    assert_eq!(dot.matches("subgraph").count() + 1, graph.groups.len(), "{dot}");
    let nowhere = call(&["graph", "tiny", "--dot", "--out", "/no/such/folder/tiny.dot"]);
    assert_eq!(nowhere.status, FAILURE);
    assert!(nowhere.err.contains("cannot write `/no/such/folder/tiny.dot`"), "{}", nowhere.err);
}
