//! User errors that only the run can see: a clear error with its place, exit status 2, nothing that looks
//! complete.

use std::path::Path;

use counterpoint_cli::{FAILURE, NOT_VERIFIED, SUCCESS};

use crate::cli::{Called, application, call, tiny};
use crate::support::{refusal, request, root};

/// Runs `vecadd` on the tiny machine after changing its YAML and PTX.
fn run_changed(folder: &Path, change: impl Fn(String) -> String, ptx: impl Fn(String) -> String) -> Called {
    let app = application(folder, "vecadd");
    let kernel = folder.join("kernel.nvrtc-sm_35.ptx");
    std::fs::write(&app, change(std::fs::read_to_string(&app).unwrap())).unwrap();
    std::fs::write(&kernel, ptx(std::fs::read_to_string(&kernel).unwrap())).unwrap();
    let out = folder.join("out").to_string_lossy().into_owned();
    call(&["run", &tiny(), &app, "--set", "app.n=1024", "--out", &out])
}

#[track_caller]
fn assert_fails(called: &Called, folder: &Path, words: &[&str]) {
    assert_eq!(called.status, FAILURE, "{}{}", called.out, called.err);
    for word in words {
        assert!(called.err.contains(word), "`{word}` is missing in: {}", called.err);
    }
    assert!(!folder.join("out/c.f32").exists(), "no output looks complete");
}

fn same(text: String) -> String {
    text
}

#[test]
fn an_access_beyond_a_buffer_names_block_warp_lane_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let beyond =
        |text: String| text.replace("c, \"${n}\"]", "c, \"${n + 1}\"]").replace("ceil(n /", "ceil((n + 1) /");
    let called = run_changed(folder.path(), beyond, same);
    let words = [
        "gpu.sm[",
        "vecadd#1, block (4, 0, 0), warp 0, lane 0: ",
        "kernel.nvrtc-sm_35.ptx:",
        "right behind the end of `",
    ];
    assert_fails(&called, folder.path(), &words);
}

#[test]
fn the_guide_shows_the_report_of_an_access_out_of_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "bfs");
    // The kernel gets twelve nodes more than there are.
    let text = std::fs::read_to_string(&app).unwrap().replacen("\"${nodes}\"]", "512]", 1);
    std::fs::write(&app, text).unwrap();
    let out = folder.path().join("out").display().to_string();
    let called =
        call(&["run", &tiny(), &app, "--set", "app.nodes=500", "--set", "app.block=128", "--out", &out]);
    assert_eq!(called.status, FAILURE, "{}{}", called.out, called.err);
    let told = called.err.lines().find(|line| line.starts_with("error: ")).unwrap();
    let told = told.replace(&folder.path().display().to_string(), "bfs");
    let guide = std::fs::read_to_string(root().join("tools/GUIDE.md")).unwrap().replace('\n', " ");
    assert!(guide.contains(&told), "{told}");
}

#[test]
fn a_misaligned_access_is_found_where_it_happens() {
    let folder = tempfile::tempdir().unwrap();
    let moved = |text: String| {
        let load = text.lines().find(|line| line.contains("ld.global")).expect("a load").to_owned();
        text.replace(&load, &load.replace("];", "+2];"))
    };
    let called = run_changed(folder.path(), same, moved);
    assert_fails(
        &called,
        folder.path(),
        &[
            "vecadd#1, block (",
            // All warps access the wrong address. Warp 7 is the first: 32 parameters of other warps wait for the constant
            // cache's line and reach registers one by one, and two parameters of warp 7 hit the line.
            "warp 7, lane 0: ",
            "kernel.nvrtc-sm_35.ptx:44, `ld.global.f32 ",
            "`: address 0x",
            "is not a multiple of the 4 bytes accessed",
        ],
    );
}

#[test]
fn an_unknown_instruction_and_a_broken_line_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let broken = |text: String| text.replacen("add.f32", "frobnicate.f32", 1).replacen("ret;", "ret", 1);
    let called = run_changed(folder.path(), same, broken);
    assert_fails(&called, folder.path(), &["kernel.nvrtc-sm_35.ptx:"]);
    assert!(!folder.path().join("out").exists(), "the run did not begin");
    let folder = tempfile::tempdir().unwrap();
    let unknown = |text: String| text.replacen("add.f32", "frobnicate.f32", 1);
    let called = run_changed(folder.path(), same, unknown);
    assert_fails(&called, folder.path(), &["frobnicate"]);
}

