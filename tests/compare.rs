//! `counterpoint compare`: its output for runs and studies that are the same, or differ in one thing.

use std::path::{Path, PathBuf};

use counterpoint_cli::{FAILURE, NOT_VERIFIED, SUCCESS};

use crate::cli::{Called, call};

/// A run of `vecadd` on the small machine.
fn run(folder: &Path, name: &str, more: &[&str]) -> PathBuf {
    let out = folder.join(name);
    let text = out.to_string_lossy().into_owned();
    let mut arguments = vec!["run", "tiny", "vecadd", "--set", "app.n=1000", "--quiet", "--out", &text];
    arguments.extend(more);
    let called = call(&arguments);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    out
}

fn compare(a: &Path, b: &Path, more: &[&str]) -> Called {
    let (a, b) = (a.to_string_lossy(), b.to_string_lossy());
    call(&[&["compare", &a, &b], more].concat())
}

/// The words of the line that begins with this one.
#[track_caller]
fn line(called: &Called, first: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let found = called.out.lines().map(words).find(|line| line.first().is_some_and(|word| word == first));
    found.unwrap_or_else(|| panic!("no line begins with {first}:\n{}", called.out))
}

#[test]
fn equal_runs_are_the_same_however_they_were_computed() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (
        run(folder.path(), "a", &[]),
        run(folder.path(), "b", &["--threads", "2", "--force-threads", "--hash"]),
    );
    let called = compare(&a, &b, &[]);
    assert_eq!(called.status, SUCCESS, "{}{}", called.out, called.err);
    assert!(called.out.ends_with("\nthe runs are the same\n"), "{}", called.out);
    assert_eq!(line(&called, "threads"), ["threads", "1", "2"]);
    assert!(!called.out.contains("what was run"), "{}", called.out);
}

#[test]
fn a_parameter_shows_with_what_comes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", &[]);
    let b = run(folder.path(), "b", &["--set", "gpu.sm.l1d.latency=90 cycles", "--set", "gpu.sms=3"]);
    let called = compare(&a, &b, &["--limit", "5"]);
    assert_eq!(called.status, NOT_VERIFIED, "{}{}", called.out, called.err);
    // Both elements of the array have the same change, and a third element is new.
    assert_eq!(line(&called, "gpu.sm[*].l1d.latency")[4..], ["cycles", "(2", "times)"]);
    assert_eq!(line(&called, "gpu.sm[2]"), ["gpu.sm[2]", "-", "gpu/sm"]);
    assert!(line(&called, "time_ps").len() == 3);
    assert!(called.out.contains("more; --all shows them"), "{}", called.out);
    assert!(called.out.contains("statistics that only B has\n"), "{}", called.out);
    assert!(called.out.contains("\nwhat was exposed\n"), "{}", called.out);
    // The headline figures come first, beginning with simulated time.
    let at = |text: &str| called.out.find(text).unwrap_or_else(|| panic!("no {text}:\n{}", called.out));
    assert!(
        at("simulated time ") < at("IPC while kernels run ") && at("DRAM traffic ") < at("stalls: memory ")
    );
    assert!(at("stalls: memory ") < at("what was run") && at("the machine\n") < at("totals "));
    assert!(at("totals ") < at("components ") && at("components ") < at("launches and streams "));
    assert_eq!(line(&called, "postlude").last().map(String::as_str), Some("1.000"), "{}", called.out);

    let all = compare(&a, &b, &["--all"]);
    assert!(!all.out.contains("--all shows them"), "{}", all.out);
    assert!(all.out.lines().count() > called.out.lines().count() + 50);

    let only = compare(&a, &b, &["--only", "gpu.sm[*].active_cycles"]);
    assert!(only.out.contains("of 2 statistics differ"), "{}", only.out);
    assert_eq!(line(&only, "gpu.sm[*].active_cycles"), ["gpu.sm[*].active_cycles"]);
}

#[test]
fn the_heaviest_difference_is_told_first() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", &[]);
    let b = folder.path().join("b");
    copy(&a, &b);
    let stats = std::fs::read_to_string(b.join("stats.csv")).unwrap();
    let mut lines: Vec<String> = stats.lines().map(str::to_owned).collect();
    let place =
        |lines: &[String], start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
    for (start, factor) in [("gpu.sm[0],warp_insn,", 4), ("gpu.sm[1],warp_insn,", 2)] {
        let place = place(&lines, start);
        let mut fields: Vec<String> = lines[place].split(',').map(str::to_owned).collect();
        fields[2] = (factor * fields[2].parse::<u64>().unwrap()).to_string();
        lines[place] = fields.join(",");
    }
    std::fs::write(b.join("stats.csv"), lines.join("\n")).unwrap();
    let called = compare(&a, &b, &[]);
    assert_eq!(called.status, NOT_VERIFIED);
    assert!(called.out.contains("\n2 of "), "{}", called.out);
    assert_eq!(line(&called, "gpu.sm[0].warp_insn")[3], "4.000");
    let at = |name: &str| called.out.find(name).unwrap();
    assert!(at("gpu.sm[0].warp_insn") < at("gpu.sm[1].warp_insn"), "{}", called.out);
    assert!(!called.out.contains("the machine\n") && !called.out.contains("what was run"), "{}", called.out);
}

