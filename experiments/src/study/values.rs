//! The values of a point: what columns and figures can name without having asked for it.

use std::collections::BTreeMap;

use counterpoint_framework::model::{StatRow, StatValue};
use counterpoint_framework::telemetry::sinks::rounded;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::exposure::Activity;
use counterpoint_simulation::launches::LaunchTimes;
use counterpoint_simulation::run::RunSummary;
use serde::{Deserialize, Serialize};

use super::growth::{Growth, growths};

/// The phase in which a host reads its inputs.
const PRELUDE: &str = "prelude";
/// Phases of which the length is a value, and its name.
const PHASES: [(&str, &str); 4] =
    [("H2D", "phase_h2d"), ("kernels", "phase_kernels"), ("tasks", "phase_tasks"), ("D2H", "phase_d2h")];

/// The values that every point may have, and their units. A machine that does not count something has no value of it.
///
/// An activity is busy while one of its sort goes on, and exposed while nothing that counts more does ([`Activity`]). The
/// first and the last launch, pre-profilers apart, take from the placement of their first block to the end of their last one;
/// so do pre-profilers, which are summed up ([`LaunchTimes`]). Of the accesses to DRAM, those of kernels leave out copies and
/// walks through page tables; what a kernel left in a cache and somebody else pushed out is the kernel's. `prelude_end` is when the phase of that name has ended,
/// and phases are as long as they last in all, nothing if there is none: `phase_kernels` holds `phase_tasks`, those of narrow tasks.
pub const NAMES: &[(&str, &str)] = &[
    ("time", "s"),
    ("cycles", "cycles"),
    ("active_cycles", "cycles"),
    ("warp_instructions", "instructions"),
    ("thread_instructions", "instructions"),
    ("ctas", "CTAs"),
    ("l1_accesses", "accesses"),
    ("l1_misses", "accesses"),
    ("l2_accesses", "accesses"),
    ("l2_misses", "accesses"),
    ("dram_reads", "accesses"),
    ("dram_writes", "accesses"),
    ("kernel_dram_reads", "accesses"),
    ("kernel_dram_writes", "accesses"),
    ("row_hits", "accesses"),
    ("row_misses", "accesses"),
    ("busy_kernels", "s"),
    ("busy_h2d", "s"),
    ("busy_d2h", "s"),
    ("busy_prelude", "s"),
    ("busy_postlude", "s"),
    ("exposed_kernels", "s"),
    ("exposed_h2d", "s"),
    ("exposed_d2h", "s"),
    ("exposed_prelude", "s"),
    ("exposed_postlude", "s"),
    ("exposed_other", "s"),
    ("prelude_end", "s"),
    ("phase_h2d", "s"),
    ("phase_kernels", "s"),
    ("phase_tasks", "s"),
    ("phase_d2h", "s"),
    ("first_launch", "s"),
    ("last_launch", "s"),
    ("profilers", "s"),
];

/// The unit of a value, if it is one that every point may have.
pub fn unit(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
}

/// Values of all, those of kernels alone, and the statistic that tells what is on behalf of none.
const OF_KERNELS: [(&str, &str, &str); 2] = [
    ("dram_reads", "kernel_dram_reads", "total_dram_reads"),
    ("dram_writes", "kernel_dram_writes", "total_dram_writes"),
];

/// The sum of a statistic over the parts of components that belong to no kernel.
fn of_no_kernel(rows: &[StatRow], statistic: &str) -> u64 {
    let rows = rows.iter().filter(|row| row.label.name == statistic && row.path.ends_with(".no_kernel"));
    let counts = rows.map(|row| match row.value {
        StatValue::Count(count) => count,
        StatValue::Ratio { .. } | StatValue::Distribution { .. } => 0,
    });
    counts.sum()
}

/// What is kept of a point, besides the files of its run. It holds nothing of the computer that it was run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// What the point is, for people who look into the folder.
    pub point: String,
    /// How the run ended.
    pub outcome: String,
    /// Every result that the application expects came out.
    pub verified: bool,
    /// Values by name.
    pub values: BTreeMap<String, f64>,
    /// How its launches went on, if the spans of their blocks were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<Growth>,
}

impl PointResult {
    /// What a run came to.
    pub fn new(point: String, summary: &RunSummary) -> Self {
        let seconds = |time: SimTime| time.as_ps() as f64 * 1e-12;
        let mut values = BTreeMap::from([("time".to_owned(), seconds(summary.report.outcome.time()))]);
        for (name, count) in &summary.figures.counts {
            values.insert(name.to_lowercase().replace(' ', "_"), *count as f64);
        }
        for (all, of_kernels, statistic) in OF_KERNELS {
            let others = || of_no_kernel(&summary.report.stats, statistic) as f64;
            let value = values.get(all).map(|all| all - others());
            values.extend(value.map(|value| (of_kernels.to_owned(), value)));
        }
        let exposure = &summary.waits.exposure;
        for activity in Activity::ALL {
            let found = exposure.activities.iter().find(|(other, _)| *other == activity);
            let one = found.map(|(_, one)| *one).unwrap_or_default();
            let name = activity.name().to_lowercase();
            values.insert(format!("busy_{name}"), seconds(one.busy));
            values.insert(format!("exposed_{name}"), seconds(one.exposed));
        }
        values.insert("exposed_other".to_owned(), seconds(exposure.other));
        let prelude = summary.phases.iter().find(|phase| phase.name == PRELUDE);
        values.extend(prelude.map(|phase| ("prelude_end".to_owned(), seconds(phase.end))));
        for (name, value) in PHASES {
            let found = summary.phases.iter().filter(|phase| phase.name == name);
            values.insert(value.to_owned(), found.map(|phase| seconds(phase.busy)).sum());
        }
        if let Some(LaunchTimes { first, last, profilers }) = LaunchTimes::of(&summary.launches) {
            let times = [("first_launch", first), ("last_launch", last), ("profilers", profilers)];
            values.extend(times.map(|(name, time)| (name.to_owned(), seconds(time))));
        }
        values.values_mut().for_each(|value| *value = rounded(*value));
        let growths = growths(&summary.report.trace.spans, summary.report.outcome.time());
        PointResult { point, outcome: summary.ending(), verified: summary.is_good(), values, growths }
    }
}
