//! The records of a run in its folder.

use counterpoint_framework::telemetry::Curve;
#[cfg(feature = "parquet")]
use counterpoint_framework::telemetry::sinks::parquet;
use counterpoint_framework::telemetry::sinks::stats::{Shown, Statistics};
use counterpoint_framework::telemetry::sinks::{csv, perfetto, stats};
use counterpoint_framework::topology::RunReport;

use super::waits::Waits;
use crate::output::{
    CRITICAL_PATH, CURVES, EXPOSURE, Folder, SERIES, SPANS, STATS_CSV, STATS_JSON, STATS_TEXT, WriteError,
};
#[cfg(feature = "parquet")]
use crate::output::{SERIES_PARQUET, STATS_PARQUET};

impl Folder {
    /// Writes statistics; gives the files that could not be written.
    pub fn write_statistics(
        &self,
        statistics: &Statistics<'_>,
        shown: Shown,
        host_seconds: Option<f64>,
    ) -> Vec<WriteError> {
        let written = [
            self.write(STATS_TEXT, |out| stats::write_text(statistics, shown, host_seconds, out)),
            self.write(STATS_JSON, |out| stats::write_json(statistics, out)),
            self.write(STATS_CSV, |out| csv::write_stats(statistics, out)),
            #[cfg(feature = "parquet")]
            self.write(STATS_PARQUET, |out| parquet::write_stats(statistics, out)),
        ];
        written.into_iter().filter_map(Result::err).collect()
    }

    /// Writes time series if there are any, and spans; gives the files that could not be written.
    pub fn write_records(&self, report: &RunReport, curves: &[Curve], waits: &Waits) -> Vec<WriteError> {
        let spans = &report.trace.spans;
        let mut written = Vec::new();
        if let Some(series) = &report.series {
            #[cfg(feature = "parquet")]
            written.push(self.write(SERIES_PARQUET, |out| parquet::write_series(series, out)));
            written.push(self.write(SERIES, |out| csv::write_series(series, out)));
            written.push(self.write(CURVES, |out| csv::write_curves(curves, out)));
        }
        written.push(self.write(EXPOSURE, |out| waits.write_exposure(spans, out)));
        written.push(self.write(CRITICAL_PATH, |out| waits.write_path(spans, out)));
        written.push(self.write(SPANS, |out| perfetto::write(spans, curves, out)));
        written.into_iter().filter_map(Result::err).collect()
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;

    #[test]
    fn records_are_there_as_parquet_too() {
        use counterpoint_framework::kernel::Outcome;
        use counterpoint_framework::telemetry::Series;
        use counterpoint_framework::time::SimTime;

        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), &[]).unwrap();
        let mut report = RunReport::of(Outcome::Finished(SimTime::ZERO));
        let statistics = Statistics::default();
        assert!(folder.write_statistics(&statistics, Shown::All, None).is_empty());
        assert!(folder.write_records(&report, &[], &Waits::default()).is_empty());
        let there = || [STATS_PARQUET, SERIES_PARQUET].map(|name| root.path().join(name).is_file());
        assert_eq!(there(), [true, false]);
        report.series = Some(Series::default());
        assert!(folder.write_records(&report, &[], &Waits::default()).is_empty());
        assert_eq!(there(), [true, true]);
        let written = std::fs::read(root.path().join(STATS_PARQUET)).unwrap();
        assert!(written.starts_with(b"PAR1") && written.ends_with(b"PAR1"));
        drop(folder);
        Folder::create(root.path(), &[]).unwrap();
        assert_eq!(there(), [false, false]);
    }
}
