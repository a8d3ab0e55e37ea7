//! Summary of a run: its most important numbers, computed from its spans and statistics.

use std::collections::BTreeMap;

use counterpoint_framework::model::{StatRow, StatValue};
use counterpoint_framework::telemetry::{Level, Span, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::{Machine, RunReport};
use counterpoint_protocols::roles;

use crate::results::launches::{
    attribute, is_launch, is_several, kernel_time, length, period, schedulers, union,
};
use crate::results::totals::cycles;

/// A phase of the run, or an activity that occurred several times within a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phase {
    /// Name of the phase.
    pub name: String,
    /// 0 for the run, 1 for its phases, 2 for activities within phases.
    pub depth: usize,
    /// Number of times that the phase occurred.
    pub count: u64,
    /// Time in which at least one of them ran. For spans beyond the limit only the sum of times is known: it counts as far as it fits
    /// between the beginning of the first and the end of the last.
    pub running: SimTime,
    /// The end of the last.
    pub end: SimTime,
    /// The sum of their durations, which is more where they overlap.
    pub busy: SimTime,
    /// Part of the phase was still going on when the run ended.
    pub partial: bool,
    /// Work of its launches, if it is launches of a kernel.
    pub work: Option<Work>,
}

/// Work of launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Thread instructions.
    pub instructions: u64,
    /// Cycles from the arrival of each launch to its end, summed up.
    pub cycles: u64,
    /// Cycles of warps.
    pub warp_cycles: u64,
    /// Cycles of warp slots.
    pub warp_slots: u64,
}

impl Work {
    /// Work of those of the spans that are launches that have ended.
    fn of(spans: &[&Span]) -> Option<Self> {
        let mut sum = None;
        for span in spans.iter().filter(|span| is_several(span) || is_launch(span) && !span.partial) {
            let add = |to: &mut u64, name| *to += attribute(span, name).unwrap_or(0);
            let work: &mut Work = sum.get_or_insert_default();
            add(&mut work.instructions, "thread_insn");
            add(&mut work.cycles, "cycles");
            add(&mut work.warp_cycles, "warp_cycles");
            add(&mut work.warp_slots, "warp_slots");
        }
        sum
    }

    /// Thread instructions a cycle: the statistic `gpu_ipc`.
    pub fn ipc(&self) -> Option<f64> {
        (self.cycles > 0).then(|| self.instructions as f64 / self.cycles as f64)
    }

    /// Resident warps as a share of the warp slots: the statistic `gpu_occupancy`.
    pub fn occupancy(&self) -> Option<f64> {
        (self.warp_slots > 0).then(|| self.warp_cycles as f64 / self.warp_slots as f64)
    }
}

/// Limit of launches of one kernel that are shown one by one; more are added up.
const ONE_BY_ONE: usize = 16;

/// The phases of a run in their order. Copies of one buffer are added up, and so are launches of one kernel if there are
/// many.
pub fn phases(spans: &[Span]) -> Vec<Phase> {
    let mut children: BTreeMap<Option<SpanId>, Vec<&Span>> = BTreeMap::new();
    let is_shown = |span: &&Span| span.level <= Level::Kernels && span.aggregated == 0 || is_several(span);
    for span in spans.iter().filter(is_shown) {
        children.entry(span.parent).or_default().push(span);
    }
    let mut phases = Vec::new();
    collect(None, 0, &children, &mut phases);
    phases
}

fn collect(
    parent: Option<SpanId>,
    depth: usize,
    children: &BTreeMap<Option<SpanId>, Vec<&Span>>,
    phases: &mut Vec<Phase>,
) {
    let Some(spans) = children.get(&parent) else { return };
    // Phases are listed one by one, activities within them are grouped by name.
    let mut groups: Vec<(&str, Vec<&Span>)> = Vec::new();
    for span in spans {
        let name = span.stem();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(span),
            None => groups.push((name, vec![span])),
        }
    }
    let few =
        |group: &Vec<&Span>| group.len() <= ONE_BY_ONE && group.iter().all(|span| span.stem() != span.name);
    let rows = groups.into_iter().flat_map(|(name, group)| match few(&group) {
        true => group.into_iter().map(|span| (&*span.name, vec![span])).collect(),
        false => vec![(name, group)],
    });
    for (name, group) in rows {
        let start = group.iter().map(|span| span.start).min().unwrap_or_default();
        let end = group.iter().map(|span| span.end).max().unwrap_or_default();
        let (ones, sums): (Vec<&Span>, Vec<&Span>) = group.iter().partition(|span| span.aggregated == 0);
        let beyond: u64 = sums.iter().map(|span| attribute(span, "busy_ps").unwrap_or(0)).sum();
        let running = length(&union(ones.iter().map(|span| period(span)).collect())) + beyond;
        phases.push(Phase {
            name: name.to_owned(),
            depth,
            count: group.iter().map(|span| span.aggregated.max(1)).sum(),
            running: SimTime::from_ps(running).min(end.saturating_sub(start)),
            end,
            busy: SimTime::from_ps(ones.iter().map(|span| span.duration().as_ps()).sum::<u64>() + beyond),
            partial: group.iter().any(|span| span.partial),
            work: Work::of(&group),
        });
        for span in group {
            collect(Some(span.id), depth + 1, children, phases);
        }
    }
}

