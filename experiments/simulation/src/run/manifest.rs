//! The manifest of a run, as YAML: the inputs that repeat it, and its results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use counterpoint_framework::time::SimTime;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::RunRequest;
use super::functional;
use super::record::Facts;
use crate::output::{MACHINE, MANIFEST, WriteError};

/// The file `manifest.yaml`.
#[derive(Serialize)]
struct Manifest<'a> {
    counterpoint: u32,
    version: &'static str,
    partial: bool,
    outcome: String,
    #[serde(skip_serializing_if = "is_false")]
    functional: bool,
    /// The launches that had time, as they were asked for, and their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    timed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_launches: Option<[u64; 2]>,
    /// Absent where there was no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ps: Option<u64>,
    machine: MachineEntry<'a>,
    application: Application<'a>,
    /// The files that the run read: a repetition can check that they are the same.
    inputs: Vec<Input<'a>>,
    overlays: &'a [String],
    set: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a String>,
    seed: u64,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_on_threads: Option<String>,
    islands: usize,
    lookahead: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_at: Option<String>,
    /// Absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    livelock_after: Option<String>,
    command_line: &'a [String],
    /// Spans that are added up in others.
    #[serde(skip_serializing_if = "is_zero")]
    spans_left_out: u64,
    /// Files that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<&'a str>,
    outputs: Vec<&'a str>,
    checks: Vec<Comparison<'a>>,
    /// Errors of kernels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<String>,
}

#[derive(Serialize)]
struct MachineEntry<'a> {
    name: &'a str,
    given: &'a str,
    resolved: &'static str,
}

#[derive(Serialize)]
struct Application<'a> {
    name: &'a str,
    file: &'a str,
    parameters: BTreeMap<&'a str, Number>,
}

#[derive(Serialize)]
struct Input<'a> {
    file: &'a str,
    fnv64: String,
    generated: bool,
}

#[derive(Serialize)]
struct Comparison<'a> {
    buffer: &'a str,
    against: &'a str,
    verdict: String,
}

/// Whether to leave a word out that most runs have no use for.
fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A parameter as people write it: whole numbers without a point.
fn number(value: f64) -> Number {
    let whole = value as i64;
    if whole as f64 == value { whole.into() } else { Number::from_f64(value).unwrap_or_else(|| 0.into()) }
}

pub(super) fn manifest(facts: &Facts<'_>, outputs: &[PathBuf], failed: &[WriteError]) -> String {
    let Facts { request, report, loaded, .. } = facts;
    let unwritten = failed.iter().filter_map(|error| error.path.file_name()?.to_str());
    let manifest = Manifest {
        counterpoint: 1,
        version: env!("CARGO_PKG_VERSION"),
        partial: facts.partial,
        outcome: functional::ending(&report.outcome, request.functional),
        functional: request.functional,
        timed: request.timed.as_ref().map(ToString::to_string),
        timed_launches: facts.timed.map(|timed| [timed.numbers.start, timed.numbers.end - 1]),
        time_ps: (!request.functional).then(|| report.outcome.time().as_ps()),
        machine: MachineEntry {
            name: &facts.machine.machine.name,
            given: &request.machine,
            resolved: MACHINE,
        },
        application: Application {
            name: &loaded.application.name,
            file: facts.application,
            parameters: loaded
                .parameters
                .iter()
                .map(|(name, &value)| (name.as_str(), number(value)))
                .collect(),
        },
        inputs: loaded
            .inputs
            .iter()
            .map(|input| Input {
                file: &input.path,
                fnv64: input.fnv64().map_or_else(|error| error.to_string(), |hash| format!("{hash:016x}")),
                generated: input.generated,
            })
            .collect(),
        overlays: &request.overlays,
        set: &request.sets,
        runtime: request.runtime.as_ref(),
        policy: request.policy.as_ref(),
        seed: request.seed,
        threads: request.threads,
        ran_on_threads: report.workers.fewer(request.threads),
        islands: report.islands,
        lookahead: report.lookahead.to_string(),
        hash: report.hash.map(|hash| format!("{hash:016x}")),
        stop_at: request.stop_at.map(|time| time.to_string()),
        livelock_after: (request.livelock_after < SimTime::MAX).then(|| request.livelock_after.to_string()),
        command_line: &request.command_line,
        spans_left_out: report.trace.left_out,
        missing: facts.missing.iter().copied().chain(unwritten).collect(),
        outputs: outputs.iter().filter_map(|path| path.file_name()?.to_str()).collect(),
        checks: facts
            .checks
            .iter()
            .map(|check| Comparison {
                buffer: &check.buffer,
                against: &check.against,
                verdict: check.verdict.to_string(),
            })
            .collect(),
        findings: facts.found.iter().map(ToString::to_string).collect(),
    };
    match serde_yaml::to_string(&manifest) {
        Ok(text) => text,
        Err(error) => panic!("a manifest is plain data: {error}"),
    }
}

#[derive(Deserialize, PartialEq)]
struct Settings {
    #[serde(default)]
    functional: bool,
    timed: Option<String>,
    machine: Given,
    application: Named,
    overlays: Vec<String>,
    set: Vec<String>,
    runtime: Option<String>,
    policy: Option<String>,
    seed: u64,
    stop_at: Option<String>,
}

#[derive(Deserialize, PartialEq)]
struct Given {
    given: String,
}

#[derive(Deserialize, PartialEq)]
struct Named {
    file: String,
}

/// Whether a folder has the results of a run with other settings, or of another application.
pub(super) fn is_other(folder: &Path, request: &RunRequest, application: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(folder.join(MANIFEST)) else { return false };
    let settings = Settings {
        functional: request.functional,
        timed: request.timed.as_ref().map(ToString::to_string),
        machine: Given { given: request.machine.clone() },
        application: Named { file: application.to_owned() },
        overlays: request.overlays.clone(),
        set: request.sets.clone(),
        runtime: request.runtime.clone(),
        policy: request.policy.clone(),
        seed: request.seed,
        stop_at: request.stop_at.map(|time| time.to_string()),
    };
    serde_yaml::from_str::<Settings>(&text).map_or(true, |before| before != settings)
}
