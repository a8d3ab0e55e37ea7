//! Growth of launches, the number of blocks ended over time, as figures of the kind `curves` show it.

use std::collections::BTreeMap;

use counterpoint_framework::telemetry::sinks::rounded;
use counterpoint_framework::telemetry::{Attribute, Level, Span};
use counterpoint_framework::time::SimTime;
use serde::{Deserialize, Serialize};

/// Number of parts into which a run is divided: events within one are drawn as a line from its beginning to
/// its end.
const PARTS: u64 = 500;

/// A launch over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Name of the launch: its kernel and its number, such as `step#2`.
    pub name: String,
    /// Vertices of its line: a time in seconds, and the number of its blocks that have ended by then.
    pub points: Vec<(f64, f64)>,
}

/// The launches of a run that lasted until `end`, by number, from the spans of their blocks; a run that keeps none of these has
/// none.
pub(super) fn growths(spans: &[Span], end: SimTime) -> Vec<Growth> {
    let every = end.as_ps().div_ceil(PARTS).max(1);
    // Number of blocks that end within each part, named by the part's end.
    let mut launches: BTreeMap<(u64, &str), BTreeMap<u64, u64>> = BTreeMap::new();
    for span in spans.iter().filter(|span| span.level == Level::Ctas && span.aggregated == 0 && !span.partial)
    {
        if let Some(launch) = launch(span) {
            let part = (span.end.as_ps().div_ceil(every) * every).min(end.as_ps());
            *launches.entry(launch).or_default().entry(part).or_default() += 1;
        }
    }
    let growth = |((number, kernel), parts): ((u64, &str), BTreeMap<u64, u64>)| Growth {
        name: format!("{kernel}#{number}"),
        points: points(&parts, every, end.as_ps()),
    };
    launches.into_iter().map(growth).collect()
}

/// The launch that a block's span belongs to.
fn launch(span: &Span) -> Option<(u64, &str)> {
    let of = |name: &str| span.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    // Copies have fine spans, too, and these attributes are not among theirs.
    match (of("launch")?, of("kernel")?, of("cta")?) {
        (Attribute::Number(number), Attribute::Text(kernel), Attribute::Number(_)) => Some((*number, kernel)),
        _ => None,
    }
}

/// Vertices of a line that grows within intervals of a fixed length and is constant between them.
fn points(parts: &BTreeMap<u64, u64>, every: u64, end: u64) -> Vec<(f64, f64)> {
    let point = |ps: u64, count: u64| (rounded(ps as f64 * 1e-12), count as f64);
    let (mut points, mut last, mut sum) = (vec![(0.0, 0.0)], 0, 0);
    for (&part, &ended) in parts {
        let before = part.saturating_sub(every);
        if before > last {
            points.push(point(before, sum));
        }
        (last, sum) = (part, sum + ended);
        points.push(point(part, sum));
    }
    if end > last {
        points.push(point(end, sum));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterpoint_framework::telemetry::{Lane, SpanId};

    fn span(id: u64, level: Level, name: &'static str, end: u64) -> Span {
        Span {
            id: SpanId(id),
            parent: None,
            level,
            name: name.into(),
            path: "host".into(),
            lane: Lane::Only,
            start: SimTime::ZERO,
            end: SimTime::from_ps(end),
            partial: false,
            aggregated: 0,
            attributes: Vec::new(),
        }
    }

    #[test]
    fn a_launch_grows_where_its_blocks_end_and_stays_between() {
        let block = |launch: u64, end: u64| Span {
            attributes: vec![
                ("kernel", Attribute::Text("step".into())),
                ("launch", Attribute::Number(launch)),
                ("cta", Attribute::Number(0)),
            ],
            ..span(end, Level::Ctas, "cta 0", end)
        };
        // Parts of ten picoseconds.
        let spans = [
            block(2, 7),
            block(10, 15),
            block(2, 9),
            block(2, 51),
            span(1, Level::Ctas, "burst 0", 9),
            span(2, Level::Kernels, "step#2", 60),
        ];
        let found = growths(&spans, SimTime::from_ps(10 * PARTS));
        let names: Vec<&str> = found.iter().map(|growth| growth.name.as_str()).collect();
        assert_eq!(names, ["step#2", "step#10"]);
        let bends: Vec<(u64, f64)> =
            found[0].points.iter().map(|(time, value)| ((time * 1e12).round() as u64, *value)).collect();
        let expected = [(0, 0.0), (10, 2.0), (50, 2.0), (60, 3.0), (10 * PARTS, 3.0)];
        assert_eq!(bends, expected);
    }
}
