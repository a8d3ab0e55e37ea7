//! Activity of a machine over time, as curves: the usual rates, computed from the time series of its
//! counters.

use counterpoint_framework::telemetry::{Curve, Series};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::Machine;
use counterpoint_protocols::roles;

/// Rule that turns the increases of two sets of counters into a value.
#[derive(Clone, Copy)]
enum Rate {
    /// The first, per cycle of the SMs' clock.
    PerCycle,
    /// The first, in billions per second.
    PerNanosecond,
    /// One minus the share of the first in the second.
    NotOf,
    /// The first in percent of the total time of all components.
    Busy,
}

/// A curve: its name, unit, kind of component, counters and rate.
struct Source {
    name: &'static str,
    unit: &'static str,
    role: &'static str,
    counters: [&'static [&'static str]; 2],
    rate: Rate,
}

const fn source(
    name: &'static str,
    unit: &'static str,
    role: &'static str,
    counters: [&'static [&'static str]; 2],
    rate: Rate,
) -> Source {
    Source { name, unit, role, counters, rate }
}

/// Sources of the curves, in the order in which they are shown.
const SOURCES: [Source; 8] = [
    source("IPC", "warp instructions/cycle", roles::SM, [&["warp_insn"], &[]], Rate::PerCycle),
    source("thread IPC", "instructions/cycle", roles::SM, [&["gpu_sim_insn"], &[]], Rate::PerCycle),
    source(
        "L1 hit rate",
        "of 1",
        roles::SM,
        [&["L1D_total_cache_misses"], &["L1D_total_cache_accesses"]],
        Rate::NotOf,
    ),
    source(
        "L2 hit rate",
        "of 1",
        roles::L2,
        [&["L2_total_cache_misses"], &["L2_total_cache_accesses"]],
        Rate::NotOf,
    ),
    source("DRAM bandwidth", "GB/s", roles::DRAM, [&["bytes"], &[]], Rate::PerNanosecond),
    source("PCIe to device", "GB/s", roles::PCIE, [&["downstream_bytes"], &[]], Rate::PerNanosecond),
    source("PCIe to host", "GB/s", roles::PCIE, [&["upstream_bytes"], &[]], Rate::PerNanosecond),
    source("storage busy", "%", roles::STORAGE, [&["busy"], &[]], Rate::Busy),
];

/// The curves of a run that ended at `end`: those whose counters the machine has. A ratio whose denominator
/// is 0 has no point.
pub fn curves(machine: &Machine, series: &Series, end: SimTime) -> Vec<Curve> {
    let roles = machine.roles();
    let clock = machine.instances.iter().filter(|one| one.role == roles::SM).map(|one| one.clock.get()).max();
    let every = series.every.as_ps().max(1);
    let intervals = end.as_ps().div_ceil(every) as usize;
    let of = |source: &Source| {
        let part = |counter: &counterpoint_framework::model::CounterName| {
            let own = roles.get(counter.path.as_str()) == Some(&source.role);
            source.counters.iter().position(|names| own && names.contains(&counter.label.name))
        };
        let counted: Vec<Option<usize>> = series.counters.iter().map(part).collect();
        if !counted.contains(&Some(0)) {
            return None;
        }
        let mut sums = vec![[0_u64; 2]; intervals];
        for point in series.points() {
            if let Some(part) = counted[point.counter]
                && let Some(sums) = sums.get_mut((point.time.as_ps().div_ceil(every) as usize).max(1) - 1)
            {
                sums[part] += point.increase;
            }
        }
        let components = roles.values().filter(|role| **role == source.role).count() as f64;
        let value = |(index, [part, whole]): (usize, [u64; 2])| {
            let start = index as u64 * every;
            let length = every.min(end.as_ps() - start) as f64;
            let value = match source.rate {
                Rate::PerCycle => part as f64 / (length * clock? as f64 * 1e-12),
                Rate::PerNanosecond => part as f64 / (length * 1e-3),
                Rate::NotOf if whole == 0 => return None,
                Rate::NotOf => 1.0 - part as f64 / whole as f64,
                Rate::Busy => 100.0 * part as f64 / (length * components),
            };
            Some((SimTime::from_ps(start), value))
        };
        let points = sums.into_iter().enumerate().filter_map(value).collect();
        Some(Curve { name: source.name, unit: source.unit, points })
    };
    SOURCES.iter().filter_map(of).collect()
}
