//! What cannot be run under CRCS is refused, in words that say why and what to do.

use std::path::Path;

use counterpoint::FAILURE;

use super::{FIFO, PPCS};
use crate::cli::{application, call};
use crate::support::root;

fn named(folder: &str, name: &str) -> String {
    root().join(folder).join(format!("{name}.yaml")).display().to_string()
}

/// Asserts that the command fails with these words.
#[track_caller]
fn assert_refused(machine: &str, application: &str, overlay: &str, sets: &[&str], words: &str) {
    let (overlay, out) = (named("topologies/overlays", overlay), tempfile::tempdir().unwrap());
    let out = out.path().display().to_string();
    let mut arguments = vec!["run", machine, application, "--with", &overlay, "--out", &out];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let called = call(&arguments);
    assert!(called.err.contains(words), "{}", called.err);
    assert_eq!(called.status, FAILURE);
}

fn crcs() -> String {
    named("topologies/systems", "crcs-64sm-pcie3-ssd")
}

/// A machine whose GPU lacks the lines that begin so.
fn machine_without(folder: &Path, lines: &[&str]) -> String {
    let gpu = std::fs::read_to_string(root().join("topologies/modules/gpu.yaml")).unwrap();
    let lacks = |line: &&str| !lines.iter().any(|left_out| line.trim_start().starts_with(left_out));
    let kept: Vec<&str> = gpu.lines().filter(lacks).collect();
    assert_eq!(kept.len() + lines.len(), gpu.lines().count());
    std::fs::write(folder.join("gpu.yaml"), kept.join("\n")).unwrap();
    let tiny = std::fs::read_to_string(named("topologies/systems", "tiny")).unwrap();
    let host = named("topologies/modules", "host");
    let tiny = tiny.replace("../modules/gpu.yaml", "gpu.yaml").replace("../modules/host.yaml", &host);
    let file = folder.join("machine.yaml");
    std::fs::write(&file, tiny).unwrap();
    file.display().to_string()
}

#[test]
fn a_gpu_without_what_crcs_needs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    let small = "app.size=small";
    let machine = machine_without(folder.path(), &["- front.pages ->", "- mmu.owners ->"]);
    let words = "gpu.front failed at ";
    assert_refused(&machine, &app, PPCS, &[small], words);
    let words = "copies and kernels that track their pages need an MMU: link `pages` to its `control`";
    assert_refused(&machine, &app, PPCS, &[small], words);
    let words = "a kernel that tracks its pages needs an SM with a TLB (tlb.entries)";
    assert_refused(&crcs(), &app, FIFO, &[small, "gpu.sm.tlb.entries=0"], words);
    let machine = machine_without(folder.path(), &["- { from: \"sm[*].translation\""]);
    let words = "`gpu.mmu.sms` is not connected";
    assert_refused(&machine, &app, FIFO, &[small], words);
}

#[test]
fn pages_are_powers_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    for (set, words) in [
        ("gpu.mmu.page=5000 B", "page must be a power of two"),
        ("gpu.sm.tlb.page=5000 B", "tlb.page must be a power of two"),
        ("host.memory.dat.page=5000 B", "dat.page must be a power of two"),
    ] {
        assert_refused(&crcs(), &app, PPCS, &["app.size=small", set], words);
    }
}

#[test]
fn pages_of_two_sizes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    for set in ["gpu.mmu.page=64 KiB", "gpu.sm.tlb.page=64 KiB"] {
        let words = "`page` of the MMU and `tlb.page` of the SMs must be equal";
        assert_refused(&crcs(), &app, PPCS, &["app.size=small", set], words);
    }
}

#[test]
fn textures_and_inputs_that_nobody_writes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    let text = std::fs::read_to_string(&app).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from));
        std::fs::write(&app, text.replace(from, to)).unwrap();
    };
    changed("copy_in: [potential]", "copy_in: [potential, next]");
    let words = "`overlapped` copies a page when the CPU has written every word of it, and nothing in the prelude writes `next`";
    assert_refused(&crcs(), &app, PPCS, &["app.size=small"], words);
    let image = "textures:\n  image: { of: potential, size: [\"${n}\", \"${n}\"] }\n";
    changed("kernels:\n", &format!("{image}kernels:\n"));
    let kernel = folder.path().join("kernel.nvrtc-sm_35.ptx");
    let ptx = std::fs::read_to_string(&kernel).unwrap();
    let head = ".address_size 64";
    std::fs::write(&kernel, ptx.replacen(head, &format!("{head}\n.global .texref image;"), 1)).unwrap();
    let words = "`overlapped` cannot run an application with textures: their fetches are not tracked";
    assert_refused(&crcs(), &app, PPCS, &["app.size=small"], words);
}
