//! Properties of any machine text: the order of lines changes nothing, the printed text loads to the same
//! machine, and no text makes the loader panic.

use std::collections::BTreeMap;

use counterpoint_framework::time::{Bytes, BytesPerSecond, Cycles, Hertz, Latency, SimTime};
use counterpoint_framework::topology::expression::{Expression, Number};
use counterpoint_framework::topology::{Link, Loaded, Origin, natural, resolve};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::machines::load_text;

const HEAD: &str = "counterpoint: 1\nmachine: m\ninclude: [gpu.yaml]\nclocks: { slow: 500 MHz }\n";
const COMPONENTS: [&str; 8] = [
    "  host: { type: test/host, clock: slow }",
    "  gpu: { module: gpu, count: 2, set: { cores: 3, core.l1d: { ways: 2 } } }",
    "  root: { type: test/scheduler, policy: { pace: { slots: 8 } } }",
    "  sink: { type: test/sink }",
    "  source: { type: test/source, count: 12 }",
    "  tile: { type: test/tile, count: 4 }",
    "  switch: { type: test/switch }",
    "  leaf: { type: test/sink, count: 4 }",
];
const LINKS: [&str; 8] = [
    "  - host.launches -> root.launches",
    "  - { from: \"root.cores[i]\", to: \"gpu[i].bus\", latency: 500 ns }",
    "  - \"source[i].out -> switch.in[i / 4]\"",
    "  - \"tile[i].east -> tile[i + 1].west\"",
    "  - \"gpu[*].extra -> sink.in\"",
    "  - \"switch.out[i] -> leaf[i].in\"",
    "  - \"tile[3].east -> sink.in\"",
    "  - \"tile[3].east -> tile[0].west\"",
];
const MODULE: &str = "counterpoint: 1
module: gpu
parameters: { cores: { type: count, default: 1, min: 1 } }
clocks: { core: 700 MHz }
components:
  scheduler: { type: test/scheduler, clock: core }
  core: { type: test/core, count: \"${cores}\", clock: core }
  dram: { type: test/memory, capacity: \"${cores * 2} KiB\" }
  extra: { type: test/source }
links:
  - { from: \"scheduler.cores[*]\", to: \"core[*].work\", latency: 8 cycles, capacity: 2 }
  - { from: \"core[i].memory\", to: \"dram.clients[i]\", bandwidth: 1 GB/s }
exports: { bus: scheduler.launches, extra: extra.out }
set: { scheduler.policy: pace, dram.hit_latency: 20 cycles }
";
const OVERLAY: &str = "counterpoint: 1
overlay: o
set: { gpu.tap.threads: 64 }
replace: { sink: { type: test/sink, clock: slow } }
unlink: [\"gpu[*].extra -> sink.in\"]
modules:
  gpu:
    parameters: { hop: { type: cycles, default: 3 cycles } }
    components: { tap: { type: test/core, clock: core } }
    links:
      - { from: extra.out, to: tap.work, latency: \"${hop}\" }
      - \"tap.memory -> dram.clients[cores]\"
instances:
  \"gpu[1]\":
    replace: { dram: { type: test/memory, capacity: 1 MiB } }
    unlink: [extra.out -> tap.work]
    links: [\"scheduler.cores[cores] -> tap.work\", extra.out -> end.in]
    components: { end: { type: test/sink } }
    exports: { end: end.in }
links: [\"root.cores[2] -> gpu[1].end\"]
";
const SETS: [&str; 2] = ["gpu.core.l1d.capacity=8 KiB", "gpu.clocks.core=1.5 GHz"];

fn text(components: &[&str], links: &[&str]) -> String {
    format!("{HEAD}components:\n{}\nlinks:\n{}\n", components.join("\n"), links.join("\n"))
}

fn load(machine: &str, module: &str, sets: &[&str]) -> Result<Loaded, String> {
    load_with(machine, module, None, sets)
}

fn load_with(machine: &str, module: &str, overlay: Option<&str>, sets: &[&str]) -> Result<Loaded, String> {
    let files = [("m.yaml", machine), ("gpu.yaml", module), ("o.yaml", overlay.unwrap_or_default())];
    let files = BTreeMap::from(files.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let overlays: Vec<String> = overlay.iter().map(|_| "o.yaml".to_owned()).collect();
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load_text("m.yaml", &overlays, &sets, &files)
}

/// The links of the sound machine: all but the last, which gives an output a second link.
fn sound() -> &'static [&'static str] {
    &LINKS[..7]
}

#[test]
fn senders_are_ranked_by_natural_order() {
    let machine = load(&text(&COMPONENTS, sound()), MODULE, &SETS).unwrap().machine;
    let into = |to: &str| -> Vec<(u32, String)> {
        let links = machine.links.iter().filter(|link| machine.path(&link.to) == to);
        links.map(|link: &Link| (link.sender_index, machine.path(&link.from))).collect()
    };
    let ranked = |names: &[&str]| -> Vec<(u32, String)> {
        names.iter().enumerate().map(|(rank, name)| (rank as u32, (*name).to_owned())).collect()
    };
    let last = ["source[8].out", "source[9].out", "source[10].out", "source[11].out"];
    assert_eq!(into("switch.in[2]"), ranked(&last));
    assert_eq!(into("sink.in"), ranked(&["gpu[0].extra.out", "gpu[1].extra.out", "tile[3].east"]));
    let sockets = machine.links.iter().filter(|link| link.socket).count();
    assert_eq!(sockets, 2 * 6, "a socket line makes a link each way");
}

#[test]
fn an_overlay_adds_replaces_and_unlinks() {
    let machine = load_with(&text(&COMPONENTS, sound()), MODULE, Some(OVERLAY), &SETS).unwrap().machine;
    let into = |to: &str| {
        let links = machine.links.iter().filter(|link| machine.path(&link.to) == to);
        links.map(|link| machine.path(&link.from)).collect::<Vec<_>>()
    };
    assert_eq!(into("gpu[0].tap.work"), ["gpu[0].extra.out"]);
    assert_eq!(into("gpu[1].tap.work"), ["gpu[1].scheduler.cores[3]"]);
    assert_eq!(into("gpu[1].end.in"), ["gpu[1].extra.out", "root.cores[2]"]);
    assert_eq!(into("sink.in"), ["tile[3].east"]);
    let sink = machine.instances.iter().find(|instance| instance.path == "sink").unwrap();
    assert_eq!((sink.clock, sink.origin), (Hertz::new(500_000_000), Origin::Replaced));
}

#[test]
fn a_second_link_from_an_output_is_found() {
    let report = load(&text(&COMPONENTS, &LINKS), MODULE, &SETS).unwrap_err();
    assert!(report.contains("`tile[3].east` has a link already"), "{report}");
}

/// A printed machine without the comments, which name lines.
fn values(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split("  # ").next().unwrap_or(line)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_lines_does_not_matter(
        components in Just(COMPONENTS.to_vec()).prop_shuffle(),
        links in Just(sound().to_vec()).prop_shuffle(),
    ) {
        let expected = load(&text(&COMPONENTS, sound()), MODULE, &SETS).unwrap();
        let shuffled = load(&text(&components, &links), MODULE, &SETS).unwrap();
        prop_assert_eq!(&shuffled.machine, &expected.machine);
        let printed = resolve(&shuffled.machine, &shuffled.sources);
        let expected_text = resolve(&expected.machine, &expected.sources);
        prop_assert_eq!(values(&printed), values(&expected_text));
        let again = load(&printed, MODULE, &[]).unwrap();
        prop_assert_eq!(&again.machine, &expected.machine);
    }
}

/// The lines that a mask chooses, and the others.
fn split<'l>(lines: &[&'l str], mask: u32) -> (Vec<&'l str>, Vec<&'l str>) {
    let chosen = |at: usize| mask >> at & 1 == 1;
    let these = |wanted| (0..lines.len()).filter(|&at| chosen(at) == wanted).map(|at| lines[at]).collect();
    (these(true), these(false))
}

/// `components` and `links` of a machine or a module as YAML, each line indented.
fn parts(components: &[&str], links: &[&str], indent: &str) -> String {
    let lines = |lines: &[&str]| -> String { lines.iter().map(|line| format!("{indent}{line}\n")).collect() };
    let (components, links) = (lines(components), lines(links));
    format!("{indent}components:\n{components}{indent}links:\n{links}")
}

const MODULE_COMPONENTS: [&str; 4] = [
    "  scheduler: { type: test/scheduler, clock: core }",
    "  core: { type: test/core, count: \"${cores}\", clock: core }",
    "  dram: { type: test/memory, capacity: \"${cores * 2} KiB\" }",
    "  extra: { type: test/source }",
];
const MODULE_LINKS: [&str; 2] = [
    "  - { from: \"scheduler.cores[*]\", to: \"core[*].work\", latency: 8 cycles, capacity: 2 }",
    "  - { from: \"core[i].memory\", to: \"dram.clients[i]\", bandwidth: 1 GB/s }",
];
const MODULE_HEAD: &str =
    "counterpoint: 1\nmodule: gpu\nparameters: { cores: { type: count, default: 1, min: 1 } }
clocks: { core: 700 MHz }\nexports: { bus: scheduler.launches, extra: extra.out }\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_an_overlay_adds_is_as_if_the_module_had_it(mask: u32, one_instance: bool) {
        let module = |components: &[&str], links: &[&str]| format!("{MODULE_HEAD}{}", parts(components, links, ""));
        let whole = load(&text(&COMPONENTS, sound()), &module(&MODULE_COMPONENTS, &MODULE_LINKS), &[]).unwrap();
        let ((components, kept), (links, joined)) = (split(&COMPONENTS, mask), split(sound(), mask >> 8));
        let ((inner, inner_kept), (inner_links, inner_joined)) =
            (split(&MODULE_COMPONENTS, mask >> 16), split(&MODULE_LINKS, mask >> 20));
        let added = parts(&inner, &inner_links, "    ");
        let inside = match one_instance {
            true => format!("instances:\n  \"gpu[0]\":\n{added}  \"gpu[1]\":\n{added}"),
            false => format!("modules:\n  gpu:\n{added}"),
        };
        let overlay = format!("counterpoint: 1\noverlay: rest\n{}{inside}", parts(&components, &links, ""));
        let (machine, module) = (text(&kept, &joined), module(&inner_kept, &inner_joined));
        let patched = load_with(&machine, &module, Some(&overlay), &[]).unwrap();
        prop_assert_eq!(&patched.machine, &whole.machine);
        let printed = resolve(&patched.machine, &patched.sources);
        let again = load(&printed, MODULE, &[]).unwrap();
        prop_assert_eq!(&again.machine, &whole.machine);
    }
}

/// A change to a text that may leave anything behind.
#[derive(Clone, Debug)]
enum Mutation {
    Delete(Index, u8),
    Insert(Index, String),
    Move(Index, Index, u8),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let tokens = [
        "[",
        "]",
        "{",
        "}",
        ":",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "\"",
        "'",
        "*",
        "${",
        "}",
        "${cores}",
        "[*]",
        "[i]",
        "->",
        ".",
        "#",
        "&a",
        "!t",
        "|",
        ">",
        "\t",
        "-1",
        "0",
        "99999999999999999999",
        "é",
        "\u{feff}",
        "\0",
        "set",
        "count",
        "module",
        "gpu",
        " % 0",
        "null",
        "~",
        "/",
        "core",
        "clocks",
        "---\n",
        "?",
        ",",
        "e9",
        "pace",
        "KiB",
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, length)| Mutation::Delete(at, length % 24)),
        (any::<Index>(), proptest::sample::select(tokens.to_vec()))
            .prop_map(|(at, token)| Mutation::Insert(at, token.to_owned())),
        (any::<Index>(), any::<Index>(), any::<u8>()).prop_map(|(from, to, length)| Mutation::Move(
            from,
            to,
            length % 40
        )),
    ]
}

fn mutate(text: &str, mutations: &[Mutation]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for mutation in mutations {
        if text.is_empty() {
            break;
        }
        let length = text.len();
        match mutation {
            Mutation::Delete(at, count) => {
                let at = at.index(length);
                text.drain(at..length.min(at + usize::from(*count)));
            }
            Mutation::Insert(at, token) => {
                let at = at.index(length);
                text.splice(at..at, token.chars());
            }
            Mutation::Move(from, to, count) => {
                let (from, to) = (from.index(length), to.index(length));
                let part = text[from..length.min(from + usize::from(*count))].to_vec();
                text.splice(to..to, part);
            }
        }
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_loader_panic(
        machine in prop::collection::vec(mutation(), 0..5),
        module in prop::collection::vec(mutation(), 0..3),
        overlay in prop::option::of(prop::collection::vec(mutation(), 0..4)),
        set in prop::collection::vec(mutation(), 0..3),
    ) {
        let machine = mutate(&text(&COMPONENTS, sound()), &machine);
        let module = mutate(MODULE, &module);
        let set = mutate(SETS[0], &set);
        let overlay = overlay.map(|overlay| mutate(OVERLAY, &overlay));
        match load_with(&machine, &module, overlay.as_deref(), &[&set]) {
            Err(report) => prop_assert!(report.contains("error: "), "an empty report"),
            Ok(loaded) => {
                let printed = resolve(&loaded.machine, &loaded.sources);
                let again = load(&printed, MODULE, &[]);
                prop_assert!(again.is_ok_and(|again| again.machine == loaded.machine), "{}", printed);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_printed_quantity_reads_back(base: u64) {
        prop_assert_eq!(Bytes::new(base).to_string().parse(), Ok(Bytes::new(base)));
        prop_assert_eq!(Cycles::new(base).to_string().parse(), Ok(Cycles::new(base)));
        prop_assert_eq!(Hertz::new(base).to_string().parse(), Ok(Hertz::new(base)));
        prop_assert_eq!(BytesPerSecond::new(base).to_string().parse(), Ok(BytesPerSecond::new(base)));
        prop_assert_eq!(SimTime::from_ps(base).to_string().parse(), Ok(SimTime::from_ps(base)));
    }

    #[test]
    fn no_text_makes_a_quantity_or_an_expression_panic(text in "[-+*/%(),. 0-9a-zA-Z_é]{0,40}") {
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Latency>();
        let names = BTreeMap::from([("n".to_owned(), Number::whole(i64::MIN))]);
        if let Ok(expression) = Expression::parse(&text) {
            let _ = expression.evaluate(&names).map(|number| number.to_string());
        }
    }

    #[test]
    fn division_floors_and_ceil_covers(a in -10_000i64..10_000, b in 1i64..100) {
        let names = BTreeMap::from([("a".to_owned(), Number::whole(a)), ("b".to_owned(), Number::whole(b))]);
        let value = |text: &str| Expression::parse(text).unwrap().evaluate(&names).unwrap().as_whole().unwrap();
        prop_assert_eq!(value("a / b"), a.div_euclid(b));
        prop_assert_eq!(value("a % b"), a.rem_euclid(b));
        prop_assert_eq!(value("a / b * b + a % b"), a);
        let blocks = value("ceil(a / b)");
        prop_assert!(blocks * b >= a && (blocks - 1) * b < a);
    }

    #[test]
    fn the_natural_order_is_an_order(a in "[a0-2.]{0,6}", b in "[a0-2.]{0,6}", c in "[a0-2.]{0,6}") {
        prop_assert_eq!(natural(&a, &b), natural(&b, &a).reverse());
        prop_assert_eq!(natural(&a, &b).is_eq(), a == b);
        if natural(&a, &b).is_le() && natural(&b, &c).is_le() {
            prop_assert!(natural(&a, &c).is_le());
        }
    }
}
