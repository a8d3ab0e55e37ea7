//! The command with the extension, called as people call it.

use std::path::Path;
use std::process::Command;

/// Calls the command in a folder below the repository, and returns its output.
fn call(arguments: &[&str]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let called =
        Command::new(env!("CARGO_BIN_EXE_example-extension")).current_dir(here).args(arguments).output();
    let called = called.unwrap_or_else(|error| panic!("the command does not start: {error}"));
    let [out, err] = [called.stdout, called.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(called.status.success(), "{arguments:?}\n{out}{err}");
    out
}

/// The simulated time of a run, in picoseconds.
fn time(more: &[&str]) -> u64 {
    let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let folder = out.path().display().to_string();
    call(&[&["run", "eight", "hotspot", "--set", "app.size=small", "--out", &folder], more].concat());
    let stats = std::fs::read_to_string(out.path().join("stats.json")).unwrap_or_default();
    let (_, rest) =
        stats.split_once("\"simulated_time\"").unwrap_or_else(|| panic!("no time in {stats:.400}"));
    let digits = rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap_or_else(|error| panic!("no number: {error}"))
}

#[test]
fn the_command_knows_what_the_extension_brings_along() {
    for (what, name) in [
        ("kinds", "example/governor"),
        ("policies", "governed"),
        ("runtimes", "stepwise"),
        ("machines", "eight"),
        ("overlays", "governed"),
        ("studies", "governors"),
    ] {
        assert!(call(&["list", what]).contains(name), "{name}");
    }
    for (kind, name) in [
        ("memory/dram-controller", "reads-first"),
        ("memory/l2-slice", "most-recent"),
        ("memory/cache", "buddy"),
        ("interconnect/network", "one-way-ring"),
    ] {
        assert!(call(&["explain", kind]).contains(name), "{name}");
    }
    assert!(call(&["explain", "gpu/cta-scheduler"]).contains("The number of SMs that may have blocks."));
    assert!(call(&["check", "eight", "hotspot", "--with", "governed"]).contains("1 example/governor"));
    let resolved = call(&["resolve", "eight", "--with", "governed"]);
    assert!(resolved.contains("from: \"gpu.governor.limits\", to: \"gpu.scheduler.governor\""), "{resolved}");
}

#[test]
fn its_parts_run_in_machines_of_the_tree_and_of_its_own() {
    let free = time(&[]);
    assert!(time(&["--with", "governed", "--set", "gpu.governor.interval=20000 cycles"]) > free);
    assert!(time(&["--runtime", "stepwise"]) > free);
    assert_ne!(time(&["--set", "gpu.sm.warp_scheduler=youngest"]), free);
    let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let out = out.path().display().to_string();
    call(&["run", "gtx480", "vecadd", "--with", "governed", "--set", "app.n=1000", "--out", &out]);
}

/// The statistic of a run of two applications, and its hash, under a policy.
fn two(policy: &str, statistic: &str, more: &[&str]) -> (f64, String) {
    let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let folder = out.path().display().to_string();
    let policy = format!("gpu.scheduler.policy={policy}");
    let small = ["--set", "app.size=small", "--set", "gpu.sms=2", "--set", &policy];
    let run = [&["run", "eight", "matmul-tiled", "hotspot", "--hash", "--out", &folder], &small[..]].concat();
    let printed = call(&[&run[..], more].concat());
    let hash = printed.lines().find(|line| line.trim_start().starts_with("hash"));
    let stats = std::fs::read_to_string(out.path().join("stats.txt")).unwrap_or_default();
    let line = stats.lines().find(|line| line.split_whitespace().next() == Some(statistic));
    let value = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    (value.unwrap_or_else(|| panic!("no {statistic}")), hash.unwrap_or_else(|| panic!("{printed}")).to_owned())
}

#[test]
fn a_policy_takes_blocks_off_sms_for_a_younger_kernel() {
    let preempted = "gpu.scheduler.preempted";
    let (some, hash) = two("urgent", preempted, &[]);
    assert!(some > 4.0, "{some}");
    assert_eq!(two("urgent", preempted, &["--threads", "2", "--force-threads"]), (some, hash));
    let (switched, _) = two("{urgent: {flushes: off}}", preempted, &[]);
    assert!(switched > 2.0, "{switched}");
}

#[test]
fn a_policy_divides_sms_by_samples() {
    let blocks = "gpu.scheduler.ctas";
    let (_, hash) = two("{divided: {sample: 500}}", blocks, &[]);
    assert_ne!(two("concurrent", blocks, &[]).1, hash);
    assert_eq!(two("{divided: {sample: 500}}", blocks, &["--threads", "2", "--force-threads"]).1, hash);
}

#[test]
fn a_warp_scheduler_keeps_lines_by_what_the_l1_tells_it() {
    // Threads that each read a row of a sparse matrix: lines are lost to other warps where all of them load.
    let misses = |scheduler: &str| {
        let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let folder = out.path().display().to_string();
        let set = format!("gpu.sm.warp_scheduler={scheduler}");
        let machine = ["--set", "gpu.sms=1", "--set", "gpu.sm.l1d={capacity: 4 KiB, set_index: linear}", "--set", &set];
        call(&[&["run", "eight", "spmv", "--set", "app.size=small", "--out", &folder], &machine[..]].concat());
        let stats = std::fs::read_to_string(out.path().join("stats.txt")).unwrap_or_default();
        let line = stats.lines().find(|line| line.starts_with("machine.sms.L1D_total_cache_misses"));
        let count = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("no misses in {stats:.400}"))
    };
    let (all, kept) = (misses("gto"), misses("keeper"));
    assert!(kept < all, "{kept} of {all}");
}

#[test]
fn its_memory_policies_are_right_and_give_one_hash_on_one_thread_and_two() {
    let hash = |more: &[&str]| {
        let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let folder = out.path().display().to_string();
        let run = ["run", "eight", "hotspot", "--set", "app.size=small", "--hash", "--out", &folder];
        let printed = call(&[&run, more].concat());
        let line = printed.lines().find(|line| line.trim_start().to_lowercase().starts_with("hash"));
        line.unwrap_or_else(|| panic!("no hash in {printed}")).to_owned()
    };
    let with = hash(&["--with", "memory", "--with", "governed"]);
    assert_ne!(with, hash(&["--with", "governed"]), "the policies change the run");
    assert_eq!(with, hash(&["--with", "memory", "--with", "governed", "--threads", "2", "--force-threads"]));
}

#[test]
fn its_topology_carries_a_run() {
    assert_ne!(time(&["--with", "one-way"]), time(&[]));
}

#[test]
fn its_study_runs() {
    let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let folder = out.path().display().to_string();
    let table = call(&["study", "governors", "--scale", "small", "--out", &folder]);
    assert!(table.contains("slow_down"), "{table}");
    let results = std::fs::read_to_string(out.path().join("results.csv")).unwrap_or_default();
    assert!(results.lines().next().is_some_and(|names| names.contains(",available_sms,")), "{results}");
    assert!(call(&["explain", "study"]).contains("available_sms (SMs)"));
}
