//! Time for which each launch of a run had thread blocks on the device, from the spans of its CTA schedulers.
//!
//! The time runs from the placement of the first block to the end of the last one, so waiting for a turn does not count; waiting
//! for pages with blocks in place does.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint_framework::model::{StatRow, StatValue};
use counterpoint_framework::telemetry::{Attribute, Level, Span};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::{Instance, Machine};
use counterpoint_protocols::roles;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Counter of the cycles of a launch that has ended.
const ACTIVE: &str = "active_cycles";

/// Counter of a scheduler's cycles in which launches ran or waited.
const BUSY: &str = "gpu_tot_sim_cycle";

/// Whether a span aggregates several launches of a kernel, which were beyond the limit of spans.
pub(crate) fn is_several(span: &Span) -> bool {
    span.level == Level::Kernels && span.aggregated > 0 && attribute(span, ACTIVE).is_some()
}

/// Time for which kernels ran on the devices of these schedulers: from the beginning of each launch to its end, with overlaps
/// counted once. If some launches have no span, the time is that of the device whose kernels ran longest.
pub(crate) fn kernel_time(schedulers: &[&Instance], rows: &[StatRow], spans: &[Span]) -> SimTime {
    let here = |span: &&Span| schedulers.iter().any(|one| one.path == span.path);
    let launches: Vec<&Span> = spans.iter().filter(here).filter(|span| is_launch(span)).collect();
    if launches.is_empty() || spans.iter().filter(here).any(is_several) {
        let busy = |one: &&Instance| {
            let row = rows.iter().find(|row| row.path == one.path && row.label.name == BUSY)?;
            let StatValue::Count(cycles) = row.value else { return None };
            Some(SimTime::from_ps((u128::from(cycles) * PS_PER_SECOND / u128::from(one.clock.get())) as u64))
        };
        return schedulers.iter().filter_map(busy).max().unwrap_or_default();
    }
    SimTime::from_ps(length(&union(launches.into_iter().map(period).collect())))
}

/// Times of a run, each with its beginning and its end, in order and apart from each other.
pub(crate) type Periods = Vec<Range<u64>>;

pub(crate) fn period(span: &Span) -> Range<u64> {
    span.start.as_ps()..span.end.as_ps()
}

/// Union of periods: periods that touch or overlap are merged.
pub(crate) fn union(mut periods: Periods) -> Periods {
    periods.sort_unstable_by_key(|period| period.start);
    let mut union: Periods = Vec::new();
    for period in periods {
        match union.last_mut() {
            Some(last) if period.start <= last.end => last.end = last.end.max(period.end),
            _ => union.push(period),
        }
    }
    union
}

/// Total length of the periods.
pub(crate) fn length(periods: &Periods) -> u64 {
    periods.iter().map(|period| period.end - period.start).sum()
}

pub(crate) fn schedulers(machine: &Machine) -> Vec<&Instance> {
    machine.instances.iter().filter(|one| one.role == roles::CTA_SCHEDULER).collect()
}

/// Whether a span is that of a launch, whose name is its kernel's with its number: `step#3`.
pub fn is_launch(span: &Span) -> bool {
    // Copies have the names of buffers, which may look like launches, behind a space.
    let named = span.name.rsplit_once('#').is_some_and(|(kernel, _)| kernel == span.stem());
    span.level == Level::Kernels && span.aggregated == 0 && named && !span.name.contains(' ')
}

/// An attribute of a span that is an amount or a number.
pub fn attribute(span: &Span, name: &str) -> Option<u64> {
    span.attributes.iter().find(|(known, _)| *known == name).and_then(|(_, value)| match value {
        Attribute::Amount(value) | Attribute::Number(value) => Some(*value),
        Attribute::Text(_) => None,
    })
}

/// A launch that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchTime {
    /// Kernel of the launch.
    pub kernel: String,
    /// Number of the launch: launches of a device are numbered in the order of the program.
    pub number: u64,
    /// From the placement of its first block to the end of its last one.
    pub active: SimTime,
}

/// The launches of a run that have ended, by number; empty if some of them have no span because of the limit.
pub fn launches(machine: &Machine, spans: &[Span]) -> Vec<LaunchTime> {
    if spans.iter().any(is_several) {
        return Vec::new();
    }
    let schedulers = schedulers(machine);
    let clocks: BTreeMap<&str, u64> =
        schedulers.iter().map(|one| (one.path.as_str(), one.clock.get())).collect();
    let launch = |span: &Span| {
        let clock = *clocks.get(span.path.as_str())?;
        let (cycles, number) = (attribute(span, ACTIVE)?, attribute(span, "launch")?);
        let ps = u128::from(cycles) * PS_PER_SECOND / u128::from(clock);
        Some(LaunchTime { kernel: span.stem().to_owned(), number, active: SimTime::from_ps(ps as u64) })
    };
    let mut launches: Vec<LaunchTime> =
        spans.iter().filter(|span| is_launch(span)).filter_map(launch).collect();
    // Launches of several devices may have the same number; they stay in the order of the devices' paths.
    launches.sort_by_key(|launch| launch.number);
    launches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::summary::tests::{instance, machine, span};
    use counterpoint_framework::model::StatLabel;

    #[test]
    fn launches_are_in_the_order_of_their_numbers() {
        let machine =
            machine(vec![instance("gpu.scheduler", roles::CTA_SCHEDULER), instance("other", roles::SM)]);
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
        let times: Vec<SimTime> = found.iter().map(|launch| launch.active).collect();
        assert_eq!(times, [100, 10, 20, 30].map(SimTime::from_ns));
        // If some launches have no spans of their own, the last launch is unknown.
        let several = Span { aggregated: 9, name: "step".into(), ..spans[0].clone() };
        assert_eq!(launches(&machine, &[spans[1].clone(), several]), []);
    }

    #[test]
    fn the_time_of_launches_without_spans_is_that_of_the_busiest_device() {
        let machine = machine(vec![
            instance("gpu[0].scheduler", roles::CTA_SCHEDULER),
            instance("gpu[1].scheduler", roles::CTA_SCHEDULER),
        ]);
        let row = |device: u64, cycles| StatRow {
            path: format!("gpu[{device}].scheduler"),
            label: StatLabel { name: BUSY, unit: "", doc: "" },
            value: StatValue::Count(cycles),
        };
        let rows = [row(0, 7), row(1, 14)];
        let launch = |device: u64, start, end| Span {
            path: format!("gpu[{device}].scheduler"),
            attributes: vec![(ACTIVE, Attribute::Amount(1))],
            ..span(start, None, Level::Kernels, "step#1", start, end)
        };
        let time = |spans: &[Span]| kernel_time(&schedulers(&machine), &rows, spans).as_ps();
        let overlapping = [launch(0, 100, 400), launch(1, 300, 900), launch(1, 950, 960)];
        assert_eq!(time(&overlapping), 800 + 10);
        // Fourteen cycles of 700 MHz.
        assert_eq!(time(&[]), 20_000);
        let several = Span { aggregated: 5, name: "step".into(), ..launch(0, 0, 5_000) };
        assert_eq!(time(&[launch(0, 100, 400), several]), 20_000);
    }
}
