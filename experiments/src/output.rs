//! The folder in which a run leaves its results.
//!
//! A file appears under its own name only when it is whole: it is written under a temporary name first. What the
//! application writes keeps its temporary name when the run did not finish, so that no half of a result looks like one.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use counterpoint_framework::telemetry::Curve;
#[cfg(feature = "parquet")]
use counterpoint_framework::telemetry::sinks::parquet;
use counterpoint_framework::telemetry::sinks::{csv, perfetto, stats};
use counterpoint_framework::topology::RunReport;

use crate::waits::Waits;

/// Statistics, a line each.
pub const STATS_TEXT: &str = "stats.txt";
/// Statistics by component.
pub const STATS_JSON: &str = "stats.json";
/// Statistics, a line each, for spreadsheets.
pub const STATS_CSV: &str = "stats.csv";
/// How much each counter grew in each interval.
pub const SERIES: &str = "series.csv";
/// Statistics, for data frames; written only by a build with the feature `parquet`.
pub const STATS_PARQUET: &str = "stats.parquet";
/// How much each counter grew, for data frames; likewise.
pub const SERIES_PARQUET: &str = "series.parquet";
/// Rates of the machine over time.
pub const CURVES: &str = "curves.csv";
/// What was exposed and what hidden.
pub const EXPOSURE: &str = "exposure.csv";
/// What led to the end of the run.
pub const CRITICAL_PATH: &str = "critical_path.csv";
/// Writes to the buffers that were watched.
pub const WRITES: &str = "writes.csv";
/// What happened when, for Perfetto.
pub const SPANS: &str = "spans.perfetto.json";
/// Spans that no server took, for `counterpoint export`. It is there only if there are such spans.
pub const UNSENT: &str = "spans.otlp.jsonl";
/// The machine as it was run.
pub const MACHINE: &str = "machine.yaml";
/// What was run, and how it ended.
pub const MANIFEST: &str = "manifest.yaml";

/// What every run has recorded.
pub const RECORDS: &[&str] = &[
    STATS_TEXT,
    STATS_JSON,
    STATS_CSV,
    #[cfg(feature = "parquet")]
    STATS_PARQUET,
    EXPOSURE,
    CRITICAL_PATH,
    SPANS,
];

/// Names that an application's output files cannot have, whatever the features of this build: an earlier run of another
/// one may have left such a file.
pub const RESERVED: [&str; 14] = [
    STATS_TEXT,
    STATS_JSON,
    STATS_CSV,
    STATS_PARQUET,
    SERIES,
    SERIES_PARQUET,
    CURVES,
    EXPOSURE,
    CRITICAL_PATH,
    WRITES,
    SPANS,
    UNSENT,
    MACHINE,
    MANIFEST,
];

/// What is put behind the name of a file that is not whole.
const PARTIAL: &str = ".partial";

