//! Random CUDA programs, which together call all supported functions: the application of each gives the program's own results on every
//! machine, with and without time, and under every runtime that accepts it. `cargo xtask random-programs` runs others, by their seeds.

use std::ops::Range;
use std::path::Path;

use super::cuda::{build_of, counterpoint, here, text};

/// Machines, and words for a run on them; the last ones take turns.
const ALWAYS: [&[&str]; 5] = [
    &["tiny", "--functional", "--racecheck"],
    &["tiny"],
    &["gtx680", "--set", "host.cpu.runtime=streams", "--policy", "concurrent"],
    &["titanx-sm6", "--functional"],
    &["titanx-sm6"],
];
const IN_TURN: [&[&str]; 8] = [
    &["gtx680"],
    &["gtx480", "--set", "host.cpu.runtime=streams", "--policy", "leftover"],
    &["crcs-64sm-pcie3-ssd", "--with", "crcs-ppcs"],
    &["crcs-64sm-pcie3-ssd", "--with", "crcs-fifo"],
    &["tiny", "--set", "host.cpu.runtime=dka"],
    &["tiny", "--set", "host.cpu.runtime=hyperq"],
    &["tiny", "--set", "host.cpu.runtime=pagoda"],
    &["tiny", "--set", "host.cpu.runtime=gemtc"],
];

/// Ways of running two applications together.
const TOGETHER: [&[&str]; 5] = [
    &["gtx680", "--functional"],
    &["gtx680", "--policy", "concurrent"],
    &["gtx680", "--policy", "leftover"],
    &["gtx680", "--policy", "spatial"],
    &["gtx680", "--set", "host.cpu.runtime=serial"],
];

/// Records the programs of seeds, and runs each as often as machines and words are given.
fn check(seeds: Range<u64>, runs_of: impl Fn(u64) -> Vec<&'static [&'static str]>) {
    let folder = tempfile::tempdir().unwrap();
    build_of(folder.path(), "random.c");
    let failures: Vec<String> =
        seeds.filter_map(|seed| wrong(folder.path(), seed, &runs_of(seed)).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Records the program of a seed under a name; the file of its application.
fn record(folder: &Path, seed: u64, name: &str) -> Result<String, String> {
    let _ = std::fs::remove_file(folder.join("results.txt"));
    let (ptx, number) = (here("random.ptx"), seed.to_string());
    let words = ["cuda", "--name", name, "--", "./program", ptx.to_str().unwrap(), &number];
    let recorded = counterpoint(folder, &words);
    match recorded.status.success() {
        true => Ok(format!("out/cuda/{name}/{name}.yaml")),
        false => Err(format!("seed {seed}: {}{}", text(&recorded.stdout), text(&recorded.stderr))),
    }
}

/// Why the application of a program is not right.
fn wrong(folder: &Path, seed: u64, runs: &[&[&str]]) -> Result<(), String> {
    let again = |what: &str, out: &str, err: &str| {
        Err(format!("seed {seed} (`cargo xtask random-programs --seed {seed}`): {what}: {out}{err}"))
    };
    let name = format!("r{seed}");
    let application = record(folder, seed, &name)?;
    let written = folder.join("results.txt");
    for words in runs {
        let ran = counterpoint(folder, &[&["run"], *words, &[&application, "--out", "out/run"]].concat());
        if !ran.status.success() || text(&ran.stderr).contains("race") {
            return again(&words.join(" "), &text(&ran.stdout), &text(&ran.stderr));
        }
        let files = [&written, &folder.join("out/run/results.txt")].map(|file| std::fs::read(file).ok());
        if files[0] != files[1] {
            return again(&words.join(" "), "the file that it wrote", "");
        }
        std::fs::remove_dir_all(folder.join("out/run")).unwrap();
    }
    std::fs::remove_dir_all(folder.join("out/cuda").join(&name)).unwrap();
    Ok(())
}

#[test]
fn what_a_program_did_right_its_application_does_right() {
    let turn = |seed: u64| IN_TURN[seed as usize % IN_TURN.len()];
    check(1..21, |seed| ALWAYS.into_iter().chain([turn(seed)]).collect());
}

#[test]
fn two_programs_run_together_and_a_program_with_itself() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build_of(folder, "random.c");
    for (first, second) in [(3, 4), (7, 7), (11, 12)] {
        let both = [(first, "a"), (second, "b")]
            .map(|(seed, name)| record(folder, seed, name).unwrap_or_else(|problem| panic!("{problem}")));
        for words in TOGETHER {
            let words = [&["run"], words, &[&both[0], &both[1], "--out", "out/run"]].concat();
            let ran = counterpoint(folder, &words);
            assert!(ran.status.success(), "{words:?}: {}{}", text(&ran.stdout), text(&ran.stderr));
            std::fs::remove_dir_all(folder.join("out/run")).unwrap();
        }
    }
}

mod slow {
    use super::*;

    /// The seeds that `cargo xtask random-programs` asks for.
    fn asked() -> Option<Range<u64>> {
        let text = std::env::var("COUNTERPOINT_SEEDS").ok()?;
        let (first, end) = text.split_once("..")?;
        Some(first.parse().ok()?..end.parse().ok()?)
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn hundreds_of_programs_are_right_under_every_runtime() {
        check(asked().unwrap_or(21..321), |_| ALWAYS.into_iter().chain(IN_TURN).collect());
    }
}
