//! The values of a point: those that columns and figures can name without a line under `statistics`.

use std::collections::BTreeMap;

use counterpoint_framework::model::{Registry, StatRow, StatValue};
use counterpoint_framework::telemetry::sinks::rounded;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::co_run::CoRun;
use counterpoint_simulation::exposure::Activity;
use counterpoint_simulation::run::RunSummary;
use counterpoint_simulation::run_value::RunValue;
use serde::{Deserialize, Serialize};

use super::growth::{Growth, growths};

/// Applications that run together whose rates and rounds are values.
const MOST_CO_RUN: usize = 4;

/// The phase in which a host reads its inputs.
const PRELUDE: &str = "prelude";
/// Phases whose length is a value, and its name.
const PHASES: [(&str, &str); 4] =
    [("H2D", "phase_h2d"), ("kernels", "phase_kernels"), ("tasks", "phase_tasks"), ("D2H", "phase_d2h")];

/// The values that every point may have, and their units. A machine that does not count a statistic has no value of it.
///
/// An activity is busy while one of its sort goes on, and exposed while nothing that counts more does ([`Activity`]). The first and
/// the last launch take from the placement of their first block to the end of their last one. Of the accesses to DRAM, those of
/// kernels leave out copies and walks through page tables; a line that a kernel left in a cache and another access evicted is the
/// kernel's. `prelude_end` is when the phase of that name has ended. The value of a phase is its total time, 0 if the phase does not
/// occur: `phase_kernels` includes `phase_tasks`, the phases of narrow tasks. For applications that run together, `window` is the time
/// in which all of them run, `rate_1` the thread instructions a second of the first in this time, `joint_time` and `joint_rate_1` are
/// the length of and the rate in the first piece of this time, and `round_1` is the time of the first application's first round
/// ([`CoRun`]).
const GENERIC: &[(&str, &str)] = &[
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
    ("window", "s"),
    ("rate_1", "instructions/s"),
    ("rate_2", "instructions/s"),
    ("rate_3", "instructions/s"),
    ("rate_4", "instructions/s"),
    ("joint_time", "s"),
    ("joint_rate_1", "instructions/s"),
    ("joint_rate_2", "instructions/s"),
    ("joint_rate_3", "instructions/s"),
    ("joint_rate_4", "instructions/s"),
    ("round_1", "s"),
    ("round_2", "s"),
    ("round_3", "s"),
    ("round_4", "s"),
];

/// A value that points may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Name of the value.
    pub name: String,
    /// Unit of the value.
    pub unit: String,
}

/// Values that points may have: the generic ones, then those of extensions ([`RunValue`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnownValues(Vec<Known>);

impl Default for KnownValues {
    /// The generic ones.
    fn default() -> Self {
        let known =
            |(name, unit): &(&str, &str)| Known { name: (*name).to_owned(), unit: (*unit).to_owned() };
        KnownValues(GENERIC.iter().map(known).collect())
    }
}

impl KnownValues {
    /// The known values, with those of the extensions of a registry.
    ///
    /// # Panics
    /// If two values have one name.
    pub fn of(registry: &Registry) -> Self {
        let mut known = Self::default();
        for RunValue { name, unit, .. } in registry.all() {
            assert!(known.unit(name).is_none(), "there are two values `{name}`");
            known.0.push(Known { name: (*name).to_owned(), unit: (*unit).to_owned() });
        }
        known
    }

    /// All known values.
    pub fn iter(&self) -> impl Iterator<Item = &Known> {
        self.0.iter()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|known| known.name.as_str())
    }

    /// The unit of a value, if it is one of these.
    pub fn unit(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|known| known.name == name).map(|known| known.unit.as_str())
    }
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

/// Stored result of a point, besides the files of its run. The result does not depend on the computer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Name of the point, for readers of the folder.
    pub point: String,
    /// Outcome of the run.
    pub outcome: String,
    /// Every result that the application expects came out.
    pub verified: bool,
    /// Values by name.
    pub values: BTreeMap<String, f64>,
    /// Progress of the launches over time, if the spans of their blocks were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<Growth>,
}

impl PointResult {
    /// The values of a run.
    pub fn new(point: String, summary: &RunSummary, registry: &Registry) -> Self {
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
        for (name, launch) in
            [("first_launch", summary.launches.first()), ("last_launch", summary.launches.last())]
        {
            values.extend(launch.map(|launch| (name.to_owned(), seconds(launch.active))));
        }
        if let Some(CoRun { window, joint, sides }) = &summary.co_run {
            values.insert("window".to_owned(), seconds(*window));
            values.insert("joint_time".to_owned(), seconds(*joint));
            for (number, side) in (1..=MOST_CO_RUN).zip(sides) {
                values.insert(format!("rate_{number}"), side.rate);
                values.insert(format!("joint_rate_{number}"), side.joint_rate);
                values.insert(format!("round_{number}"), seconds(side.round));
            }
        }
        for RunValue { name, of, .. } in registry.all() {
            values.extend(of(summary).map(|value| ((*name).to_owned(), value)));
        }
        values.values_mut().for_each(|value| *value = rounded(*value));
        let growths = growths(&summary.report.trace.spans, summary.report.outcome.time());
        PointResult { point, outcome: summary.ending(), verified: summary.is_good(), values, growths }
    }
}
