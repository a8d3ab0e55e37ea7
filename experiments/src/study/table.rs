//! The results of a study as a table: for each point its labels, values, statistics and columns.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use counterpoint_framework::telemetry::sinks::number;

use super::growth::Growth;
use super::plan::{RUN, Study};
use super::store::{PointKey, point_folder, result};
use super::values::KnownValues;
use crate::pattern::matches;
use crate::recorded::statistics;

/// The points that are finished.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Results {
    /// The names of the dimensions.
    pub dimensions: Vec<String>,
    /// The names of values, statistics and columns that some point has, in this order.
    pub names: Vec<String>,
    /// A row for each point, in the order of the study.
    pub rows: Vec<Row>,
    /// The values that points may have.
    pub values: KnownValues,
    /// Units of statistics and columns, where they are given.
    pub units: BTreeMap<String, String>,
}

/// A point.
#[derive(Clone, Debug)]
pub struct Row {
    /// Label of the row in each dimension.
    pub labels: Vec<String>,
    /// Values by name. Values that are absent or not finite are missing.
    pub values: BTreeMap<String, f64>,
    /// Progress of the launches over time, if a figure shows it.
    pub growths: Vec<Growth>,
    /// The folder of its files.
    pub key: PointKey,
}

impl Results {
    /// Reads the points of a study that are finished, and computes their columns.
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
        Ok(Self::compute(study, rows))
    }

    /// The columns of a study, computed from rows that have values.
    pub fn compute(study: &Study, mut rows: Vec<Row>) -> Self {
        let run = study.dimensions.iter().position(|name| name == RUN).unwrap_or_default();
        // The map has the first row of each point: a search through all rows for each point would take
        // quadratic time.
        let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        if !study.columns.is_empty() {
            for (place, row) in rows.iter().enumerate() {
                places.entry(row.labels.clone()).or_insert(place);
            }
        }
        for (name, expression) in &study.columns {
            let computed: Vec<Option<f64>> = rows
                .iter()
                .map(|row| {
                    let other = |labels: &Vec<String>| places.get(labels).map(|place| &rows[*place]);
                    let value = |name: &str| value_of(name, row, run, &other);
                    expression.evaluate_real(&value).ok().filter(|value| value.is_finite())
                })
                .collect();
            for (row, value) in rows.iter_mut().zip(computed) {
                row.values.extend(value.map(|value| (name.clone(), value)));
            }
        }
        let known = study.values.names().map(str::to_owned);
        let own = study.statistics.iter().map(|(name, _)| name.clone());
        let names = known.chain(own).chain(study.columns.iter().map(|(name, _)| name.clone()));
        let names = names.filter(|name| rows.iter().any(|row| row.values.contains_key(name))).collect();
        Results {
            dimensions: study.dimensions.clone(),
            names,
            rows,
            values: study.values.clone(),
            units: study.units.clone(),
        }
    }

    /// The label of a row in a dimension.
    pub fn label<'a>(&self, row: &'a Row, dimension: &str) -> Option<&'a str> {
        let place = self.dimensions.iter().position(|name| name == dimension)?;
        row.labels.get(place).map(String::as_str)
    }

    /// The name of a value as a title, with its unit if it has one.
    pub fn titled(&self, name: &str) -> String {
        self.with_unit(name, name.replace('_', " "))
    }

    /// The name of a value as the heading of a column.
    pub fn heading(&self, name: &str) -> String {
        self.with_unit(name, name.to_owned())
    }

    fn with_unit(&self, name: &str, title: String) -> String {
        match self.units.get(name).map(String::as_str).or_else(|| self.values.unit(name)) {
            Some(unit) => format!("{title} ({unit})"),
            None => title,
        }
    }

    /// Writes a line for each point: its labels, then its values.
    ///
    /// # Errors
    /// Errors of `out`.
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
fn value_of<'a>(
    name: &str,
    row: &Row,
    run: usize,
    other: &impl Fn(&Vec<String>) -> Option<&'a Row>,
) -> Option<f64> {
    if let Some(value) = row.values.get(name) {
        return Some(*value);
    }
    let (label, name) = name.split_once('.')?;
    let mut labels = row.labels.clone();
    label.clone_into(labels.get_mut(run)?);
    other(&labels)?.values.get(name).copied()
}
