//! Comparison of two runs, or of two studies: their settings, their machines, and their results.
//!
//! A comparison reads the folders of runs and nothing else, so it works without the machines and applications
//! that they came from, and for runs of another version.

mod change;
mod exposure;
mod folder;
mod headline;
mod machine;
mod manifest;
mod shift;
mod statistics;
mod studies;

use std::path::Path;

pub use change::Change;
use change::differences;
pub use manifest::ManifestChanges;
pub use shift::Shift;
pub use statistics::{StatisticChanges, StatisticScope, Weighed};
pub use studies::{StudyChanges, compare_studies};

use crate::study::index::INDEX;
use counterpoint_simulation::output::MANIFEST;
use folder::RunFolder;

/// Contents of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// A run.
    Run,
    /// A study.
    Study,
}

impl Contents {
    /// Looks into a folder.
    ///
    /// # Errors
    /// If it is neither a run's nor a study's.
    pub fn of(folder: &Path) -> Result<Self, String> {
        let place = folder.display();
        match () {
            () if !folder.is_dir() => Err(format!("there is no folder `{place}`")),
            () if folder.join(MANIFEST).is_file() => Ok(Contents::Run),
            () if folder.join(INDEX).is_file() => Ok(Contents::Study),
            () => Err(format!(
                "`{place}` is neither the folder of a run, for it has no `{MANIFEST}`, nor that of a study, for it has no \
                 `{INDEX}`"
            )),
        }
    }
}

/// Differences between two runs.
#[derive(Clone, Debug)]
pub struct RunChanges {
    /// Changes in their manifests.
    pub manifest: ManifestChanges,
    /// Changes in the hashes of their applications' output.
    pub outputs: Vec<Change>,
    /// Changes in their machines.
    pub machine: Vec<Change>,
    /// Headline numbers, equal ones included; empty under the condition of `statistics`.
    pub headline: Vec<Shift>,
    /// Changes in their statistics; missing if one of the runs has left none.
    pub statistics: Option<StatisticChanges>,
    /// Exposed time in both, in picoseconds by activity, equal values included; missing under the condition
    /// of `statistics`.
    pub exposure: Option<Vec<Shift>>,
}

impl RunChanges {
    /// Whether both did the same on the same machine and came to the same.
    pub fn none(&self) -> bool {
        let same = |shifts: &Vec<Shift>| shifts.iter().all(Shift::is_none);
        self.manifest.results.is_empty()
            && self.outputs.is_empty()
            && self.machine.is_empty()
            && self.statistics.as_ref().is_none_or(StatisticChanges::none)
            && self.exposure.as_ref().is_none_or(same)
    }
}

/// Compares two runs; of the statistics those that match one of the patterns, or all if there is no pattern.
///
/// # Errors
/// If a folder is none of a run, or is damaged; if a pattern matches nothing.
pub fn compare_runs(a: &Path, b: &Path, only: &[String]) -> Result<RunChanges, String> {
    let (a, b) = (RunFolder::read(a)?, RunFolder::read(b)?);
    let records = a.records.as_ref().zip(b.records.as_ref());
    let statistics =
        records.map(|(a, b)| statistics::compare(&a.statistics, &b.statistics, only)).transpose()?;
    Ok(RunChanges {
        headline: records.map_or_else(Vec::new, |(a, b)| headline::compare(&a.statistics, &b.statistics)),
        manifest: manifest::compare(&a.manifest, &b.manifest),
        outputs: differences(&a.outputs, &b.outputs),
        machine: machine::compare(&a.machine, &b.machine),
        statistics,
        exposure: records.map(|(a, b)| exposure::compare(&a.exposed, &b.exposed)),
    })
}