/// The roles whose clock counts a machine's cycles.
pub(crate) const SMS: &[&str] = &[roles::SM, roles::THROUGHPUT_MODEL];

const DRAM: &[&str] = &[roles::DRAM];

/// Rule that joins the values of several components into one.
#[derive(Clone, Copy)]
enum Join {
    Sum,
    Largest,
}

/// A statistic that is shown: its name here, the roles of its components, and its names there.
struct Source {
    name: &'static str,
    roles: &'static [&'static str],
    statistics: &'static [&'static str],
    join: Join,
}

const fn source(
    name: &'static str,
    roles: &'static [&'static str],
    statistics: &'static [&'static str],
    join: Join,
) -> Source {
    Source { name, roles, statistics, join }
}

/// Sources of the figures, in the order in which they are shown.
const SOURCES: [Source; 12] = [
    source("active cycles", SMS, &["active_cycles"], Join::Largest),
    source("warp instructions", SMS, &["warp_insn"], Join::Sum),
    source("thread instructions", SMS, &["gpu_sim_insn"], Join::Sum),
    source("CTAs", &[roles::CTA_SCHEDULER], &["ctas"], Join::Sum),
    source("L1 accesses", SMS, &["L1D_total_cache_accesses"], Join::Sum),
    source("L1 misses", SMS, &["L1D_total_cache_misses"], Join::Sum),
    source("L2 accesses", &[roles::L2], &["L2_total_cache_accesses"], Join::Sum),
    source("L2 misses", &[roles::L2], &["L2_total_cache_misses"], Join::Sum),
    source("DRAM reads", DRAM, &["total_dram_reads"], Join::Sum),
    source("DRAM writes", DRAM, &["total_dram_writes"], Join::Sum),
    source("row hits", DRAM, &["row_hits"], Join::Sum),
    source("row misses", DRAM, &["row_misses", "row_conflicts"], Join::Sum),
];

/// Shares that are shown: name, numerator, denominator (plus the numerator, where the denominator leaves it
/// out).
const RATES: [(&str, &str, &str, bool); 3] = [
    ("L1 miss rate", "L1 misses", "L1 accesses", false),
    ("L2 miss rate", "L2 misses", "L2 accesses", false),
    ("row hit rate", "row hits", "row misses", true),
];

/// Numbers of the whole machine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Counts, in the order in which they are shown; those that the machine does not count are missing.
    pub counts: Vec<(&'static str, u64)>,
    /// Shares between 0 and 1.
    pub rates: Vec<(&'static str, f64)>,
    /// Rates of the machine with their units.
    pub speeds: Vec<Speed>,
    /// Time from the start of a task until the host knew its end, if there were tasks.
    pub task_latency: Option<Mean>,
}

/// A rate of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Name of the rate.
    pub name: &'static str,
    /// Value of the rate.
    pub value: f64,
    /// Unit of the rate.
    pub unit: &'static str,
}

/// A mean of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mean {
    /// The mean, to a picosecond.
    pub time: SimTime,
    /// Number of the times.
    pub of: u64,
}

const TASK_LATENCY: (&[&str], &str) = (&[roles::HOST], "task_latency");

impl Mean {
    /// Mean of all values of the distributions, in nanoseconds.
    fn of_nanoseconds<'a>(rows: impl Iterator<Item = &'a StatRow>) -> Option<Self> {
        let parts = rows.filter_map(|row| match row.value {
            StatValue::Distribution { count, sum, .. } => Some((u128::from(sum), u128::from(count))),
            StatValue::Count(_) | StatValue::Ratio { .. } => None,
        });
        let (sum, count) = parts.fold((0, 0), |(sum, of), (more, count)| (sum + more, of + count));
        let time = (sum * 1000).checked_div(count)?;
        Some(Mean { time: SimTime::from_ps(time as u64), of: count as u64 })
    }
}