#[test]
fn grids_and_blocks_that_cannot_be_launched_are_refused() {
    for (change, words) in [
        ("grid: 0", "grid"),
        ("grid: [1, 1, 1, 1]", "grid"),
        ("block: 1025", "1024"),
        ("block: [1024, 2]", "1024"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (key, _) = change.split_once(':').unwrap();
        let replace = |text: String| {
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(&format!("{key}:")))
                .unwrap()
                .to_owned();
            let indent = &line[..line.len() - line.trim_start().len()];
            text.replace(&line, &format!("{indent}{change}"))
        };
        let called = run_changed(folder.path(), replace, same);
        assert_fails(&called, folder.path(), &[words, "vecadd.yaml:"]);
    }
}

#[test]
fn buffers_that_do_not_fit_the_device_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let out = folder.path().join("out").to_string_lossy().into_owned();
    for level in [&[][..], &["--functional"]] {
        let arguments = ["run", &tiny(), &app, "--set", "app.n=2000000", "--out", &out];
        assert_fails(
            &call(&[&arguments[..], level].concat()),
            folder.path(),
            &["24010752 bytes on device 0, which has room for 16711680"],
        );
    }
}

#[test]
fn a_kernel_that_touches_freed_memory_fails_at_every_level() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let text = std::fs::read_to_string(&app).unwrap();
    let launch = &text[text.find("  - launch:").unwrap()..text.find("copy_out:").unwrap()];
    let twice = text.replace(launch, &format!("{launch}  - free: b\n{launch}"));
    let out = folder.path().join("out").to_string_lossy().into_owned();
    std::fs::write(&app, twice).unwrap();
    for level in [&[][..], &["--functional"]] {
        let arguments = ["run", &tiny(), &app, "--set", "app.n=1000", "--out", &out];
        let words =
            ["vecadd#2, block (", "`: reads 4 bytes at 0x", ", in `b`, which was freed after launch 1"];
        assert_fails(&call(&[&arguments[..], level].concat()), folder.path(), &words);
    }
    std::fs::write(&app, text.replace("copy_out:", "  - free: c\ncopy_out:")).unwrap();
    let called = call(&["run", &tiny(), &app, "--out", &out]);
    assert_fails(&called, folder.path(), &["vecadd.yaml:24:12: error: `c` has been freed before"]);
}

#[test]
fn findings_are_listed_and_change_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "reduction");
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let arguments =
        ["run", &tiny(), &app, "--functional", "--racecheck", "--set", "app.size=small", "--out", &out];
    assert_eq!(call(&arguments).status, SUCCESS);
    let kernel = folder.path().join("kernel.nvrtc-sm_35.ptx");
    let text = std::fs::read_to_string(&kernel).unwrap();
    assert_eq!(text.matches("bar.sync").count(), 1);
    std::fs::write(&kernel, text.replace("bar.sync \t0;", "")).unwrap();
    let called = call(&arguments);
    assert_eq!(called.status, NOT_VERIFIED, "{}{}", called.out, called.err);
    let line = |start: &str| 1 + text.lines().position(|line| line.trim_start().starts_with(start)).unwrap();
    let places = ["st.shared", "ld.shared"].map(|start| format!("kernel.nvrtc-sm_35.ptx:{}, `", line(start)));
    let race =
        called.err.lines().find(|line| line.starts_with("error: race: reduction#1, block (0, 0, 0), warp "));
    let race = race.unwrap_or_else(|| panic!("{}", called.err));
    assert!(places.iter().all(|place| race.contains(place)), "{places:?}: {race}");
    assert!(called.out.contains("  findings     "), "{}", called.out);
}

#[test]
fn files_that_include_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let machine = folder.path().join("m.yaml");
    let text = "counterpoint: 1\nmachine: m\ninclude: [a.yaml]\ncomponents: {}\n";
    std::fs::write(&machine, text).unwrap();
    std::fs::write(folder.path().join("a.yaml"), "counterpoint: 1\nmodule: a\ninclude: [b.yaml]\n").unwrap();
    std::fs::write(folder.path().join("b.yaml"), "counterpoint: 1\nmodule: b\ninclude: [a.yaml]\n").unwrap();
    let called = call(&["check", &machine.to_string_lossy()]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("b.yaml:3:11: error:") && called.err.contains("a.yaml"), "{}", called.err);
}

