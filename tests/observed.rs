//! Observations of system tests on a run: statistics, phases, and blocks on SMs.

use counterpoint_framework::model::StatValue;
use counterpoint_framework::telemetry::{Attribute, Level, Recording, Span};
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::run_request;

/// The sum of a statistic over all components of a kind.
pub fn total(summary: &RunSummary, kind: &str, name: &str) -> u64 {
    let of_kind = |path: &str| summary.kinds.get(path).is_some_and(|it| it == kind);
    let rows: Vec<_> = summary.report.stats.iter().filter(|row| of_kind(&row.path)).collect();
    let mut counts = rows.iter().filter(|row| row.label.name == name).map(|row| match row.value {
        StatValue::Count(count) => count,
        ref other => panic!("{name} is {other:?}"),
    });
    let first = counts.next().unwrap_or_else(|| panic!("no {kind} counts {name}"));
    first + counts.sum::<u64>()
}

/// Number of values of one component's distribution, and their mean.
pub fn mean(summary: &RunSummary, name: &str) -> (u64, f64) {
    let row = summary.report.stats.iter().find(|row| row.label.name == name);
    let row = row.unwrap_or_else(|| panic!("nobody counts {name}"));
    let StatValue::Distribution { count, sum, .. } = row.value else { panic!("{name} is {:?}", row.value) };
    (count, sum as f64 / count as f64)
}

/// A block on an SM.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// The SM.
    pub sm: u64,
    /// Beginning of the block.
    pub start: SimTime,
    /// End of the block.
    pub end: SimTime,
    /// Launch of the block.
    pub launch: u64,
    /// Kernel of the block.
    pub kernel: String,
}

impl Block {
    /// Whether it is of a pre-profiler.
    pub fn is_profiler(&self) -> bool {
        self.kernel.ends_with("__pre")
    }
}

/// The blocks of all SMs, in the order of SMs and of time.
pub fn blocks(summary: &RunSummary) -> Vec<Block> {
    let spans = summary.report.trace.spans.iter();
    let mut blocks: Vec<Block> = spans.filter(|span| span.name.starts_with("cta ")).map(block).collect();
    blocks.sort();
    blocks
}

fn block(span: &Span) -> Block {
    let attribute = |name: &str| &span.attributes.iter().find(|(known, _)| *known == name).unwrap().1;
    let number = |name| match attribute(name) {
        Attribute::Number(number) => *number,
        other => panic!("{name} is {other:?}"),
    };
    let Attribute::Text(kernel) = attribute("kernel") else { panic!("a kernel has a name") };
    let (start, end) = (span.start, span.end);
    Block { sm: number("sm"), start, end, launch: number("launch"), kernel: kernel.to_string() }
}

/// Times of a phase's beginning and end.
pub fn phase(summary: &RunSummary, name: &str) -> (SimTime, SimTime) {
    let span =
        summary.report.trace.spans.iter().find(|span| span.level == Level::Phases && span.name == name);
    let span = span.unwrap_or_else(|| panic!("there is no {name}"));
    (span.start, span.end)
}

/// A request whose run keeps the spans of blocks.
pub fn of_blocks(request: RunRequest) -> RunRequest {
    RunRequest { recording: Recording::of(Level::Ctas), ..request }
}

/// Runs with the spans of blocks.
pub fn with_blocks(request: RunRequest) -> RunSummary {
    run_request(&of_blocks(request))
}

/// Seconds of simulated time.
pub fn seconds(summary: &RunSummary) -> f64 {
    summary.report.outcome.time().as_ps() as f64 * 1e-12
}
