//! How long each launch of a run had thread blocks on the device, from the spans of its CTA schedulers.
//!
//! That is the time from the placement of the first block to the end of the last one, so waiting for a turn does not count;
//! waiting for pages with blocks in place does.

use std::collections::BTreeMap;

use counterpoint_framework::telemetry::{Attribute, Level, Span};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::Machine;
use counterpoint_ptx::profile::is_pre_profiler;

/// The kind whose spans tell of launches.
pub(crate) const SCHEDULER: &str = "gpu/cta-scheduler";
/// What counts the cycles of a launch that has ended.
const ACTIVE: &str = "active_cycles";

/// Whether a span is that of a launch, whose name is its kernel's with its number: `step#3`.
pub fn is_launch(span: &Span) -> bool {
    // Copies have the names of buffers, which may look like launches, behind a space.
    let named = span.name.rsplit_once('#').is_some_and(|(kernel, _)| kernel == span.stem());
    span.level == Level::Kernels && span.aggregated == 0 && named && !span.name.contains(' ')
}

/// An amount or a number that a span tells.
pub(crate) fn attribute(span: &Span, name: &str) -> Option<u64> {
    span.attributes.iter().find(|(known, _)| *known == name).and_then(|(_, value)| match value {
        Attribute::Amount(value) | Attribute::Number(value) => Some(*value),
        Attribute::Text(_) => None,
    })
}

/// A launch that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchTime {
    /// Its kernel.
    pub kernel: String,
    /// Its number: launches of a device are numbered in the order of the program.
    pub number: u64,
    /// From the placement of its first block to the end of its last one.
    pub active: SimTime,
}

/// What the launches of a run come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchTimes {
    /// The first launch that is no pre-profiler.
    pub first: SimTime,
    /// The last one.
    pub last: SimTime,
    /// All pre-profilers, summed up.
    pub profilers: SimTime,
}

/// The launches of a run that have ended, by number.
pub fn launches(machine: &Machine, spans: &[Span]) -> Vec<LaunchTime> {
    let schedulers = machine.instances.iter().filter(|instance| instance.kind == SCHEDULER);
    let clocks: BTreeMap<&str, u64> = schedulers.map(|one| (one.path.as_str(), one.clock.get())).collect();
    let launch = |span: &Span| {
        let clock = *clocks.get(span.path.as_str())?;
        let (cycles, number) = (attribute(span, ACTIVE)?, attribute(span, "launch")?);
        let ps = u128::from(cycles) * 1_000_000_000_000 / u128::from(clock);
        Some(LaunchTime { kernel: span.stem().to_owned(), number, active: SimTime::from_ps(ps as u64) })
    };
    let mut launches: Vec<LaunchTime> =
        spans.iter().filter(|span| is_launch(span)).filter_map(launch).collect();
    // Launches of several devices may have the same number; they stay in the order of the devices' paths.
    launches.sort_by_key(|launch| launch.number);
    launches
}

impl LaunchTimes {
    /// Of these launches, by number; `None` without one that is no pre-profiler.
    pub fn of(launches: &[LaunchTime]) -> Option<Self> {
        let (profilers, kernels): (Vec<&LaunchTime>, Vec<&LaunchTime>) =
            launches.iter().partition(|launch| is_pre_profiler(&launch.kernel));
        let profilers = profilers.iter().map(|launch| launch.active.as_ps()).sum();
        Some(LaunchTimes {
            first: kernels.first()?.active,
            last: kernels.last()?.active,
            profilers: SimTime::from_ps(profilers),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{instance, machine, span};

    #[test]
    fn the_first_and_the_last_kernel_are_told_from_the_profilers_before_them() {
        let machine = machine(vec![instance("gpu.scheduler", SCHEDULER), instance("other", "gpu/sm")]);
        let launch = |path: &str, name: &'static str, number: u64, cycles: u64| Span {
            path: path.into(),
            attributes: vec![("launch", Attribute::Number(number)), (ACTIVE, Attribute::Amount(cycles))],
            ..span(number, None, Level::Kernels, name, 0, 1)
        };
        let spans = [
            launch("gpu.scheduler", "step#10", 10, 21),
            launch("gpu.scheduler", "step#2", 2, 7),
            launch("gpu.scheduler", "step__pre#1", 1, 70),
            launch("gpu.scheduler", "step__pre#9", 9, 14),
            launch("gpu.scheduler", "step 3", 3, 100),
            launch("other", "step#1", 1, 100),
            Span { attributes: Vec::new(), ..launch("gpu.scheduler", "step#11", 11, 0) },
        ];
        let found = launches(&machine, &spans);
        let numbers: Vec<u64> = found.iter().map(|launch| launch.number).collect();
        assert_eq!(numbers, [1, 2, 9, 10]);
        // Seven cycles of 700 MHz are ten nanoseconds.
        let [first, last, profilers] = [10, 30, 120].map(SimTime::from_ns);
        assert_eq!(LaunchTimes::of(&found), Some(LaunchTimes { first, last, profilers }));
        assert_eq!(LaunchTimes::of(&found[..1]), None);
    }
}