#[test]
fn five_mistakes_in_a_machine_are_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let machine = folder.path().join("machine.yaml");
    let text = "\
counterpoint: 1
machine: wrong
components:
  cpu: { type: host/cpu }
  bridge: { type: host/root-complex }
  memory: { type: host/memory, bandwidth: 51 GHz }
  input: { type: io/storage, read_bandwith: 500 MB/s }
  output: { type: io/storrage }
links:
  - cpu.input -> memory.devices
  - cpu.memory -> memory.cpu
  - cpu.devices -> bridge.cpu
";
    std::fs::write(&machine, text).unwrap();
    let called = call(&["check", &machine.to_string_lossy()]);
    assert_eq!(called.status, FAILURE);
    let place = format!("{}/", folder.path().display());
    let found = called.err.replace(&place, "");
    assert_eq!(found, include_str!("five_mistakes.txt"));
}

#[test]
fn a_barrier_that_nobody_completes_names_who_waits_where() {
    let folder = tempfile::tempdir().unwrap();
    // A barrier that waits for more threads than the block has.
    let never = |text: String| text.replacen("ret;", "bar.sync 1, 512;\n\tret;", 1);
    let called = run_changed(folder.path(), same, never);
    let words = [
        "error: gpu.sm[",
        "): no warp can go on: warps 0 to 7 wait at barrier 1, which has 256 of 512 threads (",
        "kernel.nvrtc-sm_35.ptx:52, `bar.sync 1, 512;`)",
    ];
    assert_fails(&called, folder.path(), &words);
    assert!(folder.path().join("out/stats.txt").exists(), "what was recorded is there");
}

#[test]
fn what_cannot_run_is_refused_by_check_and_run_alike_before_anything_is_written() {
    const SHARES: &str = ".version 7.8\n.target sm_35\n.address_size 64\n\
        .visible .entry k(.param .u64 a) {\n.shared .align 4 .b8 own[1024];\nret;\n}\n";
    const KEEPS: &str = ".version 7.8\n.target sm_35\n.address_size 64\n\
        .visible .entry k(.param .u64 a) {\n.local .align 4 .b8 own[16384];\nret;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.yaml");
    for (ptx, elements, launch, words) in [
        (
            SHARES,
            64,
            "block: 1024, registers: 128",
            "k.yaml:7:5: error: a block of `k` fits on no SM of `gpu`: it needs 131072 registers, an SM has 32768\n",
        ),
        (
            SHARES,
            64,
            "block: 32, shared: 49152",
            "a block of `k` fits on no SM of `gpu`: it needs 50176 bytes of shared memory, an SM has 49152\n",
        ),
        (
            SHARES,
            6_291_456,
            "block: 32",
            "error: the buffers need 25165824 bytes on device 0, which has room for 16711680\n",
        ),
        (
            KEEPS,
            64,
            "block: 32",
            "error: the buffers and the kernels' code, variables and local memory need ",
        ),
    ] {
        std::fs::write(folder.path().join("k.ptx"), ptx).unwrap();
        let application = format!(
            "counterpoint: 1\napplication: k\ncode: {{ m: k.ptx }}\nbuffers:\n  a: {{ type: f32, elements: {elements} }}\n\
             kernels:\n  - {{ launch: m.k, grid: 1, {launch}, arguments: [a] }}\n"
        );
        std::fs::write(&path, application).unwrap();
        let (path, out) = (path.display().to_string(), folder.path().join("out").display().to_string());
        let check = call(&["check", &tiny(), &path]);
        let run = call(&["run", &tiny(), &path, "--out", &out]);
        for called in [&check, &run] {
            assert_eq!(called.status, FAILURE, "{}{}", called.out, called.err);
            assert!(called.err.contains(words), "`{words}` is missing in: {}", called.err);
        }
        assert_eq!(check.err, run.err);
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn tasks_that_fit_nowhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let path = folder.path().join("t.yaml").display().to_string();
    let ptx = ".version 7.8\n.target sm_35\n.address_size 64\n.visible .entry k(.param .u64 a) {\nret;\n}\n";
    std::fs::write(folder.path().join("k.ptx"), ptx).unwrap();
    let application = "counterpoint: 1\napplication: t\ncode: { m: k.ptx }\nbuffers:\n  a: { type: f32, elements: 64 }\n\
         kernels:\n  - { tasks: 3, index: i, launch: m.k, grid: 1, block: 1024, registers: 128, arguments: [a] }\n";
    std::fs::write(&path, application).unwrap();
    let words = "t.yaml:7:5: error: a block of `k` fits on no SM of `gpu`: it needs 131072 registers, an SM has 32768\n";
    let check = call(&["check", &tiny(), &path]);
    let run = call(&["run", &tiny(), &path, "--out", &out]);
    for called in [&check, &run] {
        assert_eq!(called.status, FAILURE, "{}{}", called.out, called.err);
        assert!(called.err.contains(words), "`{words}` is missing in: {}", called.err);
    }
    assert_eq!(check.err, run.err);
    assert!(!Path::new(&out).exists());
}

