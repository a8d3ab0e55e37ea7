//! The statistics of two runs.

use std::collections::BTreeMap;

use counterpoint_framework::topology::natural;

use super::change::any_index;
use super::shift::Shift;
use crate::pattern::matches;
use crate::recorded::Statistic;

/// Differences between the statistics of two runs.
#[derive(Clone, Debug)]
pub struct StatisticChanges {
    /// Number of statistics in both.
    pub common: usize,
    /// Statistics that differ, with their scopes, the heaviest first.
    pub shifts: Vec<Weighed>,
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

/// Part of a run that a statistic describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatisticScope {
    /// The run, or all components of a sort.
    Totals,
    /// A component.
    Components,
    /// A launch or a stream.
    Launches,
}

impl StatisticScope {
    /// All scopes, in order.
    pub const ALL: [StatisticScope; 3] =
        [StatisticScope::Totals, StatisticScope::Components, StatisticScope::Launches];

    /// Name of the scope.
    pub fn name(self) -> &'static str {
        match self {
            StatisticScope::Totals => "totals",
            StatisticScope::Components => "components",
            StatisticScope::Launches => "launches and streams",
        }
    }

    fn of(name: &str) -> Self {
        match () {
            () if ["kernels[", "streams[", ".no_kernel."].iter().any(|part| name.contains(part)) => {
                StatisticScope::Launches
            }
            () if name.starts_with("run.") || name.starts_with("machine.") => StatisticScope::Totals,
            () => StatisticScope::Components,
        }
    }
}

/// A difference and how much it matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// The difference.
    pub shift: Shift,
    /// Part of the statistics that the shift belongs to.
    pub part: StatisticScope,
    /// The change as a share of the largest number of that unit in the part, so that a few events where there were none do not
    /// weigh as much as many.
    pub weight: f64,
}

/// Weighs differences by the largest number of their unit and part.
fn weighed(shifts: impl Iterator<Item = Shift>) -> Vec<Weighed> {
    let all: Vec<(StatisticScope, Shift)> =
        shifts.map(|shift| (StatisticScope::of(&shift.name), shift)).collect();
    let mut largest: BTreeMap<(StatisticScope, &str), f64> = BTreeMap::new();
    for (part, shift) in &all {
        let most = largest.entry((*part, shift.unit.as_str())).or_default();
        *most = most.max(shift.a.abs()).max(shift.b.abs());
    }
    let weigh = |(part, shift): &(StatisticScope, Shift)| Weighed {
        weight: (shift.b - shift.a).abs() / largest[&(*part, shift.unit.as_str())],
        part: *part,
        shift: shift.clone(),
    };
    let mut weighed: Vec<Weighed> = all.iter().filter(|(_, shift)| !shift.is_none()).map(weigh).collect();
    weighed.sort_by(|x, y| {
        let order = x.part.cmp(&y.part).then_with(|| y.weight.total_cmp(&x.weight));
        order.then_with(|| natural(&x.shift.name, &y.shift.name))
    });
    weighed
}

/// Compares statistics whose names match one of the patterns, or all if there is no pattern.
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
    let shifts = weighed(both().map(shift));
    Ok(StatisticChanges { common: both().count(), shifts, only_a: of_one(&a, &b), only_b: of_one(&b, &a) })
}

/// The requested statistics, by name.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_events_where_there_were_none_weigh_little() {
        let shift = |name: &str, a, b| Shift { name: name.to_owned(), a, b, unit: "sectors".to_owned() };
        let shifts = [
            shift("gpu.l2[0].misses", 0.0, 280.0),
            shift("gpu.l2[0].accesses", 1e6, 1e6),
            shift("gpu.l2[1].misses", 5e5, 6e5),
            shift("gpu.l2[0].kernels[a#1].misses", 1.0, 2.0),
            shift("machine.l2.misses", 5e5, 6e5 + 280.0),
        ];
        let found = weighed(shifts.into_iter());
        let told: Vec<(StatisticScope, &str)> =
            found.iter().map(|one| (one.part, one.shift.name.as_str())).collect();
        let expected = [
            (StatisticScope::Totals, "machine.l2.misses"),
            (StatisticScope::Components, "gpu.l2[1].misses"),
            (StatisticScope::Components, "gpu.l2[0].misses"),
            (StatisticScope::Launches, "gpu.l2[0].kernels[a#1].misses"),
        ];
        assert_eq!(told, expected);
        assert_eq!((found[1].weight, found[2].weight), (0.1, 280e-6));
    }
}
