//! Waits of a run, as they are kept: its exposure and its critical path.

use std::io::{self, Write};

use counterpoint_framework::telemetry::Span;
use counterpoint_framework::time::SimTime;
use csv::Writer;

use crate::results::critical_path::{PathStep, critical_path};
use crate::results::exposure::{Activity, Exposure};

/// Waits of a run.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Exposed and hidden time.
    pub exposure: Exposure,
    /// The critical path to its end.
    pub path: Vec<PathStep>,
}

impl Waits {
    /// Looks through the spans of a run that ended at `end`.
    pub fn new(spans: &[Span], end: SimTime) -> Self {
        Waits { exposure: Exposure::new(spans, end), path: critical_path(spans, end) }
    }

    /// Time of each activity on the critical path, and the time between the activities.
    pub fn on_path(&self, spans: &[Span]) -> (Vec<(Activity, SimTime)>, SimTime) {
        let mut sums = [SimTime::ZERO; Activity::ALL.len()];
        let mut between = SimTime::ZERO;
        for step in &self.path {
            let activity = step.span.and_then(|index| Activity::of(&spans[index]));
            *activity.map_or(&mut between, |activity| &mut sums[activity as usize]) += step.end - step.start;
        }
        let all = Activity::ALL.into_iter().zip(sums);
        (all.filter(|(_, sum)| *sum > SimTime::ZERO).collect(), between)
    }

    /// Writes `name,activity,start_ps,busy_ps,exposed_ps,hidden_ps`, a line for each copy, file and launch, and one for the
    /// time of none.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_exposure(&self, spans: &[Span], out: &mut dyn Write) -> io::Result<()> {
        let mut table = Writer::from_writer(out);
        table.write_record(["name", "activity", "start_ps", "busy_ps", "exposed_ps", "hidden_ps"])?;
        let text = |time: SimTime| time.as_ps().to_string();
        for (index, one) in &self.exposure.spans {
            let span = &spans[*index];
            let activity = Activity::of(span).map_or("", Activity::name);
            let times = [span.start, one.busy, one.exposed, one.hidden()].map(text);
            table.write_record([&span.name, activity].into_iter().chain(times.iter().map(String::as_str)))?;
        }
        let other = text(self.exposure.other);
        table.write_record(["", "other", "", &other, &other, "0"])?;
        table.flush()
    }

    /// Writes `start_ps,end_ps,activity,name`, a line for each step.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_path(&self, spans: &[Span], out: &mut dyn Write) -> io::Result<()> {
        let mut table = Writer::from_writer(out);
        table.write_record(["start_ps", "end_ps", "activity", "name"])?;
        for step in &self.path {
            let span = step.span.map(|index| &spans[index]);
            let activity = span.and_then(Activity::of).map_or("other", Activity::name);
            let [start, end] = [step.start, step.end].map(|time| time.as_ps().to_string());
            table.write_record([&*start, &*end, activity, span.map_or("", |span| &span.name)])?;
        }
        table.flush()
    }
}