#[test]
fn what_is_too_large_for_device_host_or_patience_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let vecadd = application(folder.path(), "vecadd");
    // More than any machine has, copied.
    let text = std::fs::read_to_string(&vecadd).unwrap();
    let terabyte = folder.path().join("terabyte.yaml").display().to_string();
    let copies = "  pad: { type: u8, elements: 1099511627776 }\n  a: { type";
    let copied = text.replacen("  a: { type", copies, 1).replace("copy_in: [a, b]", "copy_in: [pad, a, b]");
    std::fs::write(&terabyte, copied).unwrap();
    for (application, sets, words) in [
        (
            &vecadd,
            &["--set", "app.n=4000000000"][..],
            "error: the buffers need 48000000000 bytes on device 0, which has room for 16711680",
        ),
        (&terabyte, &["--functional", "--set", "gpu.memory=2048 GiB"], " of memory are free on this machine"),
        (&vecadd, &["--set", "gpu.sms=100000"], "error: 100000 are too many"),
    ] {
        let begun = std::time::Instant::now();
        let tiny = tiny();
        let mut arguments = vec!["run", &tiny, application, "--out", &out];
        arguments.extend(sets);
        let called = call(&arguments);
        assert_eq!(called.status, FAILURE, "{sets:?}: {}{}", called.out, called.err);
        assert!(called.err.contains(words), "{sets:?}: {}", called.err);
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{sets:?}: {:?}", begun.elapsed());
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn a_series_of_every_picosecond_is_thinned() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let vecadd = application(folder.path(), "vecadd");
    let (tiny, path) = (tiny(), out.display().to_string());
    let called = call(&["run", &tiny, &vecadd, "--set", "app.n=1024", "--series", "1 ps", "--out", &path]);
    assert_eq!(called.status, SUCCESS, "{}{}", called.out, called.err);
    assert!(called.err.contains("note: the series has a value every "), "{}", called.err);
    let series = std::fs::read_to_string(out.join("series.csv")).unwrap();
    let mut times: Vec<&str> = series.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    times.dedup();
    assert!((100..=1 << 16).contains(&times.len()), "{} times", times.len());
}

#[test]
fn a_wrong_type_or_a_text_that_is_no_ptx_is_all_that_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let types = |text: String| text.replacen("type: f32", "type: float", 1);
    let called = run_changed(folder.path(), types, same);
    assert_fails(&called, folder.path(), &["there is no type `float`", "did you mean `f32`?"]);
    assert_eq!(called.err.matches("error: ").count(), 1, "{}", called.err);
    std::fs::write(folder.path().join("kernel.cu"), "__global__ void vecadd() {}\n").unwrap();
    let code = |text: String| text.replace("kernel.nvrtc-sm_35.ptx", "kernel.cu");
    let folder = folder.path();
    let called = run_changed(folder, code, same);
    assert_fails(
        &called,
        folder,
        &["kernel.cu` is not PTX: it has no `.version`", "`nvcc -ptx` makes PTX of CUDA C"],
    );
    assert_eq!(called.err.matches("error: ").count(), 1, "{}", called.err);
}

#[test]
fn units_that_nothing_can_reach_are_refused() {
    let errors = refusal(&request("tiny", "vecadd", &["gpu.sm.tensor.units=1"]));
    assert!(errors.contains("a sort of units has no operand collector"), "{errors}");
}
