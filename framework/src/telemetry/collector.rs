//! Collects the spans of one component while it runs.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::assemble::FOR_SUMS;
use super::busy::BusyTrack;
use super::fold::Fold;
use super::span::{Attributes, Lane, Level, Span, SpanId};
use crate::time::SimTime;

/// The spans that a run keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The finest.
    pub level: Level,
    /// Maximum number of them; those beyond are added up by component, and nothing is lost without a number.
    pub limit: usize,
}

impl Recording {
    /// Spans down to this level.
    pub fn of(level: Level) -> Self {
        Recording { level, ..Recording::default() }
    }
}

impl Default for Recording {
    /// Launches and copies; ten thousand spans, more than which Jaeger's page takes long to draw.
    fn default() -> Self {
        Recording { level: Level::default(), limit: 10_000 }
    }
}

/// Properties of a span at its beginning.
pub(crate) struct Beginning {
    pub(crate) level: Level,
    pub(crate) parent: Option<SpanId>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) lane: Lane,
    pub(crate) start: SimTime,
}

/// Collects the spans of one component.
pub(crate) struct Collector {
    recording: Recording,
    index: u32,
    issued: Cell<u32>,
    spans: RefCell<Spans>,
}

/// Spans that are not kept, each with its parent.
pub(crate) type Parents = Vec<(SpanId, Option<SpanId>)>;

#[derive(Default)]
struct Spans {
    open: Vec<Open>,
    closed: Vec<Span>,
    /// Launches and copies, and finer ones, so far.
    kernels: usize,
    fine: usize,
    beyond: Fold,
    /// Launches and copies beyond the limit, and their parents if fine spans may be parts of them.
    launches: Fold,
    parents: Parents,
    tracks: Vec<Rc<BusyTrack>>,
}

struct Open {
    span: Span,
    /// The span began beyond the number that the run can keep.
    beyond: bool,
}

impl Collector {
    pub(crate) fn new(recording: Recording, index: u32) -> Self {
        Collector { recording, index, issued: Cell::new(0), spans: RefCell::default() }
    }

    pub(crate) fn wants(&self, level: Level) -> bool {
        level <= self.recording.level
    }

    fn next_id(&self) -> SpanId {
        let issued = self.issued.get();
        self.issued.set(issued + 1);
        SpanId((u64::from(self.index) << 32) | u64::from(issued))
    }

    pub(crate) fn open(&self, beginning: Beginning) -> SpanId {
        let id = self.next_id();
        let Beginning { level, parent, name, lane, start } = beginning;
        if self.wants(level) {
            let span = Span {
                id,
                parent,
                level,
                name,
                path: String::new(),
                lane,
                start,
                end: start,
                partial: true,
                aggregated: 0,
                attributes: Vec::new(),
            };
            let mut spans = self.spans.borrow_mut();
            spans.fine += usize::from(level.is_fine());
            spans.kernels += usize::from(level == Level::Kernels);
            // Spans that begin later come after these in the run's order, too.
            let so_far = match level {
                Level::Kernels => spans.kernels,
                _ if level.is_fine() => spans.fine,
                _ => 0,
            };
            let beyond = so_far > self.recording.limit;
            spans.open.push(Open { span, beyond });
        }
        id
    }

    pub(crate) fn close(&self, id: SpanId, end: SimTime, attributes: Attributes) {
        let mut spans = self.spans.borrow_mut();
        let Some(place) = spans.open.iter().rposition(|open| open.span.id == id) else { return };
        let Open { mut span, beyond } = spans.open.swap_remove(place);
        span.end = end;
        span.partial = false;
        span.attributes = attributes;
        spans.keep(span, beyond, self.recording);
    }

    /// The name of an open span that is kept.
    pub(crate) fn name(&self, id: SpanId) -> Option<Cow<'static, str>> {
        let spans = self.spans.borrow();
        spans.open.iter().rfind(|open| open.span.id == id).map(|open| open.span.name.clone())
    }

    /// A track for the busy periods of something that the component has.
    pub(crate) fn track(&self, name: &'static str, counts: &'static [&'static str]) -> Rc<BusyTrack> {
        let track = Rc::new(BusyTrack::new(self.recording, name, counts));
        self.spans.borrow_mut().tracks.push(Rc::clone(&track));
        track
    }

    /// Takes all spans. Those still open have no end: it is the run's, which others know.
    pub(crate) fn take(&self, path: &str) -> (Vec<Span>, Parents) {
        let Spans { open, closed: mut spans, beyond, launches, parents, tracks, .. } = self.spans.take();
        spans.extend(open.into_iter().map(|open| open.span));
        for mut span in
            launches.sums().chain(beyond.sums()).chain(tracks.iter().flat_map(|track| track.take()))
        {
            span.id = self.next_id();
            spans.push(span);
        }
        for span in &mut spans {
            path.clone_into(&mut span.path);
        }
        (spans, parents)
    }
}

