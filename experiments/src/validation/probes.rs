//! Latencies that programs see: what one more step of a chain or a walk takes.

use std::path::Path;
use std::sync::Arc;

use counterpoint_framework::model::Registry;

use super::{request, verified};
use crate::run::RunError;

/// What a probe's buffer `cycles` holds.
#[derive(Debug)]
pub struct Probe {
    /// The application.
    pub application: &'static str,
    /// What is set of it and of the machine.
    sets: &'static [&'static str],
    /// Steps by which the longer of two launches exceeds the shorter one.
    steps: u32,
    /// Names, and where the shorter of the two launches is.
    names: &'static [(&'static str, usize)],
}

/// The probes; steps are those of the sizes in their files.
pub static PROBES: [Probe; 4] = [
    Probe {
        application: "probe-chains",
        sets: &[],
        steps: 512,
        names: &[
            ("add.s32", 0),
            ("mad.lo.s32", 2),
            ("div.s32", 4),
            ("mul.f32", 6),
            ("fma.f32", 8),
            ("fma.f64", 10),
            ("rsqrt.f32", 12),
            ("ld.shared", 14),
        ],
    },
    Probe { application: "probe-chase", sets: &["app.size=l1"], steps: 256, names: &[("chase L1", 1)] },
    Probe { application: "probe-chase", sets: &["app.size=l2"], steps: 512, names: &[("chase L2", 1)] },
    // The ring is smaller than an L2, so it must not lie there.
    Probe {
        application: "probe-chase",
        sets: &["app.size=dram", "gpu.l2.warm_on_copy=off"],
        steps: 1024,
        names: &[("chase DRAM", 1)],
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
) -> Result<Vec<u32>, Vec<RunError>> {
    let own = probe.sets.iter().map(|&set| set.to_owned());
    let sets: Vec<String> = sets.iter().cloned().chain(own).collect();
    let summary = verified(&request(machine, probe.application, &sets, folder), registry)?;
    let file = summary.results.iter().find(|(name, _)| name == "cycles.u32");
    let bytes = file.map(|(_, contents)| contents.as_slice()).unwrap_or_default();
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Core cycles of one step, by name, on a machine with settings.
///
/// # Errors
/// When a run cannot begin, fails, or computes something wrong.
pub fn latencies(
    machine: &str,
    sets: &[String],
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Vec<(&'static str, f64)>, Vec<RunError>> {
    let mut latencies = Vec::new();
    for probe in &PROBES {
        let cycles = cycles(machine, sets, probe, folder, registry)?;
        for (name, shorter) in probe.names {
            if let Some([short, long]) = cycles.get(*shorter..shorter + 2) {
                latencies.push((*name, f64::from(long.wrapping_sub(*short)) / f64::from(probe.steps)));
            }
        }
    }
    Ok(latencies)
}
