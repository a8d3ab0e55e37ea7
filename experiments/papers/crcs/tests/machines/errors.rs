//! Cases that CRCS cannot run are refused, with the reason and the remedy.

use std::path::Path;

use counterpoint_cli::{FAILURE, SUCCESS};

use counterpoint_tests::command::call;
use counterpoint_tests::support::{application, root};

use super::{FIFO, PPCS};

/// Asserts that the command fails with these words.
#[track_caller]
fn assert_refused(application: &str, overlay: &str, sets: &[&str], words: &str) {
    let out = tempfile::tempdir().unwrap();
    let machine =
        root().join("experiments/papers/crcs/machines/crcs-64sm-pcie3-ssd.yaml").display().to_string();
    let out = out.path().display().to_string();
    let mut arguments = vec!["run", &machine, application, "--with", overlay, "--out", &out];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let called = call(&arguments);
    assert!(called.err.contains(words), "{}", called.err);
    assert_eq!(called.status, FAILURE);
}

/// The overlay without the lines that begin so.
fn overlay_without(folder: &Path, lines: &[&str]) -> String {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("overlays/crcs-ppcs.yaml");
    let whole = std::fs::read_to_string(whole).unwrap();
    let lacks = |line: &&str| !lines.iter().any(|left_out| line.trim_start().starts_with(left_out));
    let kept: Vec<&str> = whole.lines().filter(lacks).collect();
    assert_eq!(kept.len() + lines.len(), whole.lines().count());
    let file = folder.join("less.yaml");
    std::fs::write(&file, kept.join("\n")).unwrap();
    file.display().to_string()
}

#[test]
fn a_gpu_without_what_crcs_needs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    let small = "app.size=small";
    let less = overlay_without(folder.path(), &["- front.pages ->", "- mmu.owners ->"]);
    assert_refused(&app, &less, &[small], "gpu.front failed at ");
    let words =
        "copies by page and gated launches need an authority over pages: link `pages` to its `control`";
    assert_refused(&app, &less, &[small], words);
    let words = "a gated launch needs an SM with a TLB (tlb.entries)";
    assert_refused(&app, FIFO, &[small, "gpu.sm.tlb.entries=0"], words);
    let less = overlay_without(folder.path(), &["- { from: \"sm[*].translation\""]);
    assert_refused(&app, &less, &[small], "`gpu.mmu.sms` is not connected");
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
        assert_refused(&app, PPCS, &["app.size=small", set], words);
    }
}

#[test]
fn pages_of_two_sizes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    for set in ["gpu.mmu.page=64 KiB", "gpu.sm.tlb.page=64 KiB"] {
        let words = "`page` of the MMU and `tlb.page` of the SMs must be equal";
        assert_refused(&app, PPCS, &["app.size=small", set], words);
    }
}

#[test]
fn textures_surfaces_and_inputs_that_nobody_writes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "laplace");
    let text = std::fs::read_to_string(&app).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from));
        std::fs::write(&app, text.replace(from, to)).unwrap();
    };
    changed("copy_in: [potential]", "copy_in: [potential, next]");
    let words = "`overlapped` copies a page when the CPU has written every word of it, and nothing in the prelude writes `next`";
    assert_refused(&app, PPCS, &["app.size=small"], words);
    let image = "textures:\n  image: { of: potential, size: [\"${n}\", \"${n}\"] }\n";
    changed("kernels:\n", &format!("{image}kernels:\n"));
    let kernel = folder.path().join("kernel.nvrtc-sm_35.ptx");
    let ptx = std::fs::read_to_string(&kernel).unwrap();
    let head = ".address_size 64";
    std::fs::write(&kernel, ptx.replacen(head, &format!("{head}\n.global .texref image;"), 1)).unwrap();
    let words =
        "`overlapped` cannot run an application with textures or surfaces: their accesses are not tracked";
    assert_refused(&app, PPCS, &["app.size=small"], words);
}

#[test]
fn the_command_computes_the_cost() {
    let machine =
        root().join("experiments/papers/crcs/machines/crcs-64sm-pcie3-ssd.yaml").display().to_string();
    let cost = call(&["cost", &machine, "--with", PPCS]);
    assert_eq!(cost.status, SUCCESS, "{}", cost.err);
    for expected in ["1024 B", "3328 B", "68864 B of 64 x (32 + 32 + 48) KiB + 1536 KiB", "0.7726 %"] {
        assert!(cost.out.contains(expected), "{expected} in {}", cost.out);
    }
    let none = call(&["cost", &machine]);
    assert!(
        none.status == FAILURE && none.err.contains("CRCS and PPCS (`--with crcs-ppcs`)"),
        "{}",
        none.err
    );
}

#[test]
fn narrow_tasks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let text = std::fs::read_to_string(&app).unwrap();
    let (head, tail) = text.split_once("kernels:\n  - launch").unwrap();
    std::fs::write(&app, format!("{head}kernels:\n  - tasks: 1\n    index: task\n    launch{tail}")).unwrap();
    assert_refused(&app, FIFO, &["app.size=small"], "`overlapped` cannot run narrow tasks");
}