/// The folder of a run.
pub struct Folder {
    path: PathBuf,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// Its path.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write `{}`: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for WriteError {}

impl Folder {
    /// Makes the folder and removes what an earlier run left of these files: the results of two runs never mix.
    pub fn create(path: &Path, outputs: &[String]) -> Result<Self, WriteError> {
        let folder = Self::at(path)?;
        for name in RESERVED.into_iter().chain(outputs.iter().map(String::as_str)) {
            for old in [folder.path.join(name), folder.temporary(name)] {
                match std::fs::remove_file(&old) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(WriteError { path: old, error });
                    }
                    _ => {}
                }
            }
        }
        Ok(folder)
    }

    /// Makes the folder if it is not there, and leaves what is in it.
    pub fn at(path: &Path) -> Result<Self, WriteError> {
        std::fs::create_dir_all(path).map_err(|error| WriteError { path: path.to_owned(), error })?;
        Ok(Folder { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn temporary(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{PARTIAL}"))
    }

    /// Writes a file; it gets its name only when it is whole.
    pub fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        self.write_temporary(name, fill)?;
        let path = self.path.join(name);
        std::fs::rename(self.temporary(name), &path).map_err(|error| WriteError { path, error })
    }

    fn write_temporary(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = self.temporary(name);
        let attempt = || {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mut out = BufWriter::new(std::fs::File::create(&path)?);
            fill(&mut out)?;
            out.flush()
        };
        attempt().map_err(|error| WriteError { path: path.clone(), error })
    }

    /// Writes a file of the application, whole or not; nothing at all if nothing of a partial one was written.
    pub fn write_output(
        &self,
        name: &str,
        contents: &[u8],
        whole: bool,
    ) -> Result<Option<PathBuf>, WriteError> {
        if whole {
            self.write(name, |out| out.write_all(contents))?;
            return Ok(Some(self.path.join(name)));
        }
        if contents.is_empty() {
            return Ok(None);
        }
        self.write_temporary(name, |out| out.write_all(contents))?;
        Ok(Some(self.temporary(name)))
    }

    /// Writes statistics, time series if there are any, and spans.
    pub fn write_records(
        &self,
        report: &RunReport,
        curves: &[Curve],
        waits: &Waits,
        partial: bool,
    ) -> Result<(), WriteError> {
        let spans = &report.trace.spans;
        self.write(STATS_TEXT, |out| stats::write_text(&report.stats, partial, out))?;
        self.write(STATS_JSON, |out| stats::write_json(&report.stats, partial, out))?;
        self.write(STATS_CSV, |out| csv::write_stats(&report.stats, out))?;
        #[cfg(feature = "parquet")]
        self.write(STATS_PARQUET, |out| parquet::write_stats(&report.stats, out))?;
        if let Some(series) = &report.series {
            #[cfg(feature = "parquet")]
            self.write(SERIES_PARQUET, |out| parquet::write_series(series, out))?;
            self.write(SERIES, |out| csv::write_series(series, out))?;
            self.write(CURVES, |out| csv::write_curves(curves, out))?;
        }
        self.write(EXPOSURE, |out| waits.write_exposure(spans, out))?;
        self.write(CRITICAL_PATH, |out| waits.write_path(spans, out))?;
        self.write(SPANS, |out| perfetto::write(spans, curves, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_outputs_keep_their_temporary_name() {
        let root = tempfile::tempdir().unwrap();
        let outputs = ["sub/x.f32".to_owned()];
        let folder = Folder::create(root.path(), &outputs).unwrap();
        let path = folder.write_output("sub/x.f32", b"half", false).unwrap().unwrap();
        assert!(path.ends_with("sub/x.f32.partial") && path.exists());
        assert_eq!(folder.write_output("y", b"", false).unwrap(), None);
        let again = Folder::create(root.path(), &outputs).unwrap();
        assert!(!path.exists(), "an earlier run's half is removed");
        again.write_output("sub/x.f32", b"whole", true).unwrap();
        assert_eq!(std::fs::read(root.path().join("sub/x.f32")).unwrap(), b"whole");
        assert!(!path.exists());
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn records_are_there_as_parquet_too() {
        use counterpoint_framework::kernel::Outcome;
        use counterpoint_framework::telemetry::Series;
        use counterpoint_framework::time::SimTime;

        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), &[]).unwrap();
        let report = RunReport::of(Outcome::Finished(SimTime::ZERO));
        folder.write_records(&report, &[], &Waits::default(), false).unwrap();
        let there = || [STATS_PARQUET, SERIES_PARQUET].map(|name| root.path().join(name).is_file());
        assert_eq!(there(), [true, false]);
        let report = RunReport { series: Some(Series::default()), ..report };
        folder.write_records(&report, &[], &Waits::default(), false).unwrap();
        assert_eq!(there(), [true, true]);
        let written = std::fs::read(root.path().join(STATS_PARQUET)).unwrap();
        assert!(written.starts_with(b"PAR1") && written.ends_with(b"PAR1"));
        Folder::create(root.path(), &[]).unwrap();
        assert_eq!(there(), [false, false]);
    }
}
