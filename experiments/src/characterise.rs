//! Character of kernels: the computation per access to memory, the latency of both, and the number of warps
//! that an SM needs to wait for neither.
//!
//! The measures are those of Awatramani, Zambreno and Rover ("Increasing GPU throughput using kernel interleaved thread block
//! scheduling", ICCD 2013, section II), taken from the counts of a run's SMs and not from constants:
//!
//! * *MEM* instructions are loads, stores and atomics of global, shared, local and constant memory, and texture fetches; *ALU*
//!   instructions are all others, loads of kernel parameters included. Both are counted by the warp.
//! * A latency is the mean number of cycles from the issue of an instruction to the write of its result. Instructions without a
//!   result, such as stores and branches, and loads of parameters have no part in it.
//! * The *ideal warp count* is the sum of both latencies by ALU instructions per MEM instruction: with that many warps, some
//!   warp can issue while another waits.

use std::collections::BTreeMap;
use std::io;

use counterpoint_framework::model::{StatRow, StatValue};
use counterpoint_framework::topology::Machine;
use counterpoint_simulation::roles;
use serde::Serialize;

/// First bottleneck of a kernel that has too few warps to hide its latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Bound by arithmetic: a few warps hide its latencies.
    Compute,
    /// Memory: it takes many warps.
    Memory,
}

/// Warps below which a kernel is bound by computing, by default: the value is between the two groups of the paper's Table I,
/// which end at 6.63 and begin at 12.55 warps.
pub const THRESHOLD: f64 = 9.0;

/// ALU instructions for each MEM instruction; `None` without the latter.
pub fn density(alu_insn: u64, mem_insn: u64) -> Option<f64> {
    (mem_insn > 0).then(|| alu_insn as f64 / mem_insn as f64)
}

/// Number of warps that an SM needs to hide both latencies, in cycles, at a density. A kernel that never
/// accesses memory needs none, and one of no density, which does nothing else, infinitely many.
pub fn ideal_warps(density: Option<f64>, alu_latency: f64, mem_latency: f64) -> f64 {
    density.map_or(0.0, |density| (alu_latency + mem_latency) / density)
}

/// The bound of a kernel of this ideal warp count: below the threshold, computing.
pub fn bound(ideal_warps: f64, threshold: f64) -> Bound {
    if ideal_warps < threshold { Bound::Compute } else { Bound::Memory }
}

/// A kernel with all of its launches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Character {
    /// Name of the kernel.
    pub kernel: String,
    /// Launches of the kernel.
    pub launches: u64,
    /// Their blocks.
    pub blocks: u64,
    /// Warps of a block; of launches that differ, the mean over all blocks.
    pub warps_per_block: f64,
    /// Warp instructions that do not access memory.
    pub alu_insn: u64,
    /// Warp instructions that access memory.
    pub mem_insn: u64,
    /// The former by the latter, if there are any.
    pub density: Option<f64>,
    /// Mean cycles to the result of an ALU instruction, if one had a result.
    pub alu_latency: Option<f64>,
    /// Mean cycles to the result of a MEM instruction, if one had a result.
    pub mem_latency: Option<f64>,
    /// The ideal warp count. A latency that was never measured counts as none.
    pub ideal_warps: f64,
    /// Bound of the kernel.
    #[serde(rename = "type")]
    pub bound: Bound,
    /// Blocks that an SM holds at most, by the machine's rules of occupancy; of launches that differ, the fewest.
    pub blocks_per_sm: u64,
    /// Load transactions that missed in an L1, as a share of those that accessed it; `None` if there were none.
    pub l1_miss_rate: Option<f64>,
}

/// The component of a machine that measures no latencies because it models SMs without stepping them, if
/// there is one.
pub fn unmeasured(machine: &Machine) -> Option<&str> {
    machine.instances.iter().find(|one| one.role == roles::THROUGHPUT_MODEL).map(|one| one.path.as_str())
}

