//! Counts and cycles of the launches that are compared.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use counterpoint_framework::model::{Registry, StatRow, StatValue};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::Machine;
use counterpoint_simulation::launches::{attribute, is_launch};
use counterpoint_simulation::roles;
use counterpoint_simulation::run::{Progress, RunErrors, RunSummary, load_machine, run};
use serde::Deserialize;

use super::{request, verified};

/// A kernel, and the other simulator's figures for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The application.
    pub application: String,
    /// Launches before those that are compared; the application then has a parameter `launches`.
    #[serde(default)]
    pub warm: usize,
    /// Settings of machine and application.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Counts, by the names of [`QUANTITIES`] and `cycles`.
    pub figures: BTreeMap<String, f64>,
    /// Reasons why some of these are further apart than they may be, by name.
    #[serde(default)]
    pub causes: BTreeMap<String, String>,
    /// Processor seconds that it took.
    pub cpu_seconds: f64,
}

/// A count of the other simulator, and the source of ours.
#[derive(Debug)]
pub struct Quantity {
    /// Name in the file of figures.
    pub name: &'static str,
    role: &'static str,
    statistics: &'static [&'static str],
}

const fn quantity(name: &'static str, role: &'static str, statistics: &'static [&'static str]) -> Quantity {
    Quantity { name, role, statistics }
}

/// The counts in the order in which they are shown.
pub static QUANTITIES: [Quantity; 9] = [
    quantity("warp_insn", roles::SM, &["warp_insn"]),
    quantity("gpu_sim_insn", roles::SM, &["gpu_sim_insn"]),
    quantity("l1_accesses", roles::SM, &["L1D_total_cache_accesses", "L1D_writes"]),
    quantity("l1_misses", roles::SM, &["L1D_total_cache_misses"]),
    quantity("l2_accesses", roles::L2, &["L2_total_cache_accesses"]),
    quantity("l2_misses", roles::L2, &["L2_total_cache_misses"]),
    quantity("dram_reads", roles::DRAM, &["n_rd"]),
    quantity("dram_writes", roles::DRAM, &["n_wr"]),
    quantity("dram_activates", roles::DRAM, &["n_act"]),
];

/// Result of a run of a kernel.
#[derive(Clone, Debug)]
pub struct KernelRun {
    /// Cycles first, then the counts.
    pub figures: Vec<(&'static str, u64)>,
}

impl KernelRun {
    /// Cycles of the launches.
    pub fn cycles(&self) -> u64 {
        self.figures.first().map_or(0, |(_, cycles)| *cycles)
    }
}

/// Runs a kernel and takes its figures.
///
/// # Errors
/// When a run cannot begin, fails, or computes something wrong.
pub fn kernel(
    machine: &str,
    kernel: &Kernel,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<KernelRun, RunErrors> {
    let mut sets = kernel.sets.clone();
    if kernel.warm > 0 {
        sets.push(format!("app.launches={}", kernel.warm + 1));
    }
    let request = request(machine, &kernel.application, &sets, folder);
    let loaded = load_machine(&request, registry)?.machine;
    let whole = verified(&request, registry)?;
    let ends = ends(&whole);
    let upto = |launches: usize| -> Result<BTreeMap<&'static str, u64>, RunErrors> {
        let Some(end) = launches.checked_sub(1).and_then(|last| ends.get(last)) else {
            return Ok(BTreeMap::new());
        };
        let stop_at = Some(SimTime::from_ps(end.as_ps() + 1));
        let part = counterpoint_simulation::run::RunRequest { stop_at, ..request.clone() };
        let summary = run(&part, registry, &Progress::default())?;
        Ok(counts(&loaded, &summary.report.stats))
    };
    let (all, before) = (upto(ends.len())?, upto(kernel.warm)?);
    let mut figures = vec![("cycles", cycles(&loaded, &whole, kernel.warm))];
    figures.extend(QUANTITIES.iter().map(|quantity| {
        let of = |counts: &BTreeMap<&str, u64>| counts.get(quantity.name).copied().unwrap_or(0);
        (quantity.name, of(&all) - of(&before))
    }));
    Ok(KernelRun { figures })
}

fn ends(summary: &RunSummary) -> Vec<SimTime> {
    let launches = summary.report.trace.spans.iter().filter(|span| is_launch(span));
    let mut ends: Vec<SimTime> = launches.map(|span| span.end).collect();
    ends.sort();
    ends
}

/// Cycles of the launches from `warm` on: each from its arrival at the CTA scheduler to its end, plus the launch latency in
/// the command processor, as GPGPU-Sim counts it.
fn cycles(machine: &Machine, summary: &RunSummary, warm: usize) -> u64 {
    let latency = machine.instances.iter().find(|one| one.kind == "gpu/command-processor").and_then(|one| {
        let text = one.params.get("launch_latency")?.as_scalar()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    let launches = summary.report.trace.spans.iter().filter(|span| is_launch(span));
    let measured = launches.filter(|span| attribute(span, "launch") > Some(warm as u64));
    measured.filter_map(|span| attribute(span, "cycles")).map(|cycles| cycles + latency.unwrap_or(0)).sum()
}

/// The sums of the statistics over the components of a role.
fn counts(machine: &Machine, rows: &[StatRow]) -> BTreeMap<&'static str, u64> {
    let roles = machine.roles();
    let sum = |quantity: &Quantity| -> u64 {
        let own = |row: &&StatRow| {
            roles.get(row.path.as_str()) == Some(&quantity.role)
                && quantity.statistics.contains(&row.label.name)
        };
        rows.iter().filter(own).map(count).sum()
    };
    QUANTITIES.iter().map(|quantity| (quantity.name, sum(quantity))).collect()
}

fn count(row: &StatRow) -> u64 {
    match row.value {
        StatValue::Count(count) => count,
        StatValue::Ratio { .. } | StatValue::Distribution { .. } => 0,
    }
}
