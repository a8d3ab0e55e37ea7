//! Properties of a link beside its ends: the latency of messages, the number that wait, the bandwidth.

use crate::model::{Catalogue, Diagnostic, Diagnostics, Node, Parameter, Reader, Span};
use crate::time::{BytesPerSecond, Latency};

use super::expression;
use super::flat::{Leaf, Scope, Wire};
use super::module::LinkEntry;

/// Properties of a link beside its ends.
pub(super) struct Medium {
    latency: Latency,
    back: Option<(Latency, Span)>,
    capacity: Option<u32>,
    bandwidth: Option<BytesPerSecond>,
}

impl Medium {
    pub(super) fn read(
        entry: &LinkEntry,
        scope: &Scope,
        catalogue: &Catalogue,
        diagnostics: &mut Diagnostics,
    ) -> Medium {
        let mut time = |node: &Option<Node>| {
            let latency = value::<Latency>(node, scope, catalogue, diagnostics);
            if let (Some(true), Some(node)) = (latency.map(Latency::is_zero), node) {
                let diagnostic = Diagnostic::new(node.span, "a link takes time");
                diagnostics.report(diagnostic.help("expected at least 1 cycle, or a time above zero"));
            }
            latency
        };
        let (latency, back) = (time(&entry.latency), time(&entry.back));
        let back = back.zip(entry.back.as_ref()).map(|(back, node)| (back, node.span));
        let capacity = value::<u32>(&entry.capacity, scope, catalogue, diagnostics);
        if let (Some(0), Some(node)) = (capacity, &entry.capacity) {
            let diagnostic = Diagnostic::new(node.span, "a link without room for a message");
            diagnostics.report(diagnostic.help("expected a capacity of at least 1"));
        }
        let bandwidth = value::<BytesPerSecond>(&entry.bandwidth, scope, catalogue, diagnostics);
        if let (Some(0), Some(node)) = (bandwidth.map(BytesPerSecond::get), &entry.bandwidth) {
            let diagnostic = Diagnostic::new(node.span, "a link that nothing passes");
            diagnostics.report(diagnostic.help("expected a bandwidth of at least 1 B/s"));
        }
        Medium { latency: latency.unwrap_or_default(), back, capacity, bandwidth }
    }

    /// Two ports joined in this way.
    pub(super) fn wire(&self, from: Leaf, to: Leaf, entry: &LinkEntry) -> Wire {
        let Medium { latency, back, capacity, bandwidth } = *self;
        Wire { from, to, latency, back, capacity, bandwidth, span: entry.span, added: entry.added }
    }
}

/// A value of a link, if it is written and right.
pub(super) fn value<T: Parameter>(
    node: &Option<Node>,
    scope: &Scope,
    catalogue: &Catalogue,
    diagnostics: &mut Diagnostics,
) -> Option<T> {
    let node = expression::substitute(node.as_ref()?, &scope.environment, diagnostics)?;
    T::from_node(&node, &mut Reader::new(&catalogue.families, diagnostics))
}
