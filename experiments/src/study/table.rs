//! The results of a study as a table: for each point its labels, values, statistics and columns.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use super::plan::{RUN, Study};
use super::store::{PointKey, result, statistics};
use super::values::NAMES;

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
                let all = statistics(folder, key)?;
                for (name, pattern) in &study.statistics {
                    let mut matching = all.iter().filter(|(path, _)| matches(pattern, path)).peekable();
                    if matching.peek().is_some() {
                        values.insert(name.clone(), matching.map(|(_, value)| value).sum());
                    }
                }
            }
            rows.push(Row { labels: point.labels.clone(), values, key: key.clone() });
        }
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
        Ok(Results { dimensions: study.dimensions.clone(), names, rows })
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
            let values =
                self.names.iter().map(|name| row.values.get(name).map(f64::to_string).unwrap_or_default());
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

/// Whether a path is one of a pattern, in which `*` stands for anything but a point.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, rest)) => {
            let Some(tail) = path.strip_prefix(before) else { return false };
            let free = tail.find('.').unwrap_or(tail.len());
            (0..=free).filter(|&at| tail.is_char_boundary(at)).any(|at| matches(rest, &tail[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_within_a_part_of_the_path() {
        let cases = [
            ("gpu.l2[*].misses", "gpu.l2[12].misses", true),
            ("gpu.l2[*].misses", "gpu.l2[12].streams[1].misses", false),
            ("gpu.*.misses", "gpu.l2[1].misses", true),
            ("*", "misses", true),
            ("gpu.l2[*].*", "gpu.l2[0].hits", true),
            ("gpu.l2[0].hits", "gpu.l2[0].hits", true),
            ("gpu.l2[0].hits", "gpu.l2[0].hit", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
