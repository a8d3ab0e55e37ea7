//! Exposure of a run: which of its activities were exposed, and which hidden behind others.
//!
//! A moment belongs to one activity: to a kernel if one runs, else to a copy to the device or to the host,
//! else to reading input, else to writing output, else to none. An activity is exposed in the moments that
//! belong to it and hidden in the others. Exposed time, together with the moments of none, is the whole run.

use std::collections::BTreeSet;

use counterpoint_framework::telemetry::{Level, Span};
use counterpoint_framework::time::SimTime;

use crate::results::launches::is_launch;

/// Activities, in the order in which a moment belongs to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// A kernel runs.
    Kernel,
    /// A copy from the host to a device.
    ToDevice,
    /// A copy from a device to the host.
    ToHost,
    /// An input file is read.
    Prelude,
    /// An output file is written.
    Postlude,
}

impl Activity {
    /// All activities.
    pub const ALL: [Activity; 5] =
        [Activity::Kernel, Activity::ToDevice, Activity::ToHost, Activity::Prelude, Activity::Postlude];

    /// The activity of a span, if it is one.
    pub fn of(span: &Span) -> Option<Activity> {
        if span.level != Level::Kernels || span.aggregated > 0 {
            return None;
        }
        match span.name.split_once(' ') {
            Some(("H2D", _)) => Some(Activity::ToDevice),
            Some(("D2H", _)) => Some(Activity::ToHost),
            Some(("read", _)) => Some(Activity::Prelude),
            Some(("write", _)) => Some(Activity::Postlude),
            Some(_) => None,
            None => is_launch(span).then_some(Activity::Kernel),
        }
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Kernel => "kernels",
            Activity::ToDevice => "H2D",
            Activity::ToHost => "D2H",
            Activity::Prelude => "prelude",
            Activity::Postlude => "postlude",
        }
    }
}

/// Time of an activity, and the exposed part of that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// Time in which the activity went on.
    pub busy: SimTime,
    /// Part of `busy` that belongs to the activity.
    pub exposed: SimTime,
}

impl Exposed {
    /// The part of its time in which something else went on that counts more.
    pub fn hidden(&self) -> SimTime {
        self.busy.saturating_sub(self.exposed)
    }
}

/// Exposure of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// For each activity that occurred: the time in which at least one of its kind went on, and the exposed
    /// part of that time.
    pub activities: Vec<(Activity, Exposed)>,
    /// The time of none: the host computes or waits, messages travel.
    pub other: SimTime,
    /// Time and exposed time of each copy, file and launch, by index into the spans. Of two concurrent spans
    /// of one activity the earlier is exposed.
    pub spans: Vec<(usize, Exposed)>,
}

impl Exposure {
    /// Looks through the spans of a run that ended at `end`.
    pub fn new(spans: &[Span], end: SimTime) -> Self {
        let found =
            spans.iter().enumerate().filter_map(|(index, span)| Some((index, span, Activity::of(span)?)));
        let items: Vec<(usize, &Span, Activity)> =
            found.filter(|(_, span, _)| span.end > span.start).collect();
        // Each event is a beginning or an end; at equal times, ends come before beginnings.
        let mut events: Vec<(SimTime, bool, usize)> = Vec::new();
        for (item, (_, span, _)) in items.iter().enumerate() {
            events.extend([(span.start, true, item), (span.end, false, item)]);
        }
        events.sort_unstable();
        let mut exposure = Exposure::default();
        let mut own = vec![Exposed::default(); items.len()];
        let mut sums = [Exposed::default(); Activity::ALL.len()];
        let mut active: BTreeSet<(Activity, SimTime, usize)> = BTreeSet::new();
        let mut now = SimTime::ZERO;
        for (time, begins, item) in events {
            let passed = time - now;
            match active.first() {
                Some(&(activity, _, first)) => {
                    own[first].exposed += passed;
                    sums[activity as usize].exposed += passed;
                }
                None => exposure.other += passed,
            }
            for activity in Activity::ALL {
                if active.iter().any(|(other, _, _)| *other == activity) {
                    sums[activity as usize].busy += passed;
                }
            }
            now = time;
            let (_, span, activity) = items[item];
            let key = (activity, span.start, item);
            if begins {
                active.insert(key);
                own[item].busy = span.duration();
            } else {
                active.remove(&key);
            }
        }
        exposure.other += end.saturating_sub(now);
        exposure.spans = items.iter().zip(own).map(|((index, _, _), exposed)| (*index, exposed)).collect();
        let all = Activity::ALL.into_iter().zip(sums);
        exposure.activities = all.filter(|(_, sum)| sum.busy > SimTime::ZERO).collect();
        exposure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::summary::tests::span;

    #[test]
    fn exposed_times_and_the_rest_are_the_whole_run() {
        let spans = [
            span(1, None, Level::Phases, "run x", 0, 100),
            span(2, None, Level::Kernels, "read a", 10, 20),
            span(3, None, Level::Kernels, "H2D a", 15, 30),
            span(4, None, Level::Kernels, "step#1", 25, 60),
            span(5, None, Level::Kernels, "step#2", 50, 70),
            span(6, None, Level::Kernels, "D2H b", 40, 80),
            span(7, None, Level::Kernels, "write b", 80, 90),
            span(8, None, Level::Ctas, "read x", 0, 100),
        ];
        let exposure = Exposure::new(&spans, SimTime::from_ps(100));
        let row =
            |(busy, exposed)| Exposed { busy: SimTime::from_ps(busy), exposed: SimTime::from_ps(exposed) };
        let expected = [(45, 45), (15, 10), (40, 10), (10, 5), (10, 10)].map(row);
        assert_eq!(exposure.activities, Activity::ALL.into_iter().zip(expected).collect::<Vec<_>>());
        assert_eq!(exposure.other.as_ps(), 20);
        let own: Vec<(u64, u64)> =
            exposure.spans.iter().map(|(_, one)| (one.busy.as_ps(), one.exposed.as_ps())).collect();
        assert_eq!(own, [(10, 5), (15, 10), (35, 35), (20, 10), (40, 10), (10, 10)]);
        assert_eq!(exposure.activities[2].1.hidden().as_ps(), 30);
    }
}
