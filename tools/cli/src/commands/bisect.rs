//! `counterpoint bisect`: finds the first clock cycle in which two runs differ.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::Arc;

use clap::{Args, Parser};
use counterpoint_experiments::bisect::{Pass, Verdict, bisect};
use counterpoint_framework::kernel::{Outcome, Sharing, SnapshotTimes};
use counterpoint_framework::model::Registry;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::hashes::Hashes;
use counterpoint_simulation::run::{Progress, RunErrors, RunRequest, run};

use super::fail;
use super::machine::{MachineChanges, MachineOptions};
use super::run::time;
use crate::{Console, FAILURE, INTERRUPTED, NOT_VERIFIED, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Bisect {
    #[command(flatten)]
    machine: MachineOptions,
    /// The application: a file, or a name that `counterpoint list applications` prints.
    application: String,
    /// Differences of the second run, such as `--threads 2`: any of --set, --with, --runtime, --policy,
    /// --threads and --seed.
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    vs: String,
    /// The program of the second run: another build of `counterpoint`.
    #[arg(long, value_name = "PATH")]
    vs_binary: Option<PathBuf>,
    /// Threads to simulate with.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Compare nothing at or after this simulated time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    stop_at: Option<SimTime>,
    /// Simulated time from one comparison to the next in the first pass.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10 us")]
    every: SimTime,
}

/// Options in `--vs`.
#[derive(Parser)]
#[command(name = "--vs", no_binary_name = true, disable_help_flag = true)]
struct Changes {
    #[command(flatten)]
    machine: MachineChanges,
    #[arg(long)]
    threads: Option<usize>,
    #[arg(long)]
    seed: Option<u64>,
}

impl Changes {
    fn apply(self, request: &RunRequest) -> RunRequest {
        let mut other = request.clone();
        other.sets.extend(self.machine.sets);
        other.overlays.extend(self.machine.overlays);
        other.runtime = self.machine.runtime.or(other.runtime);
        other.policy = self.machine.policy.or(other.policy);
        other.threads = self.threads.unwrap_or(other.threads);
        other.seed = self.seed.unwrap_or(other.seed);
        other
    }
}

/// Why a side gave no hashes.
enum Trouble {
    Input(RunErrors),
    Other(String),
    Interrupted,
}

impl Bisect {
    pub(super) fn execute(&self, registry: &Arc<Registry>, console: &mut Console<'_>) -> io::Result<u8> {
        let changes = match words(&self.vs).map(Changes::try_parse_from) {
            Ok(Ok(changes)) => changes,
            Ok(Err(error)) => {
                write!(console.err, "{}", error.render())?;
                return Ok(FAILURE);
            }
            Err(problem) => {
                writeln!(console.err, "error: --vs: {problem}")?;
                return Ok(FAILURE);
            }
        };
        // A difference between threads shows where they run.
        let sharing = Sharing::Always;
        let own = RunRequest {
            threads: self.threads,
            sharing,
            seed: self.seed,
            ..self.machine.request(&self.application)
        };
        let other = changes.apply(&own);
        let interrupted = || {
            let progress = Progress::interrupted_by(Arc::clone(&console.interrupt));
            progress.listening_by(Arc::clone(&console.listens))
        };
        let mut passes: u32 = 0;
        let mut first = |pass: Pass| {
            passes += 1;
            here(&own, pass, registry, &interrupted())
        };
        let mut second = |pass: Pass| match &self.vs_binary {
            Some(program) => elsewhere(program, &other, pass),
            None => here(&other, pass, registry, &interrupted()),
        };
        let times = SnapshotTimes { from: SimTime::ZERO, every: self.every };
        let verdict = bisect(Pass { times, stop_at: self.stop_at }, [&mut first, &mut second]);
        match verdict {
            Ok(verdict) => tell(&verdict, passes, console),
            Err(Trouble::Input(errors)) => fail(&errors, console),
            Err(Trouble::Interrupted) => {
                writeln!(console.err, "interrupted")?;
                Ok(INTERRUPTED)
            }
            Err(Trouble::Other(problem)) => {
                writeln!(console.err, "error: {problem}")?;
                Ok(FAILURE)
            }
        }
    }
}

/// Says what was found, and returns the exit status.
fn tell(verdict: &Verdict, passes: u32, console: &mut Console<'_>) -> io::Result<u8> {
    let out = &mut *console.out;
    match verdict {
        Verdict::Same(outcome) => {
            writeln!(out, "no difference: every component saw the same in both runs; {outcome}")?;
            return Ok(SUCCESS);
        }
        Verdict::OtherEnd(one, other) => {
            writeln!(out, "every component saw the same in both runs, but they ended differently:")?;
            writeln!(out, "  first   {one}")?;
            writeln!(out, "  second  {other}")?;
        }
        Verdict::Differ { from, to, components } => {
            let mut named = components.iter().map(|one| format!("{} (cycle {})", one.path, one.cycle));
            let first = named.next().unwrap_or_default();
            let micros =
                |time: SimTime| format!("{}.{:06} us", time.as_ps() / 1_000_000, time.as_ps() % 1_000_000);
            let (from, to) = (micros(*from), micros(*to));
            writeln!(out, "first difference: between {from} and {to}, in {first}")?;
            let others: Vec<String> = named.collect();
            if !others.is_empty() {
                let noun = if others.len() == 1 { "component differs" } else { "components differ" };
                writeln!(out, "  {} more {noun} there as well: {}", others.len(), others.join(", "))?;
            }
            let noun = if passes == 1 { "pass" } else { "passes" };
            writeln!(out, "  everything before {from} is the same; found in {passes} {noun}")?;
        }
        Verdict::Unsteady(time) => {
            writeln!(out, "the runs differed before {time}, but not when they were repeated:")?;
            writeln!(out, "  one of them does not do the same every time")?;
        }
    }
    Ok(NOT_VERIFIED)
}

/// A side in this process.
fn here(
    request: &RunRequest,
    pass: Pass,
    registry: &Arc<Registry>,
    progress: &Progress,
) -> Result<Hashes, Trouble> {
    let request = RunRequest { snapshots: Some(pass.times), stop_at: pass.stop_at, ..request.clone() };
    let summary = run(&request, registry, progress).map_err(Trouble::Input)?;
    match summary.report.outcome {
        Outcome::Interrupted(_) => Err(Trouble::Interrupted),
        _ => Ok(summary.hashes),
    }
}

/// A side in a process of its own, which leaves its hashes in a file.
fn elsewhere(program: &Path, request: &RunRequest, pass: Pass) -> Result<Hashes, Trouble> {
    let trouble = |problem: &dyn std::fmt::Display| {
        Trouble::Other(format!("--vs-binary: `{}`: {problem}", program.display()))
    };
    let folder = tempfile::tempdir().map_err(|error| trouble(&error))?;
    let hashes = folder.path().join("hashes.jsonl");
    let ps = |time: SimTime| format!("{} ps", time.as_ps());
    let mut command = process::Command::new(program);
    command.args(["run", &request.machine, &request.application, "--quiet"]);
    command.args(request.sets.iter().flat_map(|set| ["--set", set]));
    command.args(request.overlays.iter().flat_map(|overlay| ["--with", overlay]));
    command.args(request.runtime.iter().flat_map(|runtime| ["--runtime", runtime]));
    command.args(request.policy.iter().flat_map(|policy| ["--policy", policy]));
    command.args(["--threads", &request.threads.to_string(), "--force-threads"]);
    command.args(["--seed", &request.seed.to_string()]);
    command.args(pass.stop_at.iter().flat_map(|&time| ["--stop-at".to_owned(), ps(time)]));
    command.args(["--hash-from", &ps(pass.times.from), "--hash-every", &ps(pass.times.every)]);
    command.arg("--hashes").arg(&hashes).arg("--out").arg(folder.path().join("out"));
    let result = command.stdin(Stdio::null()).output().map_err(|error| trouble(&error))?;
    // A run that failed or hung leaves its hashes, too; one that could not begin has said why.
    let Ok(file) = File::open(&hashes) else {
        let said = String::from_utf8_lossy(&result.stderr);
        return Err(trouble(&format!("it wrote no hashes ({}):\n{}", result.status, said.trim_end())));
    };
    Hashes::read(BufReader::new(file)).map_err(|problem| trouble(&problem))
}

/// Splits a line into words at blanks outside of quotes.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == letter => quote = None,
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match quote {
        Some(open) => Err(format!("a {open} is not closed in `{line}`")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        let split = |line: &str| words(line).unwrap();
        assert_eq!(split("  --threads 2 "), ["--threads", "2"]);
        assert_eq!(split("--set \"a.b=2 us\" ''"), ["--set", "a.b=2 us", ""]);
        assert_eq!(split("a='b \"c'd"), ["a=b \"cd"]);
        assert_eq!(words("--set 'a").unwrap_err(), "a ' is not closed in `--set 'a`");
    }
}
