//! The value that studies have of runs with profilers.

use counterpoint::ptx::instrument::is_pre_profiler;
use counterpoint::run::{RunSummary, RunValue};

/// The time of all pre-profilers together, each from the placement of its first block to the end of its last one.
pub(crate) const PROFILERS: RunValue = RunValue { name: "profilers", unit: "s", of: profilers };

fn profilers(summary: &RunSummary) -> Option<f64> {
    let pre = summary.launches.iter().filter(|launch| is_pre_profiler(&launch.kernel));
    let ps: u64 = pre.map(|launch| launch.active.as_ps()).sum();
    (!summary.launches.is_empty()).then_some(ps as f64 * 1e-12)
}
