//! Components and what they declare: parameters, ports and statistics, with a derive for each, and families of variants.
//!
//! A component is a kind of which machine files make instances. A variant is a choice that a component leaves open, such as a
//! policy; [`Equipped`] ones have ports or statistics of their own. A [`Registry`] holds both.

#[doc(inline)]
pub use counterpoint_framework::model::{
    BusyCycles, BusyTime, Catalogue, Choice, Component, Context, Counter, Diagnostic, Diagnostics,
    Distribution, Environment, Equipped, Every, Extension, Families, FileId, Invalid, Keyed, LogLevel, Logs,
    Node, Parameter, Params, Ports, Ratio, Reader, Registry, Report, Resources, Setting, Site, Slot,
    SourceMap, Span, StatValue, Stats, Value, Variant,
};
#[doc(inline)]
pub use counterpoint_framework::variants;

/// Roles by which summaries, totals and curves find components, with the statistics that they read of each.
#[doc(inline)]
pub use counterpoint_protocols::roles;
