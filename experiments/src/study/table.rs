//! The results of a study as a table: for each point its labels, values, statistics and columns.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use counterpoint_framework::telemetry::sinks::number;

use super::growth::Growth;
use super::plan::{RUN, Study};
use super::store::{PointKey, point_folder, result};
use super::values::NAMES;
use crate::pattern::matches;
use crate::recorded::statistics;

/// The points that are finished.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The names of the dimensions.
    pub dimensions: Vec<String>,
    /// The names of values, statistics and columns that some point has, in this order.
    pub names: Vec<String>,
    /// A row for each point, in the order of the study.
    pub rows: Vec<Row>,
}

/// A point.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is in each dimension.
    pub labels: Vec<String>,
    /// Its values by name. What has no value, or no finite one, is missing.
    pub values: BTreeMap<String, f64>,
    /// How its launches went on, if figures show that.
    pub growths: Vec<Growth>,
    /// The folder of its files.
    pub key: PointKey,
}

impl Results {
    /// Reads the points of a study that are finished, and reckons their columns.
    ///
    /// # Errors
    /// If what is stored is damaged.
    pub fn read(study: &Study, keys: &[PointKey], folder: &Path) -> Result<Self, String> {
        let mut rows = Vec::new();
        for (point, key) in study.points.iter().zip(keys) {
            let Some(found) = result(folder, key)? else { continue };
            let mut values = found.values;
            if !study.statistics.is_empty() {
                let all = statistics(&point_folder(folder, key))?;
                for (name, pattern) in &study.statistics {
                    let mut matching = all.iter().filter(|row| matches(pattern, &row.name)).peekable();
                    if matching.peek().is_some() {
                        values.insert(name.clone(), matching.map(|row| row.value).sum());
                    }
                }
            }
            rows.push(Row { labels: point.labels.clone(), values, growths: found.growths, key: key.clone() });
        }
        Ok(Self::reckon(study, rows))
    }

    /// Reckons the columns of rows that have values.
    fn reckon(study: &Study, mut rows: Vec<Row>) -> Self {
        let run = study.dimensions.iter().position(|name| name == RUN).unwrap_or_default();
        for (name, expression) in &study.columns {
            let reckoned: Vec<Option<f64>> = rows
                .iter()
                .map(|row| {
                    let value = |name: &str| value_of(name, row, &rows, run);
                    expression.evaluate_real(&value).ok().filter(|value| value.is_finite())
                })
                .collect();
            for (row, value) in rows.iter_mut().zip(reckoned) {
                row.values.extend(value.map(|value| (name.clone(), value)));
            }
        }
        let known = NAMES.iter().map(|(name, _)| (*name).to_owned());
        let own = study.statistics.iter().map(|(name, _)| name.clone());
        let names = known.chain(own).chain(study.columns.iter().map(|(name, _)| name.clone()));
        let names = names.filter(|name| rows.iter().any(|row| row.values.contains_key(name))).collect();
        Results { dimensions: study.dimensions.clone(), names, rows }
    }

    /// The label of a row in a dimension.
    pub fn label<'a>(&self, row: &'a Row, dimension: &str) -> Option<&'a str> {
        let place = self.dimensions.iter().position(|name| name == dimension)?;
        row.labels.get(place).map(String::as_str)
    }

    /// Writes a line for each point: its labels, then its values.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(self.dimensions.iter().chain(&self.names))?;
        for row in &self.rows {
            let values = self
                .names
                .iter()
                .map(|name| row.values.get(name).map(|value| number(*value)).unwrap_or_default());
            table.write_record(row.labels.iter().cloned().chain(values))?;
        }
        table.flush()
    }
}

