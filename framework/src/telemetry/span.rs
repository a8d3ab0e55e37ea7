//! Spans of simulated time: events with a beginning and an end, as a tree.

use std::borrow::Cow;
use std::fmt;

use crate::time::SimTime;

/// The level of a span; a run keeps those up to a chosen one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No spans.
    Off,
    /// Prelude, copies, kernels as one, postlude.
    Phases,
    /// Every launch and every copy; of links and channels, all their busy periods as one.
    #[default]
    Kernels,
    /// Every thread block, every burst of a copy, every busy period of a link or a channel.
    Ctas,
    /// Every warp.
    Warps,
}

impl Level {
    /// Whether its spans are so numerous that a run may not keep all.
    pub fn is_fine(self) -> bool {
        self > Level::Kernels
    }
}

/// Names a span within a run, the same in every run of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub u64);

/// A track within a component, on which spans nest or follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The only lane of the component.
    #[default]
    Only,
    /// One of a few lanes with names, such as a direction of a link.
    Named(&'static str),
    /// One of many equal lanes, such as a slot for a thread block.
    Numbered(&'static str, u32),
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lane::Only => Ok(()),
            Lane::Named(name) => f.write_str(name),
            Lane::Numbered(name, number) => write!(f, "{name} {number}"),
        }
    }
}

/// The value of a span's attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A number that names something.
    Number(u64),
    /// An amount: spans that are shown as one have the sum of theirs.
    Amount(u64),
    /// A text.
    Text(Cow<'static, str>),
}

/// The attributes of a span, by name.
pub type Attributes = Vec<(&'static str, Attribute)>;

/// A finished span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its name within the run.
    pub id: SpanId,
    /// The span of which this span is a part.
    pub parent: Option<SpanId>,
    /// Level of the span.
    pub level: Level,
    /// The event.
    pub name: Cow<'static, str>,
    /// The component on whose track it is shown.
    pub path: String,
    /// A track within the component.
    pub lane: Lane,
    /// First instant.
    pub start: SimTime,
    /// First instant after it.
    pub end: SimTime,
    /// Whether the span was still open when the run ended.
    pub partial: bool,
    /// Number of spans that the limit left out and that it represents; 0 for a span of its own.
    pub aggregated: u64,
    /// Other attributes of the span.
    pub attributes: Attributes,
}

impl Span {
    /// The common stem of its sort: `cta 17` is a `cta`, `step#3` a `step`.
    pub fn stem(&self) -> &str {
        match self.name.rsplit_once([' ', '#']) {
            Some((stem, number)) if is_number(number) => stem,
            _ => &self.name,
        }
    }

    /// Duration of the span.
    pub fn duration(&self) -> SimTime {
        self.end.saturating_sub(self.start)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A span of component `path` for tests.
    pub(in crate::telemetry) fn span(
        id: u64,
        level: Level,
        name: &'static str,
        path: &str,
        times: [u64; 2],
    ) -> Span {
        Span {
            id: SpanId(id),
            parent: None,
            level,
            name: name.into(),
            path: path.to_owned(),
            lane: Lane::Only,
            start: SimTime::from_ps(times[0]),
            end: SimTime::from_ps(times[1]),
            partial: false,
            aggregated: 0,
            attributes: Vec::new(),
        }
    }

    #[test]
    fn a_stem_is_the_name_without_the_number() {
        let stem = |name| span(1, Level::Ctas, name, "sm", [0, 1]).stem().to_owned();
        let names = ["cta 17", "step#3", "run", "read in2", "odd#", "7"];
        assert_eq!(names.map(stem), ["cta", "step", "run", "read in2", "odd#", "7"]);
    }
}
