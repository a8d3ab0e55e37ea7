//! Totals of a whole run, as rows of its statistics: time, clocks, and sums over the SMs, the L2 slices and
//! the DRAM channels of the machine, and of each device if it has several.
//!
//! A sum has every counter of its components. Further rows have values that exist only for the total: instructions per cycle and
//! bandwidths, over the run and over the time in which kernels ran.

use std::collections::BTreeMap;

use counterpoint_framework::model::{StatLabel, StatRow, StatValue};
use counterpoint_framework::telemetry::Span;
use counterpoint_framework::time::{Hertz, SimTime};
use counterpoint_framework::topology::{Instance, Machine, RunReport};
use counterpoint_protocols::roles;

use crate::results::launches::{kernel_time, schedulers};
use crate::results::summary::SMS;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// A sort of component that is summed up: the name of the sum over a machine, and the roles.
const SORTS: [(Sort, &str, &[&str]); 3] = [
    (Sort::Sms, "machine.sms", SMS),
    (Sort::L2, "machine.l2", &[roles::L2]),
    (Sort::Dram, "machine.dram", &[roles::DRAM]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Sms,
    L2,
    Dram,
}

/// The rows of a run.
pub fn totals(machine: &Machine, report: &RunReport) -> Vec<StatRow> {
    let run = Run {
        machine,
        stats: &report.stats,
        by_path: by_path(&report.stats),
        spans: &report.trace.spans,
        time: report.outcome.time(),
    };
    let mut rows = run.times();
    for (sort, name, roles) in SORTS {
        let all: Vec<&Instance> = machine.instances.iter().filter(|one| roles.contains(&one.role)).collect();
        if all.is_empty() {
            continue;
        }
        let mut groups: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
        all.iter().for_each(|one| groups.entry(array(&one.path)).or_default().push(one));
        rows.extend(run.sum(sort, name, &all));
        if groups.len() > 1 {
            // For an array of one component, the component's own rows are the sum.
            let several = groups.into_iter().filter(|(path, _)| !run.by_path.contains_key(path));
            several.for_each(|(path, group)| rows.extend(run.sum(sort, path, &group)));
        }
    }
    rows
}

pub(crate) fn cycles(time: SimTime, clock: Hertz) -> u64 {
    (u128::from(time.as_ps()) * u128::from(clock.get()) / PS_PER_SECOND) as u64
}

/// The path of a component without its own index: that of its array.
fn array(path: &str) -> &str {
    match path.strip_suffix(']').and_then(|path| path.rsplit_once('[')) {
        Some((array, _)) => array,
        None => path,
    }
}

fn by_path(rows: &[StatRow]) -> BTreeMap<&str, &[StatRow]> {
    rows.chunk_by(|a, b| a.path == b.path).map(|rows| (rows[0].path.as_str(), rows)).collect()
}

struct Run<'a> {
    machine: &'a Machine,
    stats: &'a [StatRow],
    by_path: BTreeMap<&'a str, &'a [StatRow]>,
    spans: &'a [Span],
    time: SimTime,
}

impl<'a> Run<'a> {
    /// Simulated time, and the clocks.
    fn times(&self) -> Vec<StatRow> {
        let kernels = kernel_time(&schedulers(self.machine), self.stats, self.spans);
        let mut rows = vec![
            row("run", ("simulated_time", "ps", "Simulated time."), self.time.as_ps()),
            row(
                "run",
                ("kernel_time", "ps", "Time in which a kernel ran, from its beginning to its end."),
                kernels.as_ps(),
            ),
        ];
        let mut clocks: BTreeMap<&str, Hertz> = BTreeMap::new();
        for one in &self.machine.instances {
            clocks.insert(one.clock_name.as_deref().unwrap_or("default"), one.clock);
        }
        for (name, clock) in clocks {
            let path = format!("run.clocks[{name}]");
            rows.push(row(&path, ("frequency", "Hz", "Frequency of this clock."), clock.get()));
            rows.push(row(
                &path,
                ("cycles", "cycles", "Cycles of this clock that have elapsed."),
                cycles(self.time, clock),
            ));
        }
        rows
    }

