//! Collects the spans of one component while it runs.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

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

#[derive(Default)]
struct Spans {
    open: Vec<Open>,
    closed: Vec<Span>,
    fine: usize,
    beyond: Fold,
    tracks: Vec<Rc<BusyTrack>>,
}

struct Open {
    span: Span,
    /// It began beyond the number that the run can keep.
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
            // Spans that begin later come after these in the run's order, too.
            let beyond = level.is_fine() && spans.fine > self.recording.limit;
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
        spans.keep(span, beyond);
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
    pub(crate) fn take(&self, path: &str) -> Vec<Span> {
        let Spans { open, closed: mut spans, beyond, tracks, .. } = self.spans.take();
        spans.extend(open.into_iter().map(|open| open.span));
        for mut span in beyond.sums().chain(tracks.iter().flat_map(|track| track.take())) {
            span.id = self.next_id();
            spans.push(span);
        }
        for span in &mut spans {
            path.clone_into(&mut span.path);
        }
        spans
    }
}

impl Spans {
    fn keep(&mut self, span: Span, beyond: bool) {
        if !beyond {
            self.closed.push(span);
            return;
        }
        // A child of a span that is not kept is shown below that span's parent.
        let mut parent = span.parent;
        while let Some(open) = self.open.iter().rfind(|open| open.beyond && Some(open.span.id) == parent) {
            parent = open.span.parent;
        }
        self.beyond.add(span, parent);
    }
}
