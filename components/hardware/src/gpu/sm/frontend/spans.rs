//! The spans of blocks and their warps, in runs that record these levels.

use counterpoint_framework::model::Context;
use counterpoint_framework::telemetry::{Attribute, Lane, Level, SpanId};

use super::cta::Cta;
use crate::gpu::sm::stats::SmStats;

#[derive(Default)]
pub(in crate::gpu::sm) struct Spans {
    block: Option<SpanId>,
    warps: Vec<SpanId>,
}

impl Spans {
    /// A block begins in a block slot of the SM, with its warps in these warp slots.
    pub(in crate::gpu::sm) fn begin(
        launch: SpanId,
        index: u32,
        place: usize,
        warps: impl Iterator<Item = u32>,
        sim: &Context<SmStats>,
    ) -> Spans {
        if !sim.wants_spans(Level::Ctas) {
            return Spans::default();
        }
        let lane = Lane::Numbered("slot", place as u32);
        let block = sim.open_span(Level::Ctas, Some(launch), format!("cta {index}"), lane);
        let warp = |(number, slot): (usize, u32)| {
            let lane = Lane::Numbered("warp", slot);
            sim.open_span(Level::Warps, Some(block), format!("warp {number}"), lane)
        };
        let kept = sim.wants_spans(Level::Warps);
        let warps = warps.enumerate().filter(|_| kept).map(warp).collect();
        Spans { block: Some(block), warps }
    }

    /// A warp has ended after `issued` instructions.
    pub(in crate::gpu::sm) fn end_warp(&self, warp: u32, issued: u64, sim: &Context<SmStats>) {
        if let Some(&span) = self.warps.get(warp as usize) {
            sim.close_span(span, vec![("warp_insn", Attribute::Amount(issued))]);
        }
    }

    pub(in crate::gpu::sm) fn end(&self, cta: &Cta, sim: &Context<SmStats>) {
        let Some(block) = self.block else { return };
        let (launch, counts) = (&cta.launch, &cta.counts);
        let number = |number: u32| Attribute::Number(number.into());
        let mut attributes = vec![
            ("kernel", Attribute::Text(launch.kernel.name().to_owned().into())),
            ("launch", number(launch.id.0)),
            ("stream", number(launch.stream)),
            ("cta", number(cta.index)),
            ("sm", number(cta.environment.sm)),
            ("cycles", Attribute::Amount(sim.cycle() - cta.since)),
        ];
        attributes.extend(counts.attributes());
        sim.close_span(block, attributes);
    }
}