/// The kernels of a run whose launches all have rows of their own, in the order of their first launches; `roles` are those of the
/// components by path.
pub fn kernels(roles: &BTreeMap<String, &'static str>, stats: &[StatRow], threshold: f64) -> Vec<Character> {
    let mut launches: BTreeMap<(u64, &str), Launch<'_>> = BTreeMap::new();
    for row in stats {
        let Some((path, kernel, number)) = launch_of(&row.path, roles) else { continue };
        let launch = launches.entry((number, path)).or_default();
        launch.kernel = kernel;
        if let StatValue::Count(count) = row.value {
            launch.counts.insert(row.label.name, count);
        }
    }
    let mut kernels: Vec<(&str, Vec<&Launch<'_>>)> = Vec::new();
    for launch in launches.values() {
        match kernels.iter_mut().find(|(name, _)| *name == launch.kernel) {
            Some((_, known)) => known.push(launch),
            None => kernels.push((launch.kernel, vec![launch])),
        }
    }
    kernels.into_iter().map(|(name, launches)| character(name, &launches, threshold)).collect()
}

/// Writes a line for each kernel, below the names of its properties; a missing property is empty.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(kernels: &[Character], out: &mut dyn io::Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    kernels.iter().try_for_each(|kernel| table.serialize(kernel))?;
    table.flush()
}

#[derive(Default)]
struct Launch<'a> {
    kernel: &'a str,
    counts: BTreeMap<&'static str, u64>,
}

impl Launch<'_> {
    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}

/// The scheduler, the kernel and the number of the launch to which a path belongs: `gpu.scheduler.kernels[step#3]`.
fn launch_of<'a>(path: &'a str, roles: &BTreeMap<String, &'static str>) -> Option<(&'a str, &'a str, u64)> {
    let (component, launch) = path.split_once(".kernels[")?;
    let (kernel, number) = launch.strip_suffix(']')?.rsplit_once('#')?;
    let is_scheduler = roles.get(component) == Some(&roles::CTA_SCHEDULER);
    is_scheduler.then_some((component, kernel, number.parse().ok()?))
}