/// The values of each source, joined; nothing where no component has one.
fn joined(rows: &[StatRow], roles: &BTreeMap<&str, &str>) -> [Option<u64>; SOURCES.len()] {
    let mut joined = [None; SOURCES.len()];
    for rows in rows.chunk_by(|a, b| a.path == b.path) {
        let Some(role) = roles.get(rows[0].path.as_str()) else { continue };
        for (source, value) in SOURCES.iter().zip(&mut joined).filter(|(one, _)| one.roles.contains(role)) {
            for row in rows.iter().filter(|row| source.statistics.contains(&row.label.name)) {
                if let StatValue::Count(count) = row.value {
                    let before = value.unwrap_or(0);
                    *value = Some(match source.join {
                        Join::Sum => before + count,
                        Join::Largest => before.max(count),
                    });
                }
            }
        }
    }
    joined
}

impl Figures {
    /// Adds up the statistics of a run.
    pub fn new(machine: &Machine, report: &RunReport) -> Self {
        let (rows, end) = (report.stats.as_slice(), report.outcome.time());
        let roles = machine.roles();
        let is_of = |row: &StatRow, wanted: &[&str]| {
            roles.get(row.path.as_str()).is_some_and(|role| wanted.contains(role))
        };
        let mut counts = Vec::new();
        let sms = machine.instances.iter().filter(|one| SMS.contains(&one.role));
        let clock = sms.map(|one| one.clock).max();
        counts.extend(clock.map(|clock| ("cycles", cycles(end, clock))));
        let values = SOURCES.iter().zip(joined(rows, &roles));
        counts.extend(values.filter_map(|(source, value)| Some((source.name, value?))));
        let (hosts, latency) = TASK_LATENCY;
        let latencies = rows.iter().filter(|row| row.label.name == latency && is_of(row, hosts));
        let task_latency = Mean::of_nanoseconds(latencies);
        let mut figures = Figures { counts, task_latency, ..Figures::default() };
        for (name, part, other, add) in RATES {
            if let (Some(part), Some(other)) = (figures.count(part), figures.count(other)) {
                let whole = if add { part + other } else { other };
                if whole > 0 {
                    figures.rates.push((name, part as f64 / whole as f64));
                }
            }
        }
        let kernels = kernel_time(&schedulers(machine), rows, &report.trace.spans);
        let of_kernels = clock.map_or(0, |clock| cycles(kernels, clock));
        if let (Some(instructions), true) = (figures.count("thread instructions"), of_kernels > 0) {
            let value = instructions as f64 / of_kernels as f64;
            figures.speeds.push(Speed { name: "IPC while kernels run", value, unit: "instructions/cycle" });
        }
        let sum = |name: &str| -> u64 {
            let own = rows.iter().filter(|row| row.label.name == name && is_of(row, DRAM));
            own.filter_map(|row| if let StatValue::Count(count) = row.value { Some(count) } else { None })
                .sum()
        };
        let (bytes, peak) = (sum("bytes"), sum("peak_bandwidth"));
        if peak > 0 && end > SimTime::ZERO {
            let rate = bytes as f64 / (end.as_ps() as f64 * 1e-12);
            figures.speeds.push(Speed { name: "DRAM bandwidth", value: rate * 1e-9, unit: "GB/s" });
            let share = 100.0 * rate / peak as f64;
            figures.speeds.push(Speed { name: "DRAM bandwidth of peak", value: share, unit: "%" });
        }
        figures
    }

    /// A count by its name.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use counterpoint_framework::kernel::Outcome;
    use counterpoint_framework::model::{Node, StatLabel};
    use counterpoint_framework::telemetry::{Attribute, Lane};
    use counterpoint_framework::time::{Hertz, Quantity};
    use counterpoint_framework::topology::Instance;

    pub(crate) fn span(
        id: u64,
        parent: Option<u64>,
        level: Level,
        name: &'static str,
        start: u64,
        end: u64,
    ) -> Span {
        Span {
            id: SpanId(id),
            parent: parent.map(SpanId),
            level,
            name: name.into(),
            path: "host".into(),
            lane: Lane::Only,
            start: SimTime::from_ps(start),
            end: SimTime::from_ps(end),
            partial: false,
            aggregated: 0,
            attributes: Vec::new(),
        }
    }

