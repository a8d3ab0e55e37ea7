//! What counters of a point have come to over time, as figures of the kind `curves` show it.

use std::collections::BTreeMap;

use counterpoint_framework::topology::natural;

use crate::pattern::matches;
use crate::recorded::Increase;

/// A counter over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// What it is called: the part of its name that is not the same in all that match, such as `step#2`.
    pub name: String,
    /// Where its line bends: a time in seconds, and what it has come to by then.
    pub points: Vec<(f64, f64)>,
}

/// The counters whose name matches, each from nothing to the `end` of the run, in seconds. A sample was taken `every` so many
/// picoseconds: what has no increase before a sample stayed as it was for that long.
pub(super) fn growths(pattern: &str, series: &[Increase], every: u64, end: f64) -> Vec<Growth> {
    let seconds = |ps: u64| ps as f64 * 1e-12;
    let mut found: BTreeMap<&str, Vec<&Increase>> = BTreeMap::new();
    for increase in series.iter().filter(|increase| matches(pattern, &increase.name)) {
        found.entry(&increase.name).or_default().push(increase);
    }
    let mut found: Vec<(&str, Vec<&Increase>)> = found.into_iter().collect();
    found.sort_by(|(a, _), (b, _)| natural(a, b));
    let grow = |(name, increases): (&str, Vec<&Increase>)| {
        let (mut points, mut last, mut sum) = (vec![(0.0, 0.0)], 0, 0.0);
        for increase in increases {
            let before = increase.time.saturating_sub(every);
            if before > last {
                points.push((seconds(before), sum));
            }
            (last, sum) = (increase.time, sum + increase.increase);
            points.push((seconds(last), sum));
        }
        if end > seconds(last) {
            points.push((end, sum));
        }
        Growth { name: short(pattern, name).to_owned(), points }
    };
    found.into_iter().map(grow).collect()
}

/// Of a name the part in which its pattern has a `*`; of that what is in brackets, unless it is a mere number.
fn short<'n>(pattern: &str, name: &'n str) -> &'n str {
    let parts = pattern.split('.').zip(name.split('.'));
    let Some((_, part)) = parts.into_iter().find(|(part, _)| part.contains('*')) else { return name };
    let inner = part.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    inner.filter(|inner| inner.parse::<u64>().is_err()).unwrap_or(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_in_the_intervals_before_samples_and_stay_between_them() {
        let increase = |time, name: &str, increase| Increase { time, name: name.to_owned(), increase };
        let series = [
            increase(1_000_000, "s.kernels[a#2].ended", 3.0),
            increase(2_000_000, "s.kernels[a#10].ended", 1.0),
            increase(2_000_000, "s.kernels[a#2].ended", 2.0),
            increase(2_000_000, "s.kernels[a#2].placed", 9.0),
            increase(5_000_000, "s.kernels[a#2].ended", 1.0),
        ];
        let found = growths("s.kernels[*].ended", &series, 1_000_000, 6e-6);
        let names: Vec<&str> = found.iter().map(|growth| growth.name.as_str()).collect();
        assert_eq!(names, ["a#2", "a#10"]);
        let bends: Vec<(u64, f64)> =
            found[0].points.iter().map(|(time, value)| ((time * 1e12).round() as u64, *value)).collect();
        let expected =
            [(0, 0.0), (1_000_000, 3.0), (2_000_000, 5.0), (4_000_000, 5.0), (5_000_000, 6.0), (6_000_000, 6.0)];
        assert_eq!(bends, expected);
        assert_eq!(growths("s.kernels[b].*", &series, 1_000_000, 6e-6), []);
    }

    #[test]
    fn a_curve_is_called_by_what_differs() {
        for (pattern, name, expected) in [
            ("s.kernels[*].ended", "s.kernels[a#2].ended", "a#2"),
            ("s.kernels[a#*].ended", "s.kernels[a#2].ended", "a#2"),
            ("sm[*].hits", "sm[3].hits", "sm[3]"),
            ("sm[3].*", "sm[3].hits", "hits"),
            ("sm[3].hits", "sm[3].hits", "sm[3].hits"),
        ] {
            assert_eq!(short(pattern, name), expected);
        }
    }
}
