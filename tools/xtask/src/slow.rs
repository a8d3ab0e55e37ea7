//! Runs what takes too long for `cargo test`: `cargo xtask slow`, or a tenth of it, `cargo xtask slow --tenth SEED`.
//!
//! A slow test is ignored, and is in a module `slow`, the last one of its file. A smaller test beside it
//! checks the same property in every run.

use std::process::Stdio;

use crate::semver;
use crate::test_times::{binaries, timed};

/// Runs what takes too long for `cargo test`: tests in modules `slow`, and the comparison of the library with the last version.
#[derive(clap::Args)]
pub(crate) struct Slow {
    /// Runs the tenth that a word chooses, such as that of a commit.
    #[arg(long, value_name = "SEED")]
    tenth: Option<String>,
}

impl Slow {
    pub(crate) fn run(&self) -> Result<(), String> {
        run(self.tenth.as_deref())
    }
}

fn run(seed: Option<&str>) -> Result<(), String> {
    let tests = listed()?;
    let names = tests.iter().map(String::as_str).collect();
    let chosen = match seed {
        None => names,
        Some(seed) => tenth(names, seed),
    };
    crate::report(&format!("{} of {} slow ones:", chosen.len(), tests.len()));
    let ran = timed(&[&["--ignored", "--exact"], &chosen[..]].concat(), true)?;
    match chosen.iter().find(|test| ran.iter().all(|ran| ran.name != **test)) {
        Some(missed) => Err(format!("{missed} did not run")),
        // A tenth runs in clones without a history.
        None if seed.is_some() => Ok(()),
        None => semver::run(None),
    }
}

/// The names of all slow tests, in order.
fn listed() -> Result<Vec<String>, String> {
    let mut command = binaries();
    command.args(["--quiet", "--", "slow::", "--ignored", "--list", "--format", "terse"]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests could not be listed".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut names: Vec<String> =
        text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    if names.is_empty() { Err("there is no slow test: where have they gone?".to_owned()) } else { Ok(names) }
}

/// A tenth of the names, rounded up: those with the lowest hashes of seed and name. Over the seeds, all have their turn.
fn tenth<'a>(mut names: Vec<&'a str>, seed: &str) -> Vec<&'a str> {
    names.sort_by_key(|name| (hash(seed, name), *name));
    names.truncate(names.len().div_ceil(10));
    names.sort_unstable();
    names
}

/// FNV-1a over seed and name, mixed once more, as its high bits hardly depend on the last letters.
fn hash(seed: &str, name: &str) -> u64 {
    let bytes = seed.bytes().chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_depends_on_the_seed_and_every_name_has_its_turn() {
        let names: Vec<String> = (0..41).map(|number| format!("file::slow::test_{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chosen: Vec<Vec<&str>> = (0..100).map(|seed| tenth(names.clone(), &seed.to_string())).collect();
        assert!(chosen.iter().all(|chosen| chosen.len() == 5));
        assert_eq!(tenth(names.clone(), "7"), chosen[7]);
        assert_ne!(chosen[7], chosen[8]);
        assert!(names.iter().all(|name| chosen.iter().any(|chosen| chosen.contains(name))));
        assert_eq!(tenth(names[..1].to_vec(), "3"), names[..1]);
    }
}
