//! Speed and memory of measured points, which are no results, and estimates for the other points.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use counterpoint_simulation::output::{Folder, WriteError};
use serde::{Deserialize, Serialize};

use super::Study;
use super::store::{PointKey, finished, point_folder};

/// The file of a point's speed, in its folder.
pub(super) const SPEED: &str = "speed.json";
/// The speeds of all points, as a table.
const SPEEDS: &str = "speeds.csv";

/// Speed of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Seconds of the simulation alone.
    pub wall_s: f64,
    /// Processor seconds of the simulation alone; of all runs at that time, if there were several.
    pub cpu_s: f64,
    /// Processor seconds of the run, with loading and files.
    #[serde(default)]
    pub run_cpu_s: f64,
    /// Seconds from its claim to its result.
    pub whole_s: f64,
    /// Clock cycles of its GPUs.
    pub cycles: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// The most memory of the process while it ran, in KiB; 0 if the system does not report it.
    pub peak_kib: u64,
}

/// The speed of a finished point, if it was measured here.
fn speed(folder: &Path, key: &PointKey) -> Option<Speed> {
    let text = fs::read_to_string(point_folder(folder, key).join(SPEED)).ok()?;
    serde_json::from_str(&text).ok()
}

/// The most memory of this process, in KiB, since it began or since [`forget_peak`].
pub(super) fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Has the system measure the most memory of this process anew.
pub(super) fn forget_peak() {
    // If the system forbids the reset, the peak is that of the largest point so far, which is still an upper bound.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Writes the table of speeds, in the order of the study.
///
/// # Errors
/// If it cannot be written.
pub fn write_speeds(folder: &Path, study: &Study, keys: &[PointKey]) -> Result<(), WriteError> {
    Folder::at(folder)?.write(SPEEDS, |out| {
        writeln!(out, "point,wall_s,cpu_s,cycles,warp_instructions,peak_mib")?;
        for (point, key) in study.points.iter().zip(keys) {
            let Some(speed) = speed(folder, key) else { continue };
            line(out, &point.name(), &speed)?;
        }
        Ok(())
    })
}

fn line(out: &mut dyn Write, name: &str, speed: &Speed) -> io::Result<()> {
    let Speed { wall_s, cpu_s, cycles, warp_instructions, peak_kib, .. } = speed;
    let name = name.replace('"', "'");
    writeln!(
        out,
        "\"{name}\",{wall_s:.3},{cpu_s:.2},{cycles},{warp_instructions},{}",
        peak_kib.div_ceil(1024)
    )
}

/// Expectations of points, from those that were measured.
#[derive(Clone, Debug, Default)]
pub struct Expectation {
    /// Expected seconds of each point of the study.
    pub seconds: Vec<f64>,
    /// The most memory of a measured point, in KiB.
    pub peak_kib: u64,
    /// Points that were measured.
    pub measured: usize,
}

impl Expectation {
    /// Reads the measurements. The expectation for an unmeasured point is the mean of all measured ones, times a factor for each
    /// of its labels: the mean of the points with that label by the mean of all.
    pub fn of(study: &Study, keys: &[PointKey], folder: &Path) -> Self {
        // Only existing files are read.
        let there = finished(folder);
        let own = |key: &PointKey| if there.contains(key) { speed(folder, key) } else { None };
        let speeds: Vec<Option<Speed>> = keys.iter().map(own).collect();
        let seconds: Vec<Option<f64>> = speeds.iter().map(|speed| speed.map(|speed| speed.whole_s)).collect();
        let labels: Vec<&[String]> = study.points.iter().map(|point| point.labels.as_slice()).collect();
        Expectation {
            seconds: expected(&labels, &seconds),
            peak_kib: speeds.iter().flatten().map(|speed| speed.peak_kib).max().unwrap_or_default(),
            measured: speeds.iter().flatten().count(),
        }
    }
}

/// The seconds of each point: its own if they are known.
fn expected(labels: &[&[String]], known: &[Option<f64>]) -> Vec<f64> {
    #[derive(Default)]
    struct Sum(f64, f64);
    impl Sum {
        fn add(&mut self, value: f64) {
            *self = Sum(self.0 + value, self.1 + 1.0);
        }
        fn mean(&self) -> f64 {
            if self.1 > 0.0 { self.0 / self.1 } else { 0.0 }
        }
    }
    let mut all = Sum::default();
    let mut by_label: BTreeMap<(usize, &str), Sum> = BTreeMap::new();
    for (labels, seconds) in labels.iter().zip(known) {
        let Some(seconds) = *seconds else { continue };
        all.add(seconds);
        for (dimension, label) in labels.iter().enumerate() {
            by_label.entry((dimension, label.as_str())).or_default().add(seconds);
        }
    }
    let mean = all.mean();
    let factor = |dimension: usize, label: &str| match by_label.get(&(dimension, label)) {
        Some(sum) if mean > 0.0 => sum.mean() / mean,
        _ => 1.0,
    };
    let estimate = |labels: &[String]| {
        labels.iter().enumerate().map(|(dimension, label)| factor(dimension, label)).product::<f64>() * mean
    };
    labels.iter().zip(known).map(|(labels, known)| known.unwrap_or_else(|| estimate(labels))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_were_not_measured_are_expected_to_behave_as_their_labels() {
        let labels: Vec<Vec<String>> = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"], ["c", "y"]]
            .map(|labels| labels.map(str::to_owned).to_vec())
            .to_vec();
        let labels: Vec<&[String]> = labels.iter().map(Vec::as_slice).collect();
        // Times are products: `b` takes three times as long as `a`, `y` twice as long as `x`.
        let all = [1.0, 2.0, 3.0, 6.0];
        let found = expected(&labels, &[Some(1.0), Some(2.0), Some(3.0), None, None]);
        assert_eq!(found[..3], all[..3]);
        // The mean is 2; `b` has 3 / 2 of it, `y` 2 / 2.
        assert!((found[3] - 3.0).abs() < 1e-12, "{found:?}");
        // A label that nobody has measured has no factor.
        assert!((found[4] - 2.0).abs() < 1e-12, "{found:?}");
        assert_eq!(expected(&labels, &[None; 5]), [0.0; 5]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_is_that_since_it_was_forgotten() {
        let before = peak_kib();
        let large = vec![1_u8; 64 << 20];
        assert!(peak_kib() >= before.max(64 << 10), "{} bytes are used", std::hint::black_box(&large).len());
        assert!(large.iter().all(|byte| *byte == 1));
    }
}
