//! From the spans of components to those of a run: one tree, no larger than the run may have.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::collector::Parents;
use super::fold::Fold;
use super::span::{Attribute, Level, Span, SpanId};
use crate::time::SimTime;

/// The share of the limit that is for spans which represent others.
pub(super) const FOR_SUMS: usize = 10;

/// The spans of a run, by start.
#[derive(Default)]
#[non_exhaustive]
pub struct Trace {
    /// The spans: parents before their parts, which are within them in time.
    pub spans: Vec<Span>,
    /// Number of the fine ones that are absent themselves but added up in others.
    pub left_out: u64,
}

impl Trace {
    /// The spans of a run that ended at `end`, at most about `limit` of them; `parents` are those of spans that were not kept.
    pub(crate) fn new(mut spans: Vec<Span>, parents: Parents, end: SimTime, limit: usize) -> Trace {
        for span in &mut spans {
            if span.partial {
                span.end = end;
            }
            // A link may be busy with a message that the run did not wait for.
            span.end = span.end.min(end);
            span.start = span.start.min(end);
        }
        spans.sort_by_key(|span| (span.start, span.level, Reverse(span.end), span.id));
        disown(&mut spans, &parents);
        adopt(&mut spans);
        if spans.len() > limit || spans.iter().any(|span| span.aggregated > 0 && span.level.is_fine()) {
            spans = limited(spans, parents, limit);
        }
        let sums = || spans.iter().filter(|span| span.aggregated > 0 && span.level.is_fine());
        let left_out = sums().map(|span| span.aggregated).sum();
        for span in spans.iter_mut().filter(|span| span.aggregated > 0 && span.level.is_fine()) {
            span.name = format!("{} × {}", span.aggregated, span.name).into();
        }
        if left_out > 0
            && let Some(whole) = whole(&spans)
        {
            spans[whole].attributes.push(("spans_left_out", Attribute::Number(left_out)));
        }
        Trace { spans, left_out }
    }
}

fn whole(spans: &[Span]) -> Option<usize> {
    spans.iter().position(|span| span.parent.is_none() && span.level == Level::Phases)
}

/// Removes parents that were not kept: launches and copies beyond the limit are added up at the component that made
/// them, which does not know whether their parents are kept elsewhere.
fn disown(spans: &mut [Span], parents: &Parents) {
    let is_sum = |span: &Span| span.aggregated > 0 && !span.level.is_fine() && span.parent.is_some();
    if !spans.iter().any(is_sum) {
        return;
    }
    let known: BTreeSet<SpanId> =
        spans.iter().map(|span| span.id).chain(parents.iter().map(|(id, _)| *id)).collect();
    for span in spans.iter_mut().filter(|span| span.parent.is_some_and(|parent| !known.contains(&parent))) {
        span.parent = None;
    }
}

/// Puts spans without a parent below the whole run, if they are within it: a link does not know the owner of its
/// messages.
fn adopt(spans: &mut [Span]) {
    let Some(whole) = whole(spans) else { return };
    let Span { id, start, end, .. } = spans[whole];
    for span in spans.iter_mut().filter(|span| span.parent.is_none() && span.id != id) {
        if start <= span.start && span.end <= end {
            span.parent = Some(id);
        }
    }
}

