//! The critical path of a run: the activities that the run waited for last, traced back from its end.
//!
//! From a moment the path goes back to the activity that ended last before it, through that activity to its
//! beginning, and on from there. The gap between an end and the beginning that it led to is the host's time,
//! a message, or a wait for a free slot. The steps of the path follow each other without a gap from the
//! beginning of the run to its end.

use counterpoint_framework::telemetry::Span;
use counterpoint_framework::time::SimTime;

use crate::results::exposure::Activity;

/// A step of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// Index of the span of the copy, file or launch; `None` between two of them.
    pub span: Option<usize>,
    /// Start of the step.
    pub start: SimTime,
    /// End of the step.
    pub end: SimTime,
}

/// The path of a run that ended at `end`, from its beginning.
pub fn critical_path(spans: &[Span], end: SimTime) -> Vec<PathStep> {
    let activities = spans.iter().enumerate().filter(|(_, span)| Activity::of(span).is_some());
    let mut by_end: Vec<(SimTime, SimTime, usize)> = activities
        .filter(|(_, span)| span.end > span.start)
        .map(|(index, span)| (span.end, span.start, index))
        .collect();
    // Of activities that end together, the one that began last comes last, and the path takes it.
    by_end.sort_unstable();
    let mut steps = Vec::new();
    let mut now = end;
    for (ended, began, index) in by_end.into_iter().rev() {
        if ended > now {
            continue;
        }
        if ended < now {
            steps.push(PathStep { span: None, start: ended, end: now });
        }
        steps.push(PathStep { span: Some(index), start: began, end: ended });
        now = began;
    }
    if now > SimTime::ZERO {
        steps.push(PathStep { span: None, start: SimTime::ZERO, end: now });
    }
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::summary::tests::span;
    use counterpoint_framework::telemetry::Level;

    #[test]
    fn the_path_goes_back_to_what_ended_last_and_covers_the_run() {
        let spans = [
            span(1, None, Level::Kernels, "read a", 10, 20),
            span(2, None, Level::Kernels, "read b", 20, 40),
            span(3, None, Level::Kernels, "H2D a", 21, 30),
            span(4, None, Level::Kernels, "H2D b", 41, 50),
            span(5, None, Level::Kernels, "step#1", 31, 45),
            span(6, None, Level::Kernels, "step#2", 50, 70),
            span(7, None, Level::Kernels, "D2H b", 72, 80),
        ];
        let path = critical_path(&spans, SimTime::from_ps(85));
        let steps: Vec<(&str, u64, u64)> = path
            .iter()
            .map(|step| {
                let name = step.span.map_or("", |index| &*spans[index].name);
                (name, step.start.as_ps(), step.end.as_ps())
            })
            .collect();
        let expected = [
            ("", 0, 10),
            ("read a", 10, 20),
            ("read b", 20, 40),
            ("", 40, 41),
            ("H2D b", 41, 50),
            ("step#2", 50, 70),
            ("", 70, 72),
            ("D2H b", 72, 80),
            ("", 80, 85),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_run_of_nothing_is_one_step() {
        let whole = PathStep { span: None, start: SimTime::ZERO, end: SimTime::from_ps(9) };
        assert_eq!(critical_path(&[], SimTime::from_ps(9)), [whole]);
        assert_eq!(critical_path(&[], SimTime::ZERO), []);
    }
}
