//! Exposed time of two runs, by activity.

use std::collections::BTreeMap;

use super::shift::Shift;
use crate::recorded::ExposedSpan;
use counterpoint_simulation::exposure::Activity;

/// Adds up the exposed time of each activity, and the time of none. The spans of an activity share no exposed
/// moment, so their sum is its own.
pub(super) fn compare(a: &[ExposedSpan], b: &[ExposedSpan]) -> Vec<Shift> {
    let sums = |spans: &[ExposedSpan]| {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for span in spans {
            *sums.entry(span.activity.clone()).or_default() += span.exposed;
        }
        sums
    };
    let (a, b) = (sums(a), sums(b));
    let rank = |name: &str| Activity::ALL.iter().position(|activity| activity.name() == name);
    let mut names: Vec<&String> = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))).collect();
    // Activities in the order in which a moment belongs to them, then the time of none.
    names.sort_by_key(|name| (rank(name).unwrap_or(Activity::ALL.len()), *name));
    let of = |sums: &BTreeMap<String, f64>, name: &str| sums.get(name).copied().unwrap_or_default();
    let shift =
        |name: &String| Shift { name: name.clone(), a: of(&a, name), b: of(&b, name), unit: "ps".to_owned() };
    names.into_iter().map(shift).collect()
}