    /// A component of a role at 700 MHz for tests.
    pub(crate) fn instance(path: &str, role: &'static str) -> Instance {
        Instance {
            path: path.into(),
            kind: "some/kind".into(),
            role,
            clock_name: None,
            clock: Hertz::from_base(700_000_000),
            clock_overridden: None,
            params: Arc::new(Node::scalar("", Default::default())),
            read: None,
            overridden: Arc::default(),
            span: Default::default(),
            origin: Default::default(),
        }
    }

    pub(crate) fn machine(instances: Vec<Instance>) -> Machine {
        Machine { name: "m".into(), description: None, follows: None, instances, links: Vec::new() }
    }

    /// Report of a run of `ns` nanoseconds.
    fn report(stats: Vec<StatRow>, ns: u64) -> RunReport {
        let mut report = RunReport::of(Outcome::Finished(SimTime::from_ns(ns)));
        report.stats = stats;
        report
    }

    #[test]
    fn launches_have_instructions_a_cycle_and_occupancy_of_their_own() {
        let amount = |name, value| (name, Attribute::Amount(value));
        let launch = |id: u64, name: &'static str, numbers: [u64; 4]| Span {
            attributes: ["thread_insn", "cycles", "warp_cycles", "warp_slots"]
                .into_iter()
                .zip(numbers)
                .map(|(name, value)| amount(name, value))
                .collect(),
            ..span(id, None, Level::Kernels, name, 0, 100)
        };
        let one = launch(1, "step#1", [600, 100, 30, 120]);
        let found = phases(std::slice::from_ref(&one));
        let work = found[0].work.unwrap();
        assert_eq!((work.ipc(), work.occupancy()), (Some(6.0), Some(0.25)));
        // The sum has all launches except one that has not ended and has no numbers.
        let unfinished = Span { partial: true, ..launch(99, "step#99", [0; 4]) };
        let many =
            (0..20).map(|_| one.clone()).chain([unfinished, span(100, None, Level::Kernels, "H2D x", 0, 1)]);
        let mut spans: Vec<Span> = many.collect();
        let found = phases(&spans);
        let work = found[0].work.unwrap();
        assert_eq!((work.instructions, work.cycles, work.occupancy()), (12_000, 2_000, Some(0.25)));
        assert_eq!(found[1].work, None, "a copy");
        // Launches beyond the limit of spans share one span, with the sums of all.
        let mut several = Span { aggregated: 7, ..launch(200, "step", [4200, 700, 210, 840]) };
        several.attributes.extend([amount("active_cycles", 700), amount("busy_ps", 650)]);
        spans.push(several);
        let found = phases(&spans);
        let work = found[0].work.unwrap();
        assert_eq!((found[0].count, work.instructions, work.ipc()), (28, 16_200, Some(6.0)));
        assert_eq!(found[0].busy.as_ps(), 21 * 100 + 650);
    }

    #[test]
    fn rates_are_those_of_the_time_in_which_kernels_run() {
        let instances =
            vec![instance("x", roles::SM), instance("dram", DRAM[0]), instance("host", roles::CTA_SCHEDULER)];
        let count = |path: &str, name, count| StatRow {
            path: path.into(),
            label: StatLabel { name, unit: "", doc: "" },
            value: StatValue::Count(count),
        };
        let rows = vec![
            count("x", "gpu_sim_insn", 2800),
            count("dram", "bytes", 4000),
            count("dram", "peak_bandwidth", 16_000_000_000),
        ];
        let mut report = report(rows, 1_000);
        // Two launches that overlap: 20 ns, 14 cycles of 700 MHz.
        let launch = |id, name, start, end| span(id, None, Level::Kernels, name, start, end);
        report.trace.spans = vec![launch(1, "a#1", 10_000, 25_000), launch(2, "b#2", 15_000, 30_000)];
        let figures = Figures::new(&machine(instances), &report);
        let speeds: Vec<(&str, f64, &str)> =
            figures.speeds.iter().map(|speed| (speed.name, speed.value, speed.unit)).collect();
        let expected = [
            ("IPC while kernels run", 200.0, "instructions/cycle"),
            ("DRAM bandwidth", 4.0, "GB/s"),
            ("DRAM bandwidth of peak", 25.0, "%"),
        ];
        assert_eq!(speeds, expected);
    }

    #[test]
    fn phases_come_in_their_order_and_launches_one_by_one() {
        let spans = [
            span(1, None, Level::Phases, "run heat", 0, 100),
            span(2, Some(1), Level::Phases, "prelude", 0, 20),
            span(3, Some(1), Level::Phases, "kernels", 20, 90),
            span(4, Some(3), Level::Kernels, "step#1", 20, 50),
            span(5, Some(3), Level::Kernels, "step#2", 40, 90),
            span(6, Some(5), Level::Ctas, "cta 0", 40, 90),
        ];
        let found: Vec<_> = phases(&spans)
            .into_iter()
            .map(|phase| (phase.name, phase.depth, phase.count, phase.running.as_ps(), phase.busy.as_ps()))
            .collect();
        let expected = [
            ("run heat".to_owned(), 0, 1, 100, 100),
            ("prelude".to_owned(), 1, 1, 20, 20),
            ("kernels".to_owned(), 1, 1, 70, 70),
            ("step#1".to_owned(), 2, 1, 30, 30),
            ("step#2".to_owned(), 2, 1, 50, 50),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn many_launches_of_a_kernel_are_added_up() {
        let launch = |number: u64| Span {
            name: format!("step#{number}").into(),
            ..span(number, None, Level::Kernels, "", 10 * number, 10 * number + 5)
        };
        let spans: Vec<Span> = (1..=ONE_BY_ONE as u64 + 1).map(launch).collect();
        let found = phases(&spans);
        assert_eq!((found.len(), found[0].name.as_str(), found[0].count), (1, "step", 17));
        assert_eq!((found[0].running.as_ps(), found[0].busy.as_ps()), (85, 85));
    }

    #[test]
    fn launches_of_a_kernel_run_while_at_least_one_does() {
        let launch = |number: u64| Span {
            name: format!("step#{number}").into(),
            ..span(number, None, Level::Kernels, "", 10 * number, 10 * number + 15)
        };
        let mut spans: Vec<Span> = (1..=ONE_BY_ONE as u64 + 1).map(launch).collect();
        spans.extend((100..103).map(|id| span(id, None, Level::Kernels, "H2D x", 100 * id, 100 * id + 7)));
        let found = phases(&spans);
        assert_eq!((found[0].running.as_ps(), found[0].busy.as_ps()), (175, 17 * 15), "they overlap");
        assert_eq!((found[1].count, found[1].running.as_ps()), (3, 21), "they are apart");
        // Launches beyond the limit of spans fill at most the time that is free between the first and the last.
        let beyond = |busy| Span {
            aggregated: 9,
            attributes: vec![("busy_ps", Attribute::Amount(busy)), ("active_cycles", Attribute::Amount(1))],
            ..span(200, None, Level::Kernels, "step", 300, 500)
        };
        for (busy, running) in [(40, 175 + 40), (4000, 490)] {
            let spans: Vec<Span> = spans.iter().cloned().chain([beyond(busy)]).collect();
            assert_eq!(phases(&spans)[0].running.as_ps(), running);
        }
    }

    #[test]
    fn figures_add_up_components_of_a_role() {
        let instances =
            vec![instance("l2[0]", roles::L2), instance("l2[1]", roles::L2), instance("x", roles::SM)];
        let machine = machine(instances);
        let row = |path: &str, name, count| StatRow {
            path: path.into(),
            label: StatLabel { name, unit: "", doc: "" },
            value: StatValue::Count(count),
        };
        let rows = [
            row("l2[0]", "L2_total_cache_accesses", 6),
            row("l2[1]", "L2_total_cache_accesses", 2),
            row("l2[1]", "L2_total_cache_misses", 2),
            row("x", "L2_total_cache_misses", 100),
        ];
        let figures = Figures::new(&machine, &report(rows.into(), 1_000));
        assert_eq!(figures.counts, [("cycles", 700), ("L2 accesses", 8), ("L2 misses", 2)]);
        assert_eq!(figures.rates, [("L2 miss rate", 0.25)]);
        assert_eq!(figures.task_latency, None);
    }

    #[test]
    fn tasks_of_all_hosts_have_one_mean_latency() {
        let hosts = ["host[0]/cpu", "host[1]/cpu"].map(|path| instance(path, roles::HOST));
        let row = |path: &str, count, sum| StatRow {
            path: path.into(),
            label: StatLabel { name: "task_latency", unit: "ns", doc: "" },
            value: StatValue::Distribution { count, sum, min: 0, max: sum, percentiles: Default::default() },
        };
        let machine = machine(hosts.into());
        let rows = [row("host[0]/cpu", 3, 40), row("host[1]/cpu", 1, 2), row("elsewhere", 9, 9)];
        let figures = Figures::new(&machine, &report(rows.into(), 100));
        assert_eq!(figures.task_latency, Some(Mean { time: SimTime::from_ps(10_500), of: 4 }));
    }
}