/// The value that a name has for a row: its own, or `run.name`, that of the same point in another run.
fn value_of(name: &str, row: &Row, rows: &[Row], run: usize) -> Option<f64> {
    if let Some(value) = row.values.get(name) {
        return Some(*value);
    }
    let (other, name) = name.split_once('.')?;
    let same = |candidate: &&Row| {
        candidate.labels[run] == other
            && candidate
                .labels
                .iter()
                .zip(&row.labels)
                .enumerate()
                .all(|(place, (a, b))| place == run || a == b)
    };
    rows.iter().find(same)?.values.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Chosen, load};
    use counterpoint_framework::time::BytesPerSecond;
    use counterpoint_simulation::application::{self, RealFiles};
    use counterpoint_simulation::registry;
    use counterpoint_simulation::run::{RunRequest, load_machine};

    /// Bandwidths of CRCS's machine in bytes a second: its reading disk, its writing disk, its bus.
    fn bandwidths() -> [f64; 3] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
        let request = RunRequest { folder, ..RunRequest::new("crcs-64sm-pcie3-ssd", "") };
        let machine = load_machine(&request, &registry()).unwrap().machine;
        [("host.input", "read_bandwidth"), ("host.output", "write_bandwidth"), ("pcie", "bandwidth")].map(
            |(path, name)| {
                let instance = machine.instances.iter().find(|one| one.path == path).unwrap();
                let text = instance.params.get(name).and_then(|node| node.as_scalar()).unwrap();
                text.parse::<BytesPerSecond>().unwrap().get() as f64
            },
        )
    }

    /// What the study of a name reckons from runs of HSP that last as long as the paper's numbers say: files and copies at the
    /// machine's bandwidths, and kernels of which five take 9.0 % of the baseline. By number of launches.
    fn reckoned(study: &str, machine: [f64; 3]) -> BTreeMap<u32, Row> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let hotspot = folder.join("applications/hotspot/hotspot.yaml").display().to_string();
        let hotspot = application::load(&hotspot, &[], &RealFiles).unwrap();
        let read: usize = hotspot.files().map(|file| file.bytes as usize).sum();
        let written = read / 2;
        let [input, output, bus] = machine;
        let prelude = read as f64 / input;
        let postlude = written as f64 / output;
        let [h2d, d2h] = [read, written].map(|bytes| bytes as f64 / bus);
        let milliseconds = [prelude, postlude, h2d, d2h].map(|time| (time * 1e6).round() / 1e3);
        assert_eq!(milliseconds, [4.194, 2.097, 0.133, 0.067]);
        let files = prelude + postlude + h2d + d2h;
        let kernel = files * 0.09 / 0.91 / 5.0;

        let path = folder.join("studies").join(study).display().to_string();
        let study = load(&path, &Chosen { scale: Some("paper".to_owned()), machine: None }, folder).unwrap();
        let launches = |labels: &[String]| {
            let place = study.dimensions.iter().position(|name| name == "app.launches");
            place.map_or(10, |place| labels[place].parse().unwrap())
        };
        let row = |point: &crate::study::Point| {
            let kernels = f64::from(launches(&point.labels)) * kernel;
            let values = [
                ("time", files + kernels),
                ("busy_prelude", prelude),
                ("busy_h2d", h2d),
                ("busy_kernels", kernels),
                ("busy_d2h", d2h),
                ("busy_postlude", postlude),
                ("first_launch", kernel),
                ("last_launch", kernel),
            ];
            Row {
                labels: point.labels.clone(),
                values: values.map(|(name, value)| (name.to_owned(), value)).into(),
                growths: Vec::new(),
                key: serde_json::from_str("\"\"").unwrap(),
            }
        };
        let baseline = |point: &&crate::study::Point| {
            let is = |name: &str| point.labels.iter().any(|label| label == name);
            is("baseline") && is("hotspot")
        };
        let rows = study.points.iter().filter(baseline).map(row).collect();
        let results = Results::reckon(&study, rows);
        results.rows.into_iter().map(|row| (launches(&row.labels), row)).collect()
    }

    #[test]
    fn the_papers_fractions_and_bounds_of_hsp_fit_together() {
        let machine = bandwidths();
        let rows = reckoned("crcs-figure-12.yaml", machine);
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [5, 10, 20, 50, 100]);
        for (launches, name, expected, within) in [
            (5, "kernels_percent", 9.0, 1e-9),
            (100, "kernels_percent", 66.4, 0.05),
            (5, "single_kernel", 1.068, 5e-4),
            (100, "single_kernel", 1.024, 5e-4),
            // A2.12: what no overlapping can exceed.
            (5, "best", 1.701, 5e-4),
            (10, "best", 1.854, 5e-4),
            (100, "best", 1.506, 5e-4),
        ] {
            let found = rows[&launches].values[name];
            assert!((found - expected).abs() < within, "{name} at {launches}: {found}");
        }
        // The figure of all programs has the same bound.
        let ninth = &reckoned("crcs-figure-9.yaml", machine)[&10].values;
        assert_eq!(ninth["single_kernel"], rows[&10].values["single_kernel"]);
        assert!(ninth["no_copy"] > 1.0 && ninth["no_copy"] < ninth["single_kernel"]);
    }
}
