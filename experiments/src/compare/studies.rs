//! Two studies: the points that both have, and their values.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::change::{Change, differences};
use super::shift::Shift;
use crate::pattern::matches;
use crate::study::Study;
use crate::study::index::read;
use crate::study::store::result;
use crate::study::table::{Results, Row};
use crate::study::values::PointResult;

/// Differences between two studies.
#[derive(Clone, Debug)]
pub struct StudyChanges {
    /// Changes in the studies themselves.
    pub study: Vec<Change>,
    /// Number of points in both.
    pub common: usize,
    /// The points that only A has.
    pub only_a: Vec<String>,
    /// The points that only B has.
    pub only_b: Vec<String>,
    /// Changes in values that are no numbers: outcomes of points, and values that only one study has.
    pub points: Vec<Change>,
    /// The values of points that differ, the largest relative difference first; named by point and value.
    pub values: Vec<Shift>,
}

impl StudyChanges {
    /// Whether both have the same points with the same values.
    pub fn none(&self) -> bool {
        self.only_a.is_empty() && self.only_b.is_empty() && self.points.is_empty() && self.values.is_empty()
    }
}

/// Compares two studies; of the values those that match one of the patterns, or all if there is no pattern.
///
/// # Errors
/// If a folder is none of a study, or is damaged; if a pattern matches nothing.
pub fn compare_studies(a: &Path, b: &Path, only: &[String]) -> Result<StudyChanges, String> {
    let (a, b) = (Side::read(a)?, Side::read(b)?);
    for pattern in only {
        if !a.results.names.iter().chain(&b.results.names).any(|name| matches(pattern, name)) {
            return Err(format!("no point has a value `{pattern}`"));
        }
    }
    let lacking = |own: &Side, other: &Side| {
        own.names.iter().filter(|name| !other.names.contains(name)).cloned().collect::<Vec<_>>()
    };
    let mut changes = StudyChanges {
        study: differences(&a.describe(), &b.describe()),
        common: 0,
        only_a: lacking(&a, &b),
        only_b: lacking(&b, &a),
        points: Vec::new(),
        values: Vec::new(),
    };
    for (name, row, ended) in a.points() {
        let Some((_, other, other_ended)) = b.points().find(|(twin, ..)| *twin == name) else { continue };
        changes.common += 1;
        let sides = (texts(row, ended, only), texts(other, other_ended, only));
        let numbers: BTreeSet<&String> =
            row.values.keys().filter(|value| other.values.contains_key(*value)).collect();
        // Numbers in both are compared by their difference.
        let plain =
            differences(&sides.0, &sides.1).into_iter().filter(|change| !numbers.contains(&change.name));
        let named = plain.map(|change| Change { name: format!("{name}: {}", change.name), ..change });
        changes.points.extend(named);
        let wanted = numbers.into_iter().filter(|value| chosen(value, only));
        let shift = |value: &String| Shift {
            name: format!("{name}: {value}"),
            a: row.values[value],
            b: other.values[value],
            unit: a.study.values.unit(value).unwrap_or_default().to_owned(),
        };
        changes.values.extend(wanted.map(shift).filter(|shift| !shift.is_none()));
    }
    changes.values.sort_by(Shift::larger_first);
    Ok(changes)
}

fn chosen(value: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|pattern| matches(pattern, value))
}

fn texts(row: &Row, ended: &PointResult, only: &[String]) -> BTreeMap<String, String> {
    let values = row.values.iter().filter(|(name, _)| chosen(name, only));
    let values = values.map(|(name, value)| (name.clone(), value.to_string()));
    let ends = [("outcome", ended.outcome.clone()), ("verified", ended.verified.to_string())];
    values.chain(ends.map(|(name, text)| (name.to_owned(), text))).collect()
}

struct Side {
    study: Study,
    results: Results,
    /// Name of each row, and how its run ended.
    names: Vec<String>,
    ended: Vec<PointResult>,
}

impl Side {
    fn read(folder: &Path) -> Result<Self, String> {
        let (study, results) = read(folder)?;
        let names = results.rows.iter().map(|row| name(&results.dimensions, row)).collect();
        let gone = |row: &Row| format!("`{}` has lost the point {}", folder.display(), row.key);
        let ended = results.rows.iter().map(|row| result(folder, &row.key)?.ok_or_else(|| gone(row)));
        let ended = ended.collect::<Result<_, String>>()?;
        Ok(Side { study, results, names, ended })
    }

    fn points(&self) -> impl Iterator<Item = (&String, &Row, &PointResult)> {
        let rows = self.names.iter().zip(&self.results.rows).zip(&self.ended);
        rows.map(|((name, row), ended)| (name, row, ended))
    }

    /// The distinguishing properties of the studies themselves.
    fn describe(&self) -> BTreeMap<String, String> {
        let Study { name, chosen, dimensions, points, columns, statistics, .. } = &self.study;
        let statistics = statistics.iter().map(|(name, pattern)| format!("{name} ({pattern})"));
        let columns = columns.iter().map(|(name, _)| name.clone());
        let joined = |names: Vec<String>| names.join(", ");
        let entries = [
            ("study", name.clone()),
            ("scale", chosen.scale.clone().unwrap_or_default()),
            ("dimensions", joined(dimensions.clone())),
            ("points", points.len().to_string()),
            ("finished points", self.results.rows.len().to_string()),
            ("statistics", joined(statistics.collect())),
            ("columns", joined(columns.collect())),
        ];
        entries.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
    }
}

/// Name of a point by its label in each dimension, in the order of the dimensions' names: two studies may
/// have them in another order.
fn name(dimensions: &[String], row: &Row) -> String {
    let mut labels: Vec<String> =
        dimensions.iter().zip(&row.labels).map(|(dimension, label)| format!("{dimension}={label}")).collect();
    labels.sort();
    labels.join(", ")
}