fn character(name: &str, launches: &[&Launch<'_>], threshold: f64) -> Character {
    let sum = |name: &str| launches.iter().map(|launch| launch.count(name)).sum::<u64>();
    let mean = |part: &str, whole: &str| {
        let (part, whole) = (sum(part), sum(whole));
        (whole > 0).then(|| part as f64 / whole as f64)
    };
    let (blocks, mem_insn) = (sum("ctas"), sum("memory_insn"));
    let warps: u64 =
        launches.iter().map(|one| one.count("ctas") * one.count("cta_threads").div_ceil(32)).sum();
    let alu_insn = sum("warp_insn") - mem_insn;
    let (alu_latency, mem_latency) =
        (mean("alu_cycles", "alu_results"), mean("memory_cycles", "memory_results"));
    let density = density(alu_insn, mem_insn);
    let ideal_warps = ideal_warps(density, alu_latency.unwrap_or_default(), mem_latency.unwrap_or_default());
    Character {
        kernel: name.to_owned(),
        launches: launches.len() as u64,
        blocks,
        warps_per_block: warps as f64 / blocks.max(1) as f64,
        alu_insn,
        mem_insn,
        density,
        alu_latency,
        mem_latency,
        ideal_warps,
        bound: bound(ideal_warps, threshold),
        blocks_per_sm: launches.iter().map(|launch| launch.count("ctas_per_sm")).min().unwrap_or(0),
        l1_miss_rate: mean("L1D_total_cache_misses", "L1D_total_cache_accesses"),
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::model::StatLabel;

    use super::*;

    /// A kernel with instructions and latencies, ALU before MEM, its ideal warp count and its type.
    type Printed = (&'static str, [u64; 2], [f64; 2], f64, Bound);

    /// Table I of the paper.
    const TABLE: [Printed; 8] = [
        ("Pathfinder", [3_822_528, 692_648], [10.60, 25.95], 6.63, Bound::Compute),
        ("Backprop-1", [4_177_920, 675_840], [13.75, 26.83], 6.56, Bound::Compute),
        ("Hotspot", [3_459_423, 510_461], [12.60, 20.59], 4.90, Bound::Compute),
        ("Backprop-2", [1_802_258, 458_759], [14.45, 52.23], 16.97, Bound::Memory),
        ("Heartwall", [150_144, 25_398], [15.30, 58.93], 12.55, Bound::Memory),
        ("CFD", [933_521, 78_023], [13.37, 249.35], 21.96, Bound::Memory),
        ("LUD", [109_800, 73_800], [11.13, 53.28], 43.30, Bound::Memory),
        ("Needleman-Wunsch", [117_888, 33_152], [9.43, 80.71], 25.35, Bound::Memory),
    ];

    #[test]
    fn the_papers_table_follows_from_its_counts() {
        for (name, [alu_insn, mem_insn], [alu_latency, mem_latency], printed, sort) in TABLE {
            let found = ideal_warps(density(alu_insn, mem_insn), alu_latency, mem_latency);
            assert!((found - printed).abs() < 0.01, "{name}: {found} where {printed} is printed");
            assert_eq!(bound(found, THRESHOLD), sort, "{name}");
        }
    }

    #[test]
    fn what_is_missing_divides_nothing() {
        assert_eq!((density(7, 0), density(0, 7)), (None, Some(0.0)));
        assert_eq!(ideal_warps(None, 10.0, 0.0), 0.0);
        assert_eq!(bound(ideal_warps(density(0, 7), 0.0, 10.0), THRESHOLD), Bound::Memory);
        assert_eq!((bound(8.9, 9.0), bound(9.0, 9.0)), (Bound::Compute, Bound::Memory));
    }

    fn row(path: &str, name: &'static str, count: u64) -> StatRow {
        let label = StatLabel { name, unit: "", doc: "" };
        StatRow { path: path.to_owned(), label, value: StatValue::Count(count) }
    }

    #[test]
    fn launches_of_a_kernel_are_added_up_over_all_devices() {
        let parts = [
            ("gpu[0].scheduler", roles::CTA_SCHEDULER),
            ("gpu[1].scheduler", roles::CTA_SCHEDULER),
            ("gpu[0].l2", roles::L2),
        ];
        let parts = parts.map(|(path, role)| (path.to_owned(), role)).into();
        let launch = |path: &str, threads, fit| {
            let counts = [
                ("ctas", 2),
                ("cta_threads", threads),
                ("ctas_per_sm", fit),
                ("warp_insn", 70),
                ("memory_insn", 10),
                ("alu_results", 20),
                ("alu_cycles", 200),
                ("memory_results", 5),
                ("memory_cycles", 250),
            ];
            counts.map(|(name, count)| row(path, name, count))
        };
        let stats = [
            &launch("gpu[0].scheduler.kernels[b#10]", 64, 8)[..],
            &launch("gpu[0].scheduler.kernels[a#2]", 33, 6),
            &launch("gpu[1].scheduler.kernels[b#1]", 128, 4),
            &[row("gpu[0].scheduler.kernels[a#2].issue_slots", "used", 70)],
            &[row("gpu[0].l2.kernels[c#3]", "reads", 1)],
            &[row("gpu[0].scheduler.kernels[others]", "ctas", 1)],
        ];
        let found = kernels(&parts, &stats.concat(), 9.0);
        let b = Character {
            kernel: "b".into(),
            launches: 2,
            blocks: 4,
            warps_per_block: 3.0,
            alu_insn: 120,
            mem_insn: 20,
            density: Some(6.0),
            alu_latency: Some(10.0),
            mem_latency: Some(50.0),
            ideal_warps: 10.0,
            bound: Bound::Memory,
            blocks_per_sm: 4,
            l1_miss_rate: None,
        };
        let a = Character {
            kernel: "a".into(),
            launches: 1,
            blocks: 2,
            warps_per_block: 2.0,
            alu_insn: 60,
            mem_insn: 10,
            blocks_per_sm: 6,
            ..b.clone()
        };
        assert_eq!(found, [b, a]);
        let mut text = Vec::new();
        write_csv(&found, &mut text).unwrap();
        let expected = "kernel,launches,blocks,warps_per_block,alu_insn,mem_insn,density,alu_latency,mem_latency,ideal_warps,type,\
                        blocks_per_sm,l1_miss_rate\nb,2,4,3.0,120,20,6.0,10.0,50.0,10.0,memory,4,\n";
        assert!(String::from_utf8(text).unwrap().starts_with(expected));
    }
}
