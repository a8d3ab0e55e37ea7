//! The same machine and application give the same bits: again, on more threads, with the lines of the file shuffled. That
//! debug and release builds agree too is checked where both are built, in `.ci/run`.

use counterpoint_experiments::run::RunRequest;

use crate::support::{request, root, run_request};

fn hotspot() -> RunRequest {
    let request = request("tiny", "hotspot", &["app.n=40", "app.launches=3"]);
    RunRequest { hash: true, ..request }
}

fn hash(request: &RunRequest) -> u64 {
    run_request(request).report.hash.expect("the hash was asked for")
}

#[test]
fn ten_repeats_and_several_thread_counts_agree() {
    let first = hash(&hotspot());
    for repeat in 1..10 {
        let threads = 1 + repeat % 3;
        assert_eq!(hash(&RunRequest { threads, ..hotspot() }), first, "repeat {repeat}, {threads} threads");
    }
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    for (name, place) in [("gpu", "modules"), ("host", "modules"), ("tiny", "systems")] {
        let text = std::fs::read_to_string(root().join(format!("topologies/{place}/{name}.yaml"))).unwrap();
        let text = text.replace("../modules/", "");
        std::fs::write(folder.path().join(format!("{name}.yaml")), reversed(&text)).unwrap();
    }
    let machine = folder.path().join("tiny.yaml").display().to_string();
    assert_eq!(hash(&RunRequest { machine, ..hotspot() }), hash(&hotspot()));
}

/// The entries of `components:` and of `links:` in reverse.
fn reversed(text: &str) -> String {
    let mut out = String::new();
    let mut entries: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let top = !line.starts_with(' ') && !line.is_empty();
        if top {
            entries.drain(..).rev().for_each(|entry| out.push_str(&entry));
            inside = line.starts_with("components:") || line.starts_with("links:");
        }
        let begins = line.starts_with("  ") && !line.starts_with("   ");
        match entries.last_mut() {
            _ if !inside || top => out.push_str(&format!("{line}\n")),
            Some(entry) if !begins => entry.push_str(&format!("{line}\n")),
            _ => entries.push(format!("{line}\n")),
        }
    }
    entries.drain(..).rev().for_each(|entry| out.push_str(&entry));
    out
}

#[test]
fn reversal_keeps_every_line() {
    let text = std::fs::read_to_string(root().join("topologies/modules/gpu.yaml")).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_ne!(reversed(&text), text);
    assert_eq!(sorted(&reversed(&text)), sorted(&text));
}

#[test]
fn another_run_has_another_hash() {
    let fewer = request("tiny", "hotspot", &["app.n=40", "app.launches=2"]);
    assert_ne!(hash(&RunRequest { hash: true, ..fewer }), hash(&hotspot()));
    let slower =
        request("tiny", "hotspot", &["app.n=40", "app.launches=3", "gpu.sm.shared_latency=27 cycles"]);
    assert_ne!(hash(&RunRequest { hash: true, ..slower }), hash(&hotspot()));
}
