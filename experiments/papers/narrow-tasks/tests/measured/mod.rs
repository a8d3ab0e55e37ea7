//! Kernels that stay on a GPU and take tasks from memory, launched as ordinary ones on a memory that is full
//! before they begin: their times where SMs are stepped are the costs of the model of throughput.

mod master_kernel;
mod super_kernel;

use counterpoint::run::{RunRequest, RunSummary};
use counterpoint::telemetry::{Attribute, Level, Recording, Span};

use counterpoint_narrow_tasks::runtimes::resident::Resident;
use counterpoint_tests::probe::Configured;
use counterpoint_tests::support::{request, root};

use crate::{MODEL, registry, run_request};

/// A launch of such a kernel.
struct Launched<'a> {
    machine: &'a str,
    sets: &'a [&'a str],
    /// The module of the kernel.
    code: Resident,
    kernel: &'a str,
    /// The body of its one task function, `exchange_task`.
    task: &'a str,
    /// The contents of its one buffer, `memory`.
    memory: &'a [u8],
    blocks: u32,
    threads: u32,
    shared: u32,
    arguments: &'a str,
}

impl Launched<'_> {
    /// The module of `narrow-exchange` with another task, and the kernel's.
    fn module(&self) -> String {
        let path = root().join("experiments/applications/narrow-exchange/kernel.nvrtc-sm_35.ptx");
        let text = std::fs::read_to_string(path).unwrap();
        let function = text.rfind(".func exchange_task(").unwrap();
        let begin = function + text[function..].find('{').unwrap();
        let end = begin + text[begin..].find("\n}").unwrap() + 2;
        self.code.linked(&format!("{}{}{}", &text[..begin], self.task, &text[end..])).unwrap()
    }

    /// Runs to the end; all writes to the buffer are watched.
    fn run(&self) -> RunSummary {
        let Launched { kernel, memory, blocks, threads, shared, arguments, .. } = self;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("memory.u32"), memory).unwrap();
        std::fs::write(folder.path().join("probe.ptx"), self.module()).unwrap();
        let application = format!(
            "counterpoint: 1\napplication: probe\ncode: {{ probe: probe.ptx }}\nbuffers:\n  memory: {{ type: u32, elements: {} }}\n\
             prelude:\n  - read: {{ file: memory.u32, into: memory }}\ncopy_in: [memory]\nkernels:\n  - launch: probe.{kernel}\n    \
             grid: {blocks}\n    block: {threads}\n    shared: {shared}\n    registers: 32\n    arguments: {arguments}\n",
            memory.len() / 4
        );
        let path = folder.path().join("probe.yaml");
        std::fs::write(&path, application).unwrap();
        run_request(&RunRequest {
            watch: vec!["memory".to_owned()],
            recording: Recording::of(Level::Warps),
            ..request(self.machine, &path.display().to_string(), self.sets)
        })
    }
}

/// The first block.
fn block(summary: &RunSummary) -> &Span {
    summary.report.trace.spans.iter().find(|span| span.name == "cta 0").unwrap()
}

fn amount(span: &Span, name: &str) -> f64 {
    match span.attributes.iter().find(|(known, _)| *known == name) {
        Some((_, Attribute::Amount(amount))) => *amount as f64,
        other => panic!("{name} is {other:?}"),
    }
}

/// A cost of the model by the name of a state machine and its own.
fn cost_of(name: &str) -> f64 {
    Configured::with(&registry(), MODEL, &[]).number("gpu.model", &format!("state_machines.{name}"))
}

/// Asserts that a cost of the model equals the measurement within a relative tolerance.
#[track_caller]
fn costs(name: &str, found: f64, tolerance: f64) {
    let known = cost_of(name);
    assert!(
        (found / known - 1.0).abs() <= tolerance,
        "{name}: {found:.1} is measured, and the model has {known}"
    );
}
