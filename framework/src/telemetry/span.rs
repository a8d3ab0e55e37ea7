//! Spans of simulated time: what happened from when to when, as a tree.

use std::borrow::Cow;
use std::cell::Cell;

use crate::kernel::Process;
use crate::time::SimTime;

/// How fine a span is; a run keeps those up to a chosen level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// Prelude, copies, kernels as one, postlude.
    Phases,
    /// Every launch and every copy.
    #[default]
    Kernels,
    /// Every thread block.
    Ctas,
    /// Every warp.
    Warps,
}

/// Names a span within a run, the same in every run of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub u64);

/// The value of a span's attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A number.
    Number(u64),
    /// A text.
    Text(Cow<'static, str>),
}

/// A finished span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its name within the run.
    pub id: SpanId,
    /// The span that it is part of.
    pub parent: Option<SpanId>,
    /// How fine it is.
    pub level: Level,
    /// What happened.
    pub name: Cow<'static, str>,
    /// The component on whose track it is shown.
    pub path: String,
    /// A track within the component, such as a CTA slot.
    pub lane: u32,
    /// First instant.
    pub start: SimTime,
    /// First instant after it.
    pub end: SimTime,
    /// It was still open when the run ended.
    pub partial: bool,
    /// What else is known of it.
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// Collects the spans of one component.
pub(crate) struct Collector {
    level: Level,
    index: u32,
    issued: Cell<u32>,
    open: crate::kernel::Local<Vec<Span>>,
    closed: crate::kernel::Local<Vec<Span>>,
}

impl Collector {
    pub(crate) fn new(level: Level, index: u32) -> Self {
        Collector {
            level,
            index,
            issued: Cell::new(0),
            open: crate::kernel::Local::new(Vec::new()),
            closed: crate::kernel::Local::new(Vec::new()),
        }
    }

    pub(crate) fn wants(&self, level: Level) -> bool {
        level <= self.level
    }

    fn next_id(&self) -> SpanId {
        let issued = self.issued.get();
        self.issued.set(issued + 1);
        SpanId((u64::from(self.index) << 32) | u64::from(issued))
    }

    pub(crate) fn open(
        &self,
        process: &Process,
        level: Level,
        parent: Option<SpanId>,
        name: Cow<'static, str>,
        lane: u32,
    ) -> SpanId {
        let id = self.next_id();
        if self.wants(level) {
            let start = process.now();
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
                attributes: Vec::new(),
            };
            self.open.with(|open| open.push(span));
        }
        id
    }

    pub(crate) fn close(&self, process: &Process, id: SpanId, attributes: Vec<(&'static str, Attribute)>) {
        let found = self
            .open
            .with(|open| open.iter().rposition(|span| span.id == id).map(|place| open.swap_remove(place)));
        if let Some(mut span) = found {
            span.end = process.now();
            span.partial = false;
            span.attributes = attributes;
            self.closed.with(|closed| closed.push(span));
        }
    }

    /// The name of an open span that is kept.
    pub(crate) fn name(&self, id: SpanId) -> Option<Cow<'static, str>> {
        self.open.with(|open| open.iter().rfind(|span| span.id == id).map(|span| span.name.clone()))
    }

    /// Takes all spans; those still open end now.
    pub(crate) fn take(&self, path: &str, now: SimTime) -> Vec<Span> {
        let mut spans = self.closed.with(std::mem::take);
        spans.extend(self.open.with(std::mem::take).into_iter().map(|mut span| {
            span.end = now;
            span
        }));
        for span in &mut spans {
            path.clone_into(&mut span.path);
        }
        spans
    }
}