    fn sum(&self, sort: Sort, path: &str, components: &[&'a Instance]) -> Vec<StatRow> {
        // The components' own rows, and those of each of their parts.
        let mut sums = vec![(path.to_owned(), Vec::<StatRow>::new())];
        let mut loads = (0, 0);
        for component in components {
            let own = self.rows(&component.path);
            add(&mut sums[0].1, own);
            if let Some(StatValue::Distribution { count, sum, .. }) = value(own, "load_latency") {
                loads = (loads.0 + sum, loads.1 + count);
            }
            // Parts of L2 and DRAM are launches and streams, whose sum is the component's own numbers.
            for (part, rows) in self.parts(&component.path).filter(|_| sort == Sort::Sms) {
                let path = format!("{path}.{part}");
                let place = sums.iter().position(|(known, _)| *known == path).unwrap_or_else(|| {
                    sums.push((path, Vec::new()));
                    sums.len() - 1
                });
                add(&mut sums[place].1, rows);
            }
        }
        let more = self.of_all(sort, path, components, &sums[0].1, loads);
        sums[0].1.extend(more);
        let placed = |(path, rows): (String, Vec<StatRow>)| {
            rows.into_iter().map(move |row| StatRow { path: path.clone(), ..row })
        };
        sums.into_iter().flat_map(placed).collect()
    }

    /// The parts of a component that have rows, by what comes behind its path.
    fn parts(&self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a [StatRow])> {
        let from = self.by_path.range(path..).take_while(move |(name, _)| name.starts_with(path));
        from.filter_map(move |(name, rows)| Some((name.strip_prefix(path)?.strip_prefix('.')?, *rows)))
    }

    /// Rows that exist only for all together.
    fn of_all(
        &self,
        sort: Sort,
        path: &str,
        components: &[&'a Instance],
        sums: &[StatRow],
        (load_cycles, loads): (u64, u64),
    ) -> Vec<StatRow> {
        let count = |name: &str| match value(sums, name) {
            Some(StatValue::Count(count)) => Some(count),
            _ => None,
        };
        let kernels = self.kernels_on(components);
        let mut rows = Vec::new();
        let mut ratio = |label: (&'static str, &'static str, &'static str), part: u64, whole: u64| {
            if whole > 0 {
                let label = StatLabel { name: label.0, unit: label.1, doc: label.2 };
                rows.push(StatRow { path: path.to_owned(), label, value: StatValue::Ratio { part, whole } });
            }
        };
        match sort {
            Sort::Sms => {
                let clock = components.iter().map(|one| one.clock).max().unwrap_or_default();
                let whole = cycles(kernels, clock);
                let doc = "Thread instructions of all SMs a cycle of the time in which kernels ran.";
                ratio(("ipc", "instructions/cycle", doc), count("gpu_sim_insn").unwrap_or(0), whole);
                let doc = "Warp instructions of all SMs a cycle of the time in which kernels ran.";
                ratio(("warp_ipc", "instructions/cycle", doc), count("warp_insn").unwrap_or(0), whole);
                let doc = "From the issue of a global load or atomic to its last value, on average.";
                ratio(("mean_load_latency", "cycles", doc), load_cycles, loads);
            }
            Sort::L2 => {
                if let (Some(all), Some(misses)) =
                    (count("L2_total_cache_accesses"), count("L2_total_cache_misses"))
                {
                    let label = ("L2_total_cache_hits", "sectors", "Sectors accessed that were here.");
                    rows.push(row(path, label, all.saturating_sub(misses)));
                }
            }
            Sort::Dram => {
                let bytes = count("bytes").unwrap_or(0);
                let others = components.iter().filter_map(|one| {
                    match value(self.rows(&format!("{}.no_kernel", one.path)), "bytes") {
                        Some(StatValue::Count(bytes)) => Some(bytes),
                        _ => None,
                    }
                });
                let of_kernels = bytes - others.sum::<u64>();
                let peak = count("peak_bandwidth").unwrap_or(0);
                let least =
                    |time: SimTime| (u128::from(time.as_ps()) * u128::from(peak) / PS_PER_SECOND) as u64;
                let label = ("bandwidth_of_peak", "of 1", "The share of the peak that the run reached.");
                ratio(label, bytes, least(self.time));
                let label = (
                    "kernel_bandwidth_of_peak",
                    "of 1",
                    "The share of the peak that kernels reached while they ran.",
                );
                ratio(label, of_kernels, least(kernels));
                let label = ("bandwidth", "bytes/s", "Bytes asked for and brought a second of the run.");
                rows.extend(rate(bytes, self.time).map(|rate| row(path, label, rate)));
                let label = (
                    "kernel_bandwidth",
                    "bytes/s",
                    "Bytes on behalf of kernels a second of the time in which kernels ran.",
                );
                rows.extend(rate(of_kernels, kernels).map(|rate| row(path, label, rate)));
            }
        }
        rows
    }

    /// Time for which kernels ran on the devices of these components.
    fn kernels_on(&self, components: &[&'a Instance]) -> SimTime {
        let is_here = |scheduler: &&Instance| {
            let device = scheduler.path.rsplit_once('.').map_or("", |(device, _)| device);
            components.iter().any(|one| {
                let rest = one.path.strip_prefix(device);
                device.is_empty() || rest.is_some_and(|rest| rest.starts_with('.'))
            })
        };
        let here: Vec<&Instance> = schedulers(self.machine).into_iter().filter(is_here).collect();
        kernel_time(&here, self.stats, self.spans)
    }

    fn rows(&self, path: &str) -> &'a [StatRow] {
        self.by_path.get(path).copied().unwrap_or_default()
    }
}

/// Rate a second; nothing in no time.
fn rate(amount: u64, time: SimTime) -> Option<u64> {
    let rate = (u128::from(amount) * PS_PER_SECOND).checked_div(time.as_ps().into())?;
    Some(rate as u64)
}

/// Adds the rows of a component. Percentiles do not add up, so that sums have no distributions.
fn add(sums: &mut Vec<StatRow>, rows: &[StatRow]) {
    for row in rows.iter().filter(|row| !matches!(row.value, StatValue::Distribution { .. })) {
        match sums.iter_mut().find(|known| known.label.name == row.label.name) {
            Some(known) => known.value = added(known.value, row.value),
            None => sums.push(row.clone()),
        }
    }
}

fn value(rows: &[StatRow], name: &str) -> Option<StatValue> {
    rows.iter().find(|row| row.label.name == name).map(|row| row.value)
}

/// The sum of two values of a statistic.
fn added(a: StatValue, b: StatValue) -> StatValue {
    match (a, b) {
        (StatValue::Count(a), StatValue::Count(b)) => StatValue::Count(a + b),
        (StatValue::Ratio { part, whole }, StatValue::Ratio { part: more, whole: of }) => {
            StatValue::Ratio { part: part + more, whole: whole + of }
        }
        _ => a,
    }
}

fn row(path: &str, (name, unit, doc): (&'static str, &'static str, &'static str), count: u64) -> StatRow {
    StatRow { path: path.to_owned(), label: StatLabel { name, unit, doc }, value: StatValue::Count(count) }
}

#[cfg(test)]
mod tests;
