//! How long each launch of a run had thread blocks on the device, from the statistics of its CTA schedulers.
//!
//! That is the time from the placement of the first block to the end of the last one, so waiting for a turn does not count;
//! waiting for pages with blocks in place does.

use counterpoint_framework::model::{StatRow, StatValue};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::Machine;
use counterpoint_ptx::profile::is_pre_profiler;

/// The kind whose statistics tell of launches.
const SCHEDULER: &str = "gpu/cta-scheduler";
/// Between a scheduler's path and the name of a launch, as its statistics are called.
const KERNELS: &str = ".kernels[";
/// What counts the cycles of a launch that has ended.
const ACTIVE: &str = "active_cycles";

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

/// The launches of a run, by number.
pub fn launches(machine: &Machine, rows: &[StatRow]) -> Vec<LaunchTime> {
    let mut launches: Vec<LaunchTime> = Vec::new();
    for scheduler in machine.instances.iter().filter(|instance| instance.kind == SCHEDULER) {
        let name = |row: &StatRow| {
            let name = row.path.strip_prefix(&scheduler.path)?.strip_prefix(KERNELS)?.strip_suffix(']')?;
            let (kernel, number) = name.rsplit_once('#')?;
            Some((kernel.to_owned(), number.parse().ok()?))
        };
        for row in rows.iter().filter(|row| row.label.name == ACTIVE) {
            if let (Some((kernel, number)), StatValue::Count(cycles)) = (name(row), row.value) {
                let ps = u128::from(cycles) * 1_000_000_000_000 / u128::from(scheduler.clock.get());
                launches.push(LaunchTime { kernel, number, active: SimTime::from_ps(ps as u64) });
            }
        }
    }
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
    use crate::summary::tests::{instance, machine};
    use counterpoint_framework::model::StatLabel;

    #[test]
    fn the_first_and_the_last_kernel_are_told_from_the_profilers_before_them() {
        let machine = machine(vec![instance("gpu.scheduler", SCHEDULER), instance("other", "gpu/sm")]);
        let row = |path: &str, name, count| StatRow {
            path: path.into(),
            label: StatLabel { name, unit: "", doc: "" },
            value: StatValue::Count(count),
        };
        let rows = [
            row("gpu.scheduler.kernels[step#10]", ACTIVE, 21),
            row("gpu.scheduler.kernels[step#2]", ACTIVE, 7),
            row("gpu.scheduler.kernels[step#2]", "ctas", 3),
            row("gpu.scheduler.kernels[step__pre#1]", ACTIVE, 70),
            row("gpu.scheduler.kernels[step__pre#9]", ACTIVE, 14),
            row("gpu.scheduler.streams[0]", ACTIVE, 100),
            row("other.kernels[step#1]", ACTIVE, 100),
        ];
        let found = launches(&machine, &rows);
        let numbers: Vec<u64> = found.iter().map(|launch| launch.number).collect();
        assert_eq!(numbers, [1, 2, 9, 10]);
        // Seven cycles of 700 MHz are ten nanoseconds.
        let [first, last, profilers] = [10, 30, 120].map(SimTime::from_ns);
        assert_eq!(LaunchTimes::of(&found), Some(LaunchTimes { first, last, profilers }));
        assert_eq!(LaunchTimes::of(&found[..1]), None);
    }
}
