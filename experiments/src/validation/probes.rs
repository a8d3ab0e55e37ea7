//! Latencies that programs see: the time of one more step of a chain, a walk, a loop or a stream.

use std::path::Path;
use std::sync::Arc;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::run::RunErrors;

use super::{request, verified};

/// The contents of a probe's buffer `cycles`.
#[derive(Debug)]
pub struct Probe {
    /// The application.
    pub application: &'static str,
    /// Settings of the probe, and of the machine.
    sets: &'static [&'static str],
    /// Name of each latency, position of the shorter of its two launches, and number of steps by which the
    /// longer one exceeds it.
    names: &'static [(&'static str, usize, u32)],
}

/// The probes; steps are those of the sizes in their files.
pub static PROBES: [Probe; 5] = [
    Probe {
        application: "probe-chains",
        sets: &[],
        names: &[
            ("add.s32", 0, 512),
            ("mad.lo.s32", 2, 512),
            ("div.s32", 4, 512),
            ("mul.f32", 6, 512),
            ("fma.f32", 8, 512),
            ("fma.f64", 10, 512),
            ("rsqrt.f32", 12, 512),
            ("ld.shared", 14, 512),
        ],
    },
    Probe {
        application: "probe-pipeline",
        sets: &[],
        names: &[
            ("logic", 0, 256),
            ("select", 2, 256),
            ("move", 4, 256),
            ("shift", 6, 256),
            ("convert", 8, 256),
            ("select f64", 10, 256),
            ("reciprocal", 12, 256),
            ("operand twice", 14, 256),
            ("branch", 16, 256),
            ("divergence", 18, 256),
            ("mixed latencies", 20, 256),
            ("local vectors", 22, 256),
            ("stream of loads", 24, 64),
            ("stream of stores", 26, 64),
            ("stream of rows", 28, 64),
        ],
    },
    Probe { application: "probe-chase", sets: &["app.size=l1"], names: &[("chase L1", 1, 256)] },
    Probe { application: "probe-chase", sets: &["app.size=l2"], names: &[("chase L2", 1, 512)] },
    // The ring is smaller than an L2, so the copy must not put it there.
    Probe {
        application: "probe-chase",
        sets: &["app.size=dram", "gpu.l2.warm_on_copy=off"],
        names: &[("chase DRAM", 1, 1024)],
    },
];

/// The cycles that the launches of a probe took, by the device's clock.
///
/// # Errors
/// When the run cannot begin, fails, or computes something wrong.
fn cycles(
    machine: &str,
    sets: &[String],
    probe: &Probe,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Vec<u32>, RunErrors> {
    let own = probe.sets.iter().map(|&set| set.to_owned());
    let sets: Vec<String> = sets.iter().cloned().chain(own).collect();
    let summary = verified(&request(machine, probe.application, &sets, folder), registry)?;
    let file = summary.results.iter().find(|(name, _)| name == "cycles.u32");
    let bytes = file.map(|(_, contents)| &**contents).unwrap_or_default();
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Core cycles of one step, by name, on a machine with settings. Probes without a requested latency are not
/// run.
///
/// # Errors
/// If a run cannot begin, fails, or computes a wrong result.
pub fn latencies(
    machine: &str,
    sets: &[String],
    wanted: &dyn Fn(&str) -> bool,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Vec<(&'static str, f64)>, RunErrors> {
    let mut latencies = Vec::new();
    for probe in PROBES.iter().filter(|probe| probe.names.iter().any(|(name, ..)| wanted(name))) {
        let cycles = cycles(machine, sets, probe, folder, registry)?;
        for (name, shorter, steps) in probe.names {
            if let Some([short, long]) = cycles.get(*shorter..shorter + 2) {
                latencies.push((*name, f64::from(long.wrapping_sub(*short)) / f64::from(*steps)));
            }
        }
    }
    Ok(latencies)
}
