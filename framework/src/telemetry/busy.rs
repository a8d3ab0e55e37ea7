//! Busy periods of a part of a component: a direction of a link, a channel of memory, a disk.
//!
//! Periods that touch are one. They become spans of level [`Level::Ctas`]; a run that keeps coarser ones has all of
//! them as one, with the time that they take together.

use std::cell::{Cell, RefCell};

use super::collector::Recording;
use super::fold::Fold;
use super::span::{Attribute, Attributes, Lane, Level, Span, SpanId};
use crate::time::SimTime;

/// Most counts that a track has.
const COUNTS: usize = 4;

/// The busy periods of a part of a component, on a track of its own.
pub struct BusyTrack {
    recording: Recording,
    name: &'static str,
    counts: &'static [&'static str],
    period: Cell<Option<Period>>,
    done: RefCell<Done>,
}

#[derive(Clone, Copy)]
struct Period {
    start: SimTime,
    end: SimTime,
    /// A busy period has begun and not ended.
    busy: bool,
    counts: [u64; COUNTS],
}

#[derive(Default)]
struct Done {
    periods: Vec<Span>,
    /// Sum of the intervals that are not kept one by one.
    sum: Fold,
}

impl BusyTrack {
    pub(super) fn new(recording: Recording, name: &'static str, counts: &'static [&'static str]) -> Self {
        assert!(counts.len() <= COUNTS, "a track has {COUNTS} counts at most");
        BusyTrack { recording, name, counts, period: Cell::new(None), done: RefCell::default() }
    }

    fn is_wanted(&self) -> bool {
        self.recording.level >= Level::Kernels
    }

    /// Begins a busy interval at `start`.
    #[inline]
    pub fn begin(&self, start: SimTime) {
        if !self.is_wanted() {
            return;
        }
        let period = match self.period.get() {
            Some(period) if period.busy || start <= period.end => Period { busy: true, ..period },
            before => {
                before.into_iter().for_each(|period| self.finish(period));
                Period { start, end: start, busy: true, counts: [0; COUNTS] }
            }
        };
        self.period.set(Some(period));
    }

    /// Adds to the counts of the period under way, in the order in which the track names them.
    #[inline]
    pub fn count<const N: usize>(&self, amounts: [u64; N]) {
        if let Some(mut period) = self.period.get() {
            for (count, amount) in period.counts.iter_mut().zip(amounts) {
                *count += amount;
            }
            self.period.set(Some(period));
        }
    }

    /// Ends the busy interval at `end`.
    #[inline]
    pub fn end(&self, end: SimTime) {
        if let Some(period) = self.period.get() {
            self.period.set(Some(Period { end, busy: false, ..period }));
        }
    }

    fn finish(&self, period: Period) {
        let counts = self.counts.iter().zip(period.counts);
        let attributes: Attributes = counts.map(|(name, count)| (*name, Attribute::Amount(count))).collect();
        let one_by_one = self.recording.level >= Level::Ctas;
        let span = Span {
            id: SpanId(0),
            parent: None,
            level: if one_by_one { Level::Ctas } else { Level::Kernels },
            name: self.name.into(),
            path: String::new(),
            lane: Lane::Named(self.name),
            start: period.start,
            end: period.end,
            partial: period.busy,
            aggregated: if one_by_one { 0 } else { 1 },
            attributes,
        };
        let mut done = self.done.borrow_mut();
        // A period that has not ended cannot be added up: its end is the run's, which others know.
        if period.busy || one_by_one && done.periods.len() < self.recording.limit {
            done.periods.push(span);
        } else {
            done.sum.add(span, None);
        }
    }

    /// The periods, without the component's path.
    pub(super) fn take(&self) -> Vec<Span> {
        self.period.take().into_iter().for_each(|period| self.finish(period));
        let Done { mut periods, sum } = self.done.take();
        periods.extend(sum.sums());
        periods
    }
}
