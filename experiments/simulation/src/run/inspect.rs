//! Inspection of a paused simulation, and conditions on its state.

use counterpoint_framework::kernel::{PortInspection, Waits};
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_framework::model::{StatRow, StatValue};
use counterpoint_framework::time::SimTime;

use super::errors::RunErrors;

/// View of a simulation. It is the same on any number of threads.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// All events before this time have happened, and none at it or after it; for a run that has ended, its
    /// end.
    pub time: SimTime,
    /// Launches of kernels that have ended.
    pub launches_ended: u64,
    pub(super) statistics: Vec<StatRow>,
    pub(super) ports: Vec<PortInspection>,
    pub(super) waits: Waits,
}

impl Inspection {
    /// The statistics of all components so far, as `stats.json` has them at the end: path, name, unit,
    /// meaning and value, in the order of the paths. Counts that a component makes only when it wakes, such
    /// as the cycles that it sleeps, are included once it has woken.
    pub fn statistics(&self) -> &[StatRow] {
        &self.statistics
    }

    /// A statistic by the path of its component, or of a part of it, and its name; `None` if it does not
    /// exist yet.
    pub fn statistic(&self, path: &str, name: &str) -> Option<&StatRow> {
        self.statistics.iter().find(|row| row.path == path && row.label.name == name)
    }

    /// A statistic as a number, in its own unit: a count, a ratio from 0 to 1, or the mean of a distribution.
    pub fn value(&self, path: &str, name: &str) -> Option<f64> {
        self.statistic(path, name).map(|row| number(row.value))
    }

    /// Occupancy of each link, in the machine's order; empty for a run that has ended.
    pub fn ports(&self) -> &[PortInspection] {
        &self.ports
    }

    /// The waits between components; their text has a line for each. There are none in a run that has ended.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// An error if no component has the statistic, and none can have it later.
    fn knows(&self, path: &str, name: &str) -> Result<(), RunErrors> {
        if self.statistic(path, name).is_some() {
            return Ok(());
        }
        let own = |row: &&StatRow| row.path == path;
        if self.statistics.iter().any(|row| own(&row)) {
            let names: Vec<&str> = self.statistics.iter().filter(own).map(|row| row.label.name).collect();
            return Err(unknown(format!("`{path}` has no statistic `{name}`"), name, &names));
        }
        let paths: Vec<&str> = self.statistics.iter().map(|row| row.path.as_str()).collect();
        // Parts, such as launches, come up while the run goes on.
        let is_part = |known: &&str| path.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'));
        match paths.iter().any(is_part) {
            true => Ok(()),
            false => Err(unknown(format!("no component `{path}` has statistics"), path, &paths)),
        }
    }
}

/// Error for an unknown name, with the nearest name or with some of the known names.
fn unknown(message: String, written: &str, names: &[&str]) -> RunErrors {
    let help = match nearest(written, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("it has `{}`", names[..names.len().min(12)].join("`, `")),
    };
    RunErrors::usage(format!("{message}; {help}"))
}

fn number(value: StatValue) -> f64 {
    match value {
        StatValue::Count(count) => count as f64,
        StatValue::Ratio { part, whole } => part as f64 / whole as f64,
        StatValue::Distribution { count: 0, .. } => 0.0,
        StatValue::Distribution { count, sum, .. } => sum as f64 / count as f64,
    }
}

/// A condition to wait for. The condition is tested when the wait begins and then at every multiple of a step
/// of simulated time, so that the time at which it is found to hold does not depend on threads, or on the
/// computer.
pub struct Condition<'a> {
    pub(super) test: Test<'a>,
    pub(super) every: SimTime,
}

pub(super) enum Test<'a> {
    Inspection(Box<dyn FnMut(&Inspection) -> bool + 'a>),
    Statistic { path: String, name: String, least: f64 },
    Launches(u64),
}

impl<'a> Condition<'a> {
    /// The step of a condition that names none: a microsecond.
    pub const EVERY: SimTime = SimTime::from_ns(1_000);

    /// Anything that an inspection shows. Each test inspects the whole machine.
    pub fn when(test: impl FnMut(&Inspection) -> bool + 'a) -> Self {
        Condition { test: Test::Inspection(Box::new(test)), every: Self::EVERY }
    }

    /// A statistic of a component, or of a part of it, is at least a number, in its own unit: see [`Inspection::value`].
    pub fn statistic(path: impl Into<String>, name: impl Into<String>, least: f64) -> Self {
        let test = Test::Statistic { path: path.into(), name: name.into(), least };
        Condition { test, every: Self::EVERY }
    }

    /// Condition that this number of kernel launches has ended, as the host sees it. The test costs next to
    /// nothing.
    pub fn launches_ended(number: u64) -> Self {
        Condition { test: Test::Launches(number), every: Self::EVERY }
    }

    /// This condition, tested at multiples of `step`; at every picosecond for zero.
    pub fn every(self, step: SimTime) -> Self {
        Condition { every: step.max(SimTime::from_ps(1)), ..self }
    }
}

impl Test<'_> {
    /// An error if the test names a missing component or statistic.
    pub(super) fn check(&self, inspection: &Inspection) -> Result<(), RunErrors> {
        match self {
            Test::Statistic { path, name, .. } => inspection.knows(path, name),
            Test::Inspection(_) | Test::Launches(_) => Ok(()),
        }
    }

    pub(super) fn holds(&mut self, inspection: &Inspection) -> bool {
        match self {
            Test::Inspection(test) => test(inspection),
            Test::Statistic { path, name, least } => {
                inspection.value(path, name).is_some_and(|value| value >= *least)
            }
            Test::Launches(number) => inspection.launches_ended >= *number,
        }
    }
}
