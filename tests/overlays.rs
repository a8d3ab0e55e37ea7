//! Overlays of single parts, on the machines' own modules and generations, and remarks on overlays that overwrite others.

use std::path::Path;

use counterpoint_framework::topology::{Loaded, Machine};
use counterpoint_simulation::find::{Sort, list};
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{RunRequest, load_machine};

use crate::cli::call;
use crate::support::{assert_verified, request, root, run_request};

fn load(folder: &Path, name: &str, text: &str) -> Loaded {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    load_machine(&request(&path.display().to_string(), "", &[]), &registry()).unwrap()
}

/// A machine of two GPUs, and one of one, from the same lines.
fn machine(parts: &[(&str, &str)], include: &str) -> String {
    let set = "{ sms: 2, controllers: 6, memory: 48 MiB, clocks.core: 700 MHz }";
    let gpu = |(name, with): &(&str, &str)| format!("  {name}: {{ module: gpu, {with}set: {set} }}\n");
    let link = |(at, (name, _)): (usize, &(&str, &str))| {
        format!(
            "  - \"host.bus[{at}] -> pcie[{at}].upstream\"\n  - \"pcie[{at}].downstream -> {name}.bus\"\n"
        )
    };
    let (gpus, links): (String, String) =
        (parts.iter().map(gpu).collect(), parts.iter().enumerate().map(link).collect());
    let count = parts.len();
    format!(
        "counterpoint: 1\nmachine: m\ninclude: [gpu, host{include}]\ncomponents:\n  host: {{ module: host }}\n  \
         pcie: {{ type: io/pcie-link, count: {count} }}\n{gpus}links:\n{links}"
    )
}

/// Kinds, clocks and parameters below a part.
fn below(machine: &Machine, part: &str) -> Vec<(String, String, String)> {
    let parts = machine.instances.iter().filter_map(|one| Some((one.path.strip_prefix(part)?, one)));
    let parts = parts.map(|(path, one)| {
        let without_places = format!("{} {:?}", one.clock, plain(&one.params));
        (path.to_owned(), one.kind.clone(), without_places)
    });
    parts.collect()
}

fn plain(node: &counterpoint_framework::model::Node) -> String {
    match (node.as_map(), node.as_list()) {
        (Some(entries), _) => {
            entries.iter().map(|(key, value)| format!("{}: {{{}}} ", key.name, plain(value))).collect()
        }
        (_, Some(items)) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        _ => node.as_scalar().unwrap_or("null").to_owned(),
    }
}

#[test]
fn each_generation_of_a_machine_is_what_it_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let both = machine(&[("old", "with: fermi, "), ("new", "with: [kepler, cards/kepler], ")], "");
    let both = load(folder.path(), "both.yaml", &both).machine;
    let mut seen = Vec::new();
    for (part, include) in [("old", ", fermi"), ("new", ", kepler, cards/kepler")] {
        let alone = load(folder.path(), "alone.yaml", &machine(&[("gpu", "")], include)).machine;
        let parts = below(&both, part);
        assert_eq!(parts, below(&alone, "gpu"), "{part}");
        assert!(parts.len() > 15, "{} parts", parts.len());
        seen.push(parts);
    }
    assert_ne!(seen[0], seen[1]);
    let run = folder.path().join("both.yaml").display().to_string();
    assert_verified(&run_request(&request(&run, "vecadd-two-devices", &[])));
}

#[test]
fn built_in_machines_need_no_remark() {
    for name in list(Sort::Machine, &root(), &registry()) {
        let loaded = load_machine(&request(&name, "", &[]), &registry()).unwrap();
        assert_eq!(loaded.remarks, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn an_overlay_that_overwrites_another_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, value: &str, include: &str| {
        let path = folder.path().join(format!("{name}.yaml"));
        let text = format!("counterpoint: 1\noverlay: {name}\n{include}set:\n  gpu.sm.l1d.mshrs: {value}\n");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let small = write("small", "16", "");
    let large = write("large", "64", "");
    let same = write("same", "16", "");
    let meant = write("meant", "64", "include: small.yaml\n");
    let remarks = |overlays: [&String; 2]| {
        let overlays = overlays.map(Clone::clone).into();
        let request = RunRequest { overlays, ..request("tiny", "", &[]) };
        load_machine(&request, &registry()).unwrap().remarks
    };
    let told = format!(
        "`gpu.sm.l1d.mshrs`: overlay `large` ({large}:4:3) sets `64` in place of `16`, which overlay `small` ({small}:4:3) sets"
    );
    assert_eq!(remarks([&small, &large]), std::slice::from_ref(&told));
    assert_eq!(remarks([&small, &same]), Vec::<String>::new());
    assert_eq!(remarks([&small, &meant]), Vec::<String>::new());
    let out = folder.path().join("out").display().to_string();
    for command in [&["check", "tiny", "vecadd"][..], &["run", "tiny", "vecadd", "--out", &out]] {
        let called = call(&[command, &["--with", &small, "--with", &large]].concat());
        assert_eq!(called.status, 0, "{}", called.err);
        assert!(called.err.contains(&format!("note: {told}\n")), "{}", called.err);
    }
}
