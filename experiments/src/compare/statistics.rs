//! The statistics of two runs.

use std::collections::BTreeMap;

use super::change::any_index;
use super::shift::Shift;
use crate::pattern::matches;
use crate::recorded::Statistic;

/// Differences between the statistics of two runs.
#[derive(Clone, Debug)]
pub struct StatisticChanges {
    /// Number of statistics in both.
    pub common: usize,
    /// Those of them that differ, the largest relative difference first.
    pub shifts: Vec<Shift>,
    /// Statistics of A alone: patterns of names, and the number of statistics with such a name.
    pub only_a: Vec<(String, usize)>,
    /// Statistics of B alone.
    pub only_b: Vec<(String, usize)>,
}

impl StatisticChanges {
    /// Whether all are the same.
    pub fn none(&self) -> bool {
        self.shifts.is_empty() && self.only_a.is_empty() && self.only_b.is_empty()
    }
}

/// Compares those whose name is of one of the patterns, or all if there is none.
pub(super) fn compare(a: &[Statistic], b: &[Statistic], only: &[String]) -> Result<StatisticChanges, String> {
    for pattern in only {
        if !a.iter().chain(b).any(|row| matches(pattern, &row.name)) {
            return Err(format!("neither run has a statistic `{pattern}`"));
        }
    }
    let (a, b) = (chosen(a, only), chosen(b, only));
    let both = || a.iter().filter_map(|(name, row)| Some((name, row, b.get(name)?)));
    let shift = |(name, a, b): (&&str, &&Statistic, &&Statistic)| Shift {
        name: (*name).to_owned(),
        a: a.value,
        b: b.value,
        unit: b.unit.clone(),
    };
    let mut shifts: Vec<Shift> = both().map(shift).filter(|shift| !shift.is_none()).collect();
    shifts.sort_by(Shift::larger_first);
    Ok(StatisticChanges { common: both().count(), shifts, only_a: of_one(&a, &b), only_b: of_one(&b, &a) })
}

/// The statistics that were asked for, by name.
fn chosen<'a>(rows: &'a [Statistic], only: &[String]) -> BTreeMap<&'a str, &'a Statistic> {
    let wanted = |row: &&Statistic| only.is_empty() || only.iter().any(|pattern| matches(pattern, &row.name));
    rows.iter().filter(wanted).map(|row| (row.name.as_str(), row)).collect()
}

/// The names that the other has not, with open indices, and how many there are of each.
fn of_one(own: &BTreeMap<&str, &Statistic>, other: &BTreeMap<&str, &Statistic>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in own.keys().filter(|name| !other.contains_key(*name)) {
        *counts.entry(any_index(name)).or_default() += 1;
    }
    counts.into_iter().collect()
}
