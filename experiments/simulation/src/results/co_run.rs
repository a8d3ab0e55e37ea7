//! Speed of applications that ran together, from the spans of their launches and blocks.
//!
//! *The window* is the time in which each of them has a launch on the device: from a launch's entry into the table of running kernels to
//! the end of its last block. The window need not be one piece. *The rate* of an application is the thread instructions of its blocks in
//! the window, divided by the window's length: a block that is partly in the window counts by the share of its time that is, and the blocks
//! of a launch count alike. *The joint time* is the first piece of the window: from the moment at which all applications have a launch to
//! the first end of a launch that no other launch of its application follows, and *the joint rate* is the rate in this piece alone. *The
//! first round* lasts from the entry of the application's first launch to the end of the last launch before the application began again.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint_framework::telemetry::{Level, Span, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_host_model::program::{Application, Member, Step};

use crate::results::launches::{Periods, attribute, is_launch, is_several, length, period, union};

/// Applications that ran together.
#[derive(Clone, Debug, PartialEq)]
pub struct CoRun {
    /// Length of the window, in which all of them ran.
    pub window: SimTime,
    /// Length of the first piece of the window.
    pub joint: SimTime,
    /// The applications, in the order in which they were named.
    pub sides: Vec<Side>,
}

/// One application of a co-run.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Name of the application.
    pub name: String,
    /// Thread instructions a second of the window.
    pub rate: f64,
    /// Thread instructions per second of the joint time.
    pub joint_rate: f64,
    /// The length of its first round.
    pub round: SimTime,
    /// Launches of the application that ended, over all rounds.
    pub launches: usize,
}

/// Intersection of two sets of periods.
fn intersection(a: &Periods, b: &Periods) -> Periods {
    let mut common = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let both = x.start.max(y.start)..x.end.min(y.end);
        common.extend((!both.is_empty()).then_some(both));
        if x.end < y.end { i += 1 } else { j += 1 }
    }
    common
}

fn within(period: &Range<u64>, others: &Periods) -> u64 {
    let first = others.partition_point(|other| other.end <= period.start);
    let those = others[first..].iter().take_while(|other| other.start < period.end);
    those.map(|other| other.end.min(period.end) - other.start.max(period.start)).sum()
}

/// The thread instructions of a launch's blocks in a window; of a launch without spans of blocks, those of the whole as one.
fn instructions_in(window: &Periods, launch: &Span, blocks: &[Range<u64>]) -> f64 {
    let whole = [period(launch)];
    let blocks = if blocks.is_empty() { &whole } else { blocks };
    let each = attribute(launch, "thread_insn").unwrap_or(0) as f64 / blocks.len() as f64;
    let share = |block: &Range<u64>| match block.end - block.start {
        0 => 0.0,
        length => within(block, window) as f64 / length as f64,
    };
    blocks.iter().map(share).sum::<f64>() * each
}

impl CoRun {
    /// The result of a run of this application; nothing if it is one alone, or if not every launch has a span.
    pub fn of(application: &Application, spans: &[Span]) -> Option<Self> {
        let [Step::CoRun { members, rounds }] = &application.steps[..] else { return None };
        if spans.iter().any(is_several) {
            return None;
        }
        let mut blocks: BTreeMap<SpanId, Vec<Range<u64>>> = BTreeMap::new();
        for span in spans.iter().filter(|span| span.level == Level::Ctas && span.aggregated == 0) {
            if let Some(launch) = span.parent {
                blocks.entry(launch).or_default().push(period(span));
            }
        }
        let of = |member: &Member| {
            let own =
                |span: &&Span| is_launch(span) && attribute(span, "stream") == Some(member.stream.into());
            let mut launches: Vec<&Span> = spans.iter().filter(own).collect();
            launches.sort_by_key(|span| attribute(span, "launch"));
            launches
        };
        let launches: Vec<Vec<&Span>> = members.iter().map(of).collect();
        let busy = launches.iter().map(|own| union(own.iter().map(|span| period(span)).collect()));
        let window = busy.reduce(|a, b| intersection(&a, &b))?;
        let joint: Periods = window.first().cloned().into_iter().collect();
        let side = |((member, round), launches): ((&Member, &Step), &Vec<&Span>)| {
            let no_blocks = Vec::new();
            let rate = |periods: &Periods| match length(periods) {
                0 => 0.0,
                length => {
                    let of = |launch: &&Span| blocks.get(&launch.id).unwrap_or(&no_blocks);
                    let counted = launches.iter().map(|launch| instructions_in(periods, launch, of(launch)));
                    counted.sum::<f64>() / (length as f64 * 1e-12)
                }
            };
            let first = launches.first().map_or(SimTime::ZERO, |launch| launch.start);
            let in_round = rounds_launches(round).unwrap_or(launches.len());
            let last = launches.iter().take(in_round).map(|launch| launch.end).max().unwrap_or(first);
            Side {
                name: member.name.clone(),
                rate: rate(&window),
                joint_rate: rate(&joint),
                round: last.saturating_sub(first),
                launches: launches.len(),
            }
        };
        let sides = members.iter().zip(rounds).zip(&launches).map(side).collect();
        Some(CoRun {
            window: SimTime::from_ps(length(&window)),
            joint: SimTime::from_ps(length(&joint)),
            sides,
        })
    }
}

