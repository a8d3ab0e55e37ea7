//! Kernels that are written for one measurement, and the configuration of the machine that runs them.

use std::fmt::Write;
use std::sync::Arc;

use counterpoint_framework::model::{Diagnostics, Node, Params, Reader, Registry, StatValue};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::{Instance, Machine};
use counterpoint_hardware::memory::dram::timing::{Timing, TimingParams};
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{RunRequest, RunSummary, load_machine};

use crate::support::{request, root, run_with};

/// A kernel on a machine. Its body finds the buffer's address in `%rd1`, `with` in `%r2`, the thread's index in its block in
/// `%r3`, and may use `%r4` to `%r31`, `%f0` to `%f15`, `%d0` to `%d15` and `%rd2` to `%rd15`.
pub struct Probe<'a> {
    /// The machine's name.
    pub machine: &'a str,
    /// Path of its SMs: those at `gpu.sm` are stepped.
    pub sms: &'a str,
    /// The components, policies and runtimes of the machine.
    pub registry: fn() -> Registry,
    /// Settings of the machine.
    pub sets: &'a [&'a str],
    /// Instructions of the kernel, without the final `ret`.
    pub body: &'a str,
    /// Blocks.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
    /// Parameter `with` of the kernel.
    pub with: u32,
    /// Bytes of the buffer.
    pub buffer: u64,
}

impl Default for Probe<'_> {
    fn default() -> Self {
        Probe {
            machine: "gtx480",
            sms: "gpu.sm",
            registry,
            sets: &[],
            body: "",
            blocks: 1,
            threads: 32,
            with: 0,
            buffer: 4096,
        }
    }
}

/// Counts at the end of a run.
pub struct Counts(RunSummary);

impl Counts {
    /// The end of the run.
    pub fn end(&self) -> SimTime {
        self.0.report.outcome.time()
    }

    /// The sum of a statistic over the components whose paths begin with `path`; the rows of kernels and streams are left
    /// out.
    pub fn sum(&self, path: &str, name: &str) -> f64 {
        let own = |path: &str| !path.contains("kernels[") && !path.contains("streams[");
        let rows = self
            .0
            .report
            .stats
            .iter()
            .filter(|row| row.label.name == name && row.path.starts_with(path) && own(&row.path));
        let counts = rows.filter_map(|row| match row.value {
            StatValue::Count(count) => Some(count as f64),
            _ => None,
        });
        counts.sum()
    }
}

impl Probe<'_> {
    /// Runs to the end, or up to a time at which the kernel must still be running.
    pub fn run(&self, stop_at: Option<SimTime>) -> Counts {
        let folder = tempfile::tempdir().unwrap();
        let Probe { body, blocks, threads, with, buffer, .. } = self;
        let kernel = format!(
            ".version 7.8\n.target sm_35\n.address_size 64\n\
             .visible .entry probe(.param .u64 buffer, .param .u32 with) {{\n.reg .pred %p<4>;\n.reg .b32 %r<32>;\n\
             .reg .f32 %f<16>;\n.reg .f64 %d<16>;\n.reg .b64 %rd<16>;\n.shared .align 4 .b8 words[8192];\n\
             ld.param.u64 %rd1, [buffer];\nld.param.u32 %r2, [with];\nmov.u32 %r3, %tid.x;\n{body}\nret;\n}}\n"
        );
        std::fs::write(folder.path().join("probe.ptx"), kernel).unwrap();
        let application = format!(
            "counterpoint: 1\napplication: probe\ncode: {{ probe: probe.ptx }}\n\
             buffers:\n  buffer: {{ type: u32, elements: {} }}\n\
             kernels:\n  - launch: probe\n    grid: {blocks}\n    block: {threads}\n    registers: 20\n    \
             arguments: [buffer, {with}]\n",
            buffer / 4
        );
        let path = folder.path().join("probe.yaml");
        std::fs::write(&path, application).unwrap();
        // Code and parameters are waited for once, and bodies are longer than the caches' part of them. SMs that
        // are not stepped have neither.
        let perfect: &[&str] = &["gpu.sm.l1i.perfect=on", "gpu.sm.l1c.perfect=on"];
        let sets = [if self.sms == "gpu.sm" { perfect } else { &[] }, self.sets].concat();
        let request = request(self.machine, &path.display().to_string(), &sets);
        let counts = Counts(run_with(&RunRequest { stop_at, ..request }, (self.registry)()));
        let ended = counts.sum(self.sms, "ctas");
        let (outcome, expected) = (&counts.0.report.outcome, if stop_at.is_some() { 0 } else { *blocks });
        assert_eq!(ended, f64::from(expected), "{outcome}");
        counts
    }

    /// Counts between two times, while the kernel runs: neither its beginning nor its end is in it.
    pub fn between<const N: usize>(
        &self,
        [from, to]: [SimTime; 2],
        statistics: [(&str, &str); N],
    ) -> [f64; N] {
        let [before, after] = [from, to].map(|time| self.run(Some(time)));
        statistics.map(|(path, name)| after.sum(path, name) - before.sum(path, name))
    }
}