/// Keeps phases, launches and copies, and of fine spans those that begin first; the others are added up by sort,
/// component and the nearest of their parents that is kept, or where that is too many, by sort and component.
fn limited(spans: Vec<Span>, not_kept: Parents, limit: usize) -> Vec<Span> {
    let mut parents: BTreeMap<SpanId, Option<SpanId>> = not_kept.into_iter().collect();
    parents.extend(spans.iter().map(|span| (span.id, span.parent)));
    let (coarse, fine): (Vec<Span>, Vec<Span>) = spans.into_iter().partition(|span| !span.level.is_fine());
    let room = limit - limit / FOR_SUMS;
    let mut kept = Vec::new();
    let mut others = Vec::new();
    for span in coarse.into_iter().chain(fine) {
        let sum = span.aggregated > 0 && span.level.is_fine();
        if sum || kept.len() >= room { others.push(span) } else { kept.push(span) }
    }
    let known: BTreeSet<SpanId> = kept.iter().map(|span| span.id).collect();
    let nearest = |mut parent: Option<SpanId>| {
        while let Some(id) = parent
            && !known.contains(&id)
        {
            parent = parents.get(&id).copied().flatten();
        }
        parent
    };
    let topmost = |parent: Option<SpanId>| {
        let mut top = nearest(parent);
        while let Some(next) = top.and_then(|id| parents.get(&id).copied().flatten()) {
            top = Some(next);
        }
        top
    };
    let mut fold = Fold::default();
    for span in others {
        let parent = nearest(span.parent);
        fold.add(span, parent);
    }
    if fold.len() > limit - room {
        fold = fold.wider(topmost);
    }
    kept.extend(fold.sums());
    kept.sort_by_key(|span| (span.start, span.level, Reverse(span.end), span.id));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::span::tests::span;

    /// A run with two launches of `ctas` blocks each on two SMs, and a warp in each block.
    fn run(ctas: u64) -> Vec<Span> {
        let mut spans = vec![span(1, Level::Phases, "run", "host", [0, 10_000])];
        for launch in 0..2 {
            let (id, from) = (2 + launch, 1_000 + 4_000 * launch);
            let mut kernel = span(id, Level::Kernels, "step#1", "gpu", [from, from + 3_000]);
            kernel.parent = Some(SpanId(1));
            spans.push(kernel);
            for number in 0..ctas {
                let path = ["gpu.sm[0]", "gpu.sm[1]"][number as usize % 2];
                let times = [from + number, from + number + 10];
                let mut cta = span(100 + 1_000 * launch + number, Level::Ctas, "cta 1", path, times);
                cta.parent = Some(SpanId(id));
                let mut warp = span(10_100 + 1_000 * launch + number, Level::Warps, "warp 1", path, times);
                warp.parent = Some(cta.id);
                spans.extend([cta, warp]);
            }
        }
        spans
    }

    fn whole(spans: Vec<Span>, limit: usize) -> Trace {
        let trace = Trace::new(spans, Parents::new(), SimTime::from_ps(10_000), limit);
        let by_id: BTreeMap<SpanId, &Span> = trace.spans.iter().map(|span| (span.id, span)).collect();
        for span in &trace.spans {
            let Some(parent) = span.parent else { continue };
            let parent = by_id[&parent];
            assert!(parent.start <= span.start && span.end <= parent.end, "{span:?} in {parent:?}");
        }
        trace
    }

    #[test]
    fn a_run_within_its_limit_keeps_everything() {
        let trace = whole(run(10), 43);
        assert_eq!((trace.spans.len(), trace.left_out), (43, 0));
    }

    #[test]
    fn beyond_the_limit_blocks_are_added_up_by_sm_and_launch_and_counted() {
        let all = run(100);
        let trace = whole(all.clone(), 100);
        assert!(trace.spans.len() <= 100);
        let kept = trace.spans.iter().filter(|span| span.aggregated == 0).count();
        assert_eq!((kept, kept as u64 + trace.left_out), (90, all.len() as u64));
        let names: Vec<(&str, &str, Option<u64>)> = trace
            .spans
            .iter()
            .filter(|span| span.aggregated > 0)
            .map(|span| (&*span.name, &*span.path, span.parent.map(|parent| parent.0)))
            .collect();
        // 87 of the first launch are kept: 44 blocks and 43 warps.
        let expected = [
            ("1 × warp", "gpu.sm[1]", Some(143)),
            ("28 × cta", "gpu.sm[0]", Some(2)),
            ("28 × warp", "gpu.sm[0]", Some(2)),
            ("28 × cta", "gpu.sm[1]", Some(2)),
            ("28 × warp", "gpu.sm[1]", Some(2)),
            ("50 × cta", "gpu.sm[0]", Some(3)),
            ("50 × warp", "gpu.sm[0]", Some(3)),
            ("50 × cta", "gpu.sm[1]", Some(3)),
            ("50 × warp", "gpu.sm[1]", Some(3)),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn where_sums_are_too_many_they_are_by_component_alone() {
        let trace = whole(run(100), 40);
        let sums: Vec<_> = trace.spans.iter().filter(|span| span.aggregated > 0).collect();
        assert_eq!(sums.len(), 4);
        assert!(sums.iter().all(|span| span.parent == Some(SpanId(1))));
        assert_eq!(trace.left_out + 36, 403);
    }

    #[test]
    fn spans_of_no_parent_belong_to_the_run_that_they_lie_in_and_partial_ones_end_with_it() {
        let mut open = span(3, Level::Kernels, "read", "host", [20, 20]);
        open.partial = true;
        let spans = vec![
            span(1, Level::Phases, "run", "host", [10, 10_000]),
            span(2, Level::Kernels, "downstream", "pcie", [20, 20_000]),
            span(4, Level::Kernels, "upstream", "pcie", [5, 20]),
            open,
        ];
        let trace = whole(spans, 10);
        let of = |id: u64| trace.spans.iter().find(|span| span.id == SpanId(id)).unwrap();
        assert_eq!((of(2).parent, of(2).end.as_ps()), (Some(SpanId(1)), 10_000));
        assert_eq!((of(3).parent, of(3).end.as_ps()), (Some(SpanId(1)), 10_000));
        assert_eq!(of(4).parent, None, "it began before the run");
    }
}
