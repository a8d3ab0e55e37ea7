//! Spans beyond the limit: those of one sort, place and parent become one, with their number.

use std::collections::BTreeMap;

use super::{Attribute, Lane, Span, SpanId};

/// The common properties of spans that are shown as one.
type Key = (String, String, Option<SpanId>);

#[derive(Default)]
pub(crate) struct Fold(BTreeMap<Key, Span>);

/// The sum of the durations of the spans that one represents.
const BUSY: &str = "busy_ps";

impl Fold {
    /// Adds a span, or another sum, which is shown below `parent`.
    pub(crate) fn add(&mut self, span: Span, parent: Option<SpanId>) {
        let key = (span.path.clone(), span.stem().to_owned(), parent);
        let count = span.aggregated.max(1);
        let busy = (span.aggregated == 0).then(|| (BUSY, Attribute::Amount(span.duration().as_ps())));
        let sum = self.0.entry(key).or_insert_with(|| Span {
            parent,
            lane: Lane::Named("aggregated"),
            aggregated: 0,
            attributes: Vec::new(),
            ..span.clone()
        });
        sum.start = sum.start.min(span.start);
        sum.end = sum.end.max(span.end);
        sum.partial |= span.partial;
        sum.aggregated += count;
        for (name, value) in span.attributes.into_iter().chain(busy) {
            let Attribute::Amount(amount) = value else { continue };
            match sum.attributes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, Attribute::Amount(total))) => *total += amount,
                _ => sum.attributes.push((name, Attribute::Amount(amount))),
            }
        }
    }

    /// Number of resulting spans.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The resulting spans, named by their common properties, in an order that depends on nothing else.
    pub(crate) fn sums(self) -> impl Iterator<Item = Span> {
        self.0.into_iter().map(|((_, stem, _), span)| Span { name: stem.into(), ..span })
    }

    /// Sums of sums: those of one sort and place become one, below the parent that `parent` gives.
    pub(crate) fn wider(self, parent: impl Fn(Option<SpanId>) -> Option<SpanId>) -> Fold {
        let mut wider = Fold::default();
        for span in self.sums() {
            let parent = parent(span.parent);
            wider.add(span, parent);
        }
        wider
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Level;
    use crate::telemetry::span::tests::span;

    #[test]
    fn sums_have_extent_count_busy_time_and_amounts() {
        let mut fold = Fold::default();
        for (number, times) in [(1, [10, 30]), (2, [5, 15]), (3, [40, 41])] {
            let mut cta = span(number, Level::Ctas, "cta 1", "sm", times);
            cta.attributes = vec![("bytes", Attribute::Amount(number)), ("launch", Attribute::Number(7))];
            fold.add(cta, Some(SpanId(9)));
        }
        let mut wider = fold.wider(|parent| parent.map(|_| SpanId(0)));
        wider.add(span(4, Level::Ctas, "cta 9", "other", [0, 1]), None);
        assert_eq!(wider.len(), 2);
        let sums: Vec<Span> = wider.sums().collect();
        let sum = &sums[1];
        assert_eq!((&*sum.name, &*sum.path, sum.parent, sum.aggregated), ("cta", "sm", Some(SpanId(0)), 3));
        assert_eq!((sum.start.as_ps(), sum.end.as_ps()), (5, 41));
        assert_eq!(sum.attributes, [("bytes", Attribute::Amount(6)), (BUSY, Attribute::Amount(31))]);
    }
}