impl Spans {
    fn keep(&mut self, span: Span, beyond: bool, recording: Recording) {
        if !beyond {
            self.closed.push(span);
            return;
        }
        // A child of a span that is not kept is shown below that span's parent.
        let mut parent = span.parent;
        while let Some(open) = self.open.iter().rfind(|open| open.beyond && Some(open.span.id) == parent) {
            parent = open.span.parent;
        }
        if span.level.is_fine() {
            self.beyond.add(span, parent);
            return;
        }
        if recording.level.is_fine() {
            self.parents.push((span.id, parent));
        }
        self.launches.add(span, parent);
        if self.launches.len() > recording.limit / FOR_SUMS {
            // Each launch or copy has a parent of its own, such as the host's copy of which it is the device's part.
            self.launches = std::mem::take(&mut self.launches).wider(|_| None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Attribute, Trace};

    /// The spans of a run in which a host makes launches, as a scheduler collects them.
    fn collected(launches: u64, keeps: usize, level: Level) -> (Collector, Vec<Span>) {
        let recording = |limit| Recording { level, limit };
        let (host, scheduler) = (Collector::new(recording(10), 0), Collector::new(recording(keeps), 1));
        let begin = |collector: &Collector, level, parent, name: String, ps| {
            let (name, start) = (name.into(), SimTime::from_ps(ps));
            collector.open(Beginning { level, parent, name, lane: Lane::Only, start })
        };
        let run = begin(&host, Level::Phases, None, "run".to_owned(), 0);
        for number in 1..=launches {
            let name = format!("step{}#{number}", number % 2);
            let launch = begin(&scheduler, Level::Kernels, Some(run), name, 10 * number);
            let attributes =
                vec![("launch", Attribute::Number(number)), ("cycles", Attribute::Amount(number))];
            scheduler.close(launch, SimTime::from_ps(10 * number + 7), attributes);
        }
        host.close(run, SimTime::from_ps(10 * launches + 20), Vec::new());
        let (spans, _) = host.take("host");
        (scheduler, spans)
    }

    #[test]
    fn launches_beyond_the_limit_are_the_same_sums_and_are_not_kept() {
        let trace = |keeps, level: Level| {
            let (scheduler, mut spans) = collected(1000, keeps, level);
            let kept = scheduler.spans.borrow().closed.len();
            let (own, parents) = scheduler.take("gpu.scheduler");
            spans.extend(own);
            if level.is_fine() {
                // A block of each launch, on an SM of its own collector.
                let sm = Collector::new(Recording { level, limit: usize::MAX }, 2);
                for launch in 0..1000 {
                    let (parent, name) = (Some(SpanId((1 << 32) | launch)), "cta 0".into());
                    let start = SimTime::from_ps(10 * launch + 11);
                    let beginning = Beginning { level, parent, name, lane: Lane::Only, start };
                    sm.close(sm.open(beginning), SimTime::from_ps(10 * launch + 15), Vec::new());
                }
                spans.extend(sm.take("gpu.sm").0);
            }
            (kept, Trace::new(spans, parents, SimTime::from_ps(20_000), 100))
        };
        for level in [Level::Kernels, Level::Ctas] {
            let ((all, expected), (few, found)) = (trace(usize::MAX, level), trace(100, level));
            assert_eq!((all, few), (1000, 100));
            assert_eq!((&found.spans, found.left_out), (&expected.spans, expected.left_out));
            let sums = found.spans.iter().filter(|span| span.aggregated > 0);
            let sums: Vec<(&str, u64)> = sums.map(|span| (&*span.name, span.aggregated)).collect();
            let expected = [("1000 × cta", 1000), ("step0", 456), ("step1", 455)];
            assert_eq!(sums, expected[usize::from(!level.is_fine())..]);
        }
    }

    #[test]
    fn parents_that_are_nowhere_leave_few_sums() {
        let copies = Collector::new(Recording { level: Level::Kernels, limit: 50 }, 3);
        for number in 0..1000 {
            let (parent, name) = (Some(SpanId(number)), format!("copy {number}").into());
            let start = SimTime::from_ps(number);
            let beginning = Beginning { level: Level::Kernels, parent, name, lane: Lane::Only, start };
            let copy = copies.open(beginning);
            copies.close(copy, SimTime::from_ps(number + 1), Vec::new());
        }
        let (spans, _) = copies.take("gpu.copy");
        assert!(spans.len() < 60, "{} spans", spans.len());
        assert_eq!(spans.iter().map(|span| span.aggregated.max(1)).sum::<u64>(), 1000);
    }
}