/// `count` lines of a body, each from its number.
pub fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (0..count).fold(String::new(), |mut body, number| {
        let _ = writeln!(body, "{}", line(number));
        body
    })
}

/// A configured machine.
pub struct Configured(Machine);

impl Configured {
    /// A named machine with settings.
    pub fn of(machine: &str, sets: &[&str]) -> Self {
        Configured::with(&registry(), machine, sets)
    }

    /// The machine `machine` with the components, policies and runtimes of `registry`.
    pub fn with(registry: &Registry, machine: &str, sets: &[&str]) -> Self {
        let loaded = load_machine(&request(machine, "", sets), registry);
        Configured(loaded.unwrap_or_else(|error| panic!("{error}")).machine)
    }

    fn instance(&self, path: &str) -> &Instance {
        self.0.instances.iter().find(|one| one.path == path).unwrap_or_else(|| panic!("no {path}"))
    }

    fn node(&self, path: &str, parameter: &str) -> &Node {
        let whole = &*self.instance(path).params;
        let found = parameter.split('.').try_fold(whole, |node, key| node.get(key));
        found.unwrap_or_else(|| panic!("{path} has no {parameter}"))
    }

    /// Text of a parameter.
    pub fn text(&self, path: &str, parameter: &str) -> &str {
        self.node(path, parameter)
            .as_scalar()
            .unwrap_or_else(|| panic!("{path}: {parameter} is not a scalar"))
    }

    /// A parameter without its unit.
    pub fn number(&self, path: &str, parameter: &str) -> f64 {
        let text = self.text(path, parameter);
        text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }

    /// A group of parameters, read.
    pub fn group<P: Params>(&self, path: &str, parameter: &str) -> P {
        let (registry, mut diagnostics) = (registry(), Diagnostics::default());
        P::read(self.node(path, parameter), &mut Reader::new(registry.families(), &mut diagnostics)).unwrap()
    }

    /// The timings of the DRAM.
    pub fn timing(&self) -> Timing {
        let timing = Timing::new(&self.group::<TimingParams>("gpu.dram[0]", "timing"));
        timing.unwrap_or_else(|invalid| panic!("{}", invalid.0))
    }

    /// Number of components whose paths begin with `path`.
    pub fn count(&self, path: &str) -> f64 {
        self.0.instances.iter().filter(|one| one.path.starts_with(path)).count() as f64
    }

    /// Cycles of a component in a microsecond.
    pub fn megahertz(&self, path: &str) -> f64 {
        self.instance(path).clock.get() as f64 / 1e6
    }
}

/// Asserts that the found value is the expected one, to 1 %.
#[track_caller]
pub fn close(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() <= 0.01, "{what}: {found}, not {expected}");
}

/// A time in cycles of 1 GHz, which the clock of a Titan X's SMs has.
pub fn cycles(time: SimTime) -> f64 {
    time.as_ps() as f64 / 1000.0
}

/// Microseconds as a time.
pub fn micros(number: f64) -> SimTime {
    SimTime::from_ps((number * 1e6) as u64)
}

/// The latencies of memory: walks of `experiments` on a GTX 480 with settings.
pub fn latencies(sets: &[&str]) -> Vec<(&'static str, f64)> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let is_walk = |name: &str| name.starts_with("chase");
    let registry = Arc::new(registry());
    let found =
        counterpoint_experiments::validation::latencies("gtx480", &sets, &is_walk, &root(), &registry);
    found.unwrap_or_else(|errors| panic!("{}", errors[0]))
}