#[test]
fn another_result_matters_where_all_else_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", &[]);
    let b = folder.path().join("b");
    copy(&a, &b);
    assert_eq!(compare(&a, &b, &[]).status, SUCCESS);
    let mut written = std::fs::read(b.join("c.f32")).unwrap();
    written[17] ^= 1;
    std::fs::write(b.join("c.f32"), written).unwrap();
    let called = compare(&a, &b, &[]);
    assert_eq!(called.status, NOT_VERIFIED, "{}{}", called.out, called.err);
    assert_eq!(line(&called, "contents")[..3], ["contents", "of", "c.f32"]);
    assert!(!called.out.contains("what was run"), "{}", called.out);
}

#[test]
fn runs_that_differ_by_their_seed_alone_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (run(folder.path(), "a", &[]), run(folder.path(), "b", &["--seed", "7"]));
    let called = compare(&a, &b, &[]);
    assert_eq!(called.status, NOT_VERIFIED, "{}{}", called.out, called.err);
    assert_eq!(line(&called, "seed"), ["seed", "0", "7"]);
    assert!(!called.out.contains("\nthe machine\n") && !called.out.contains(" statistics differ"));
}

/// Copies a folder with its content.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

const STUDY: &str = "counterpoint: 1
study: small
machine: tiny
applications: [vecadd]
scales: { small: { size: small } }
vary: { gpu.sms: [1, 2] }
runs: { lrr: {} }
columns:
  doubled: time * 2
";

#[test]
fn a_study_with_another_column_or_point_differs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.yaml");
    std::fs::write(&file, STUDY).unwrap();
    let a = folder.path().join("a");
    let called = call(&["study", &file.to_string_lossy(), "--out", &a.to_string_lossy(), "--quiet"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let same = compare(&a, &a, &[]);
    assert_eq!(same.status, SUCCESS, "{}{}", same.out, same.err);
    assert!(same.out.contains("the same points with the same values"), "{}", same.out);

    let b = folder.path().join("b");
    copy(&a, &b);
    std::fs::write(b.join("study.yaml"), STUDY.replace("time * 2", "time * 3")).unwrap();
    let called = compare(&a, &b, &[]);
    assert_eq!(called.status, NOT_VERIFIED, "{}{}", called.out, called.err);
    assert!(called.out.contains("doubled") && called.out.contains("1.500"), "{}", called.out);
    assert!(!called.out.contains(": time "), "{}", called.out);
    assert_eq!(compare(&a, &b, &["--only", "time"]).status, SUCCESS);
    let unknown = compare(&a, &b, &["--only", "tme"]);
    assert_eq!((unknown.status, unknown.err.as_str()), (FAILURE, "error: no point has a value `tme`\n"));
}

#[test]
fn what_cannot_be_compared_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", &[]);
    let b = folder.path().join("b");
    let failing = |a: &Path, b: &Path, more: &[&str], expected: &str| {
        let called = compare(a, b, more);
        assert_eq!(called.status, FAILURE, "{expected}: {}", called.out);
        assert!(called.err.starts_with("error: ") && called.err.contains(expected), "{}", called.err);
        assert_eq!(called.out, "");
    };
    failing(&a, &b, &[], "there is no folder `");
    std::fs::create_dir(&b).unwrap();
    failing(
        &b,
        &a,
        &[],
        "is neither the folder of a run, for it has no `manifest.yaml`, nor that of a study",
    );
    std::fs::write(b.join("index.json"), "{").unwrap();
    failing(&a, &b, &[], "is a run and `");
    failing(&b, &b, &[], "index.json` is damaged: ");
    failing(&a, &a, &["--only", "gpu.sm[*].warp"], "neither run has a statistic `gpu.sm[*].warp`");

    for (name, text, expected) in [
        ("manifest.yaml", "a: [1", "manifest.yaml` is damaged:\n"),
        ("manifest.yaml", "a: 1", "is not the manifest of a run: it has no `application`"),
        ("machine.yaml", "", "machine.yaml` is damaged: it is not a map"),
        ("stats.csv", "path,statistic,value,unit\nsm,hits,many,\n", "stats.csv` is damaged in line 2"),
        ("exposure.csv", "name,activity\n", "exposure.csv` is damaged: it has no column `exposed_ps`"),
    ] {
        let damaged = folder.path().join("damaged");
        copy(&a, &damaged);
        std::fs::write(damaged.join(name), text).unwrap();
        failing(&a, &damaged, &[], expected);
    }
    std::fs::remove_file(folder.path().join("damaged/exposure.csv")).unwrap();
    failing(&folder.path().join("damaged"), &a, &[], "exposure.csv`: ");
}