/// Launches of a round; nothing if a loop says how many.
fn rounds_launches(step: &Step) -> Option<usize> {
    let inner = || step.inner().iter().map(rounds_launches).sum::<Option<usize>>();
    match step {
        Step::Launch(_) => Some(1),
        Step::Tasks(tasks) => Some(tasks.len()),
        Step::Repeat(times, _) => Some(*times as usize * inner()?),
        Step::Loop { .. } => None,
        _ => inner(),
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::telemetry::Attribute;

    use super::*;
    use crate::results::summary::tests::span;

    #[test]
    fn periods_are_joined_cut_and_measured() {
        let busy = union(vec![50..60, 0..10, 10..20, 55..70]);
        assert_eq!(busy, [0..20, 50..70]);
        let common = intersection(&busy, &vec![5..15, 18..55, 90..99]);
        assert_eq!(common, [5..15, 18..20, 50..55]);
        assert_eq!(within(&(10..52), &common), 5 + 2 + 2);
        assert_eq!(within(&(60..70), &common), 0);
    }

    /// A launch of a stream with its blocks; each executes 100 thread instructions.
    fn launch(number: u64, stream: u64, times: Range<u64>, blocks: &[(u64, u64)]) -> Vec<Span> {
        let attributes = vec![
            ("launch", Attribute::Number(number)),
            ("stream", Attribute::Number(stream)),
            ("thread_insn", Attribute::Amount(100 * blocks.len().max(1) as u64)),
        ];
        let name: &'static str = if stream == 1 { "a#1" } else { "b#2" };
        let whole =
            Span { attributes, ..span(100 * number, None, Level::Kernels, name, times.start, times.end) };
        let block = |(index, &(start, end)): (u64, &(u64, u64))| {
            span(100 * number + 1 + index, Some(100 * number), Level::Ctas, "cta 1", start, end)
        };
        std::iter::once(whole).chain((0..).zip(blocks).map(block)).collect()
    }

    #[test]
    fn rates_are_those_of_the_window_in_which_all_run() {
        let member =
            |name: &str, stream| Member { name: name.to_owned(), stream, copy_out: Vec::new(), once: false };
        let application = Application {
            steps: vec![Step::CoRun {
                members: vec![member("one", 1), member("two", 2)],
                rounds: vec![Step::Repeat(1, Vec::new()), Step::Repeat(1, Vec::new())],
            }],
            ..Application::default()
        };
        // The first runs from 0 to 100, the second from 20 to 60 and from 70 to 120: the window has 70 ps.
        let spans = [
            launch(1, 1, 0..100, &[(0, 40), (40, 100)]),
            launch(2, 2, 20..60, &[(20, 60)]),
            launch(3, 2, 70..120, &[]),
        ]
        .concat();
        let CoRun { window, joint, sides } = CoRun::of(&application, &spans).unwrap();
        assert_eq!((window.as_ps(), joint.as_ps()), (70, 40));
        let of = |instructions: f64| instructions / 70e-12;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b, "{a} {b}");
        close(sides[0].rate, of(100.0 * 20.0 / 40.0 + 100.0 * 50.0 / 60.0));
        close(sides[1].rate, of(100.0 + 100.0 * 30.0 / 50.0));
        close(sides[0].joint_rate, (100.0 * 20.0 / 40.0 + 100.0 * 20.0 / 60.0) / 40e-12);
        close(sides[1].joint_rate, 100.0 / 40e-12);
        assert_eq!((sides[0].launches, sides[1].launches), (1, 2));
        assert_eq!(CoRun::of(&Application::default(), &spans), None);
    }
}
