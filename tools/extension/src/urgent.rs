//! The youngest kernel first: it takes the places of blocks of older ones.
//!
//! A block is flushed if it has not written, and the next time its state is saved. After that it is left to end, so that every block ends.

use std::collections::BTreeMap;

use counterpoint::component::{Params, Variant};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Departure, Placement, Turn, View};
use counterpoint::messages::launch::{LaunchId, Preemption};

/// Parameters of `urgent`.
#[derive(Clone, Debug, Params)]
pub struct UrgentParams {
    /// Blocks that leave an SM at a time.
    #[param(default = "1", min = "1", max = "32")]
    at_a_time: u32,
    /// Whether blocks are flushed at all.
    #[param(default = "on")]
    flushes: bool,
}

/// The policy `urgent`.
pub struct Urgent {
    params: UrgentParams,
    turn: Turn,
    /// How often each block was to leave.
    tries: BTreeMap<(LaunchId, u32), u32>,
}

impl Variant<dyn CtaPolicy> for Urgent {
    const NAME: &'static str = "urgent";
    const DOC: &'static str = "The youngest kernel first; blocks of older ones make room for it.";
    type Params = UrgentParams;

    fn build(params: &UrgentParams) -> Result<Box<dyn CtaPolicy>, String> {
        let (params, turn) = (params.clone(), Turn::new(0..0, 0));
        Ok(Box::new(Urgent { params, turn, tries: BTreeMap::new() }))
    }
}

impl Urgent {
    /// How a block may leave its SM, if it may.
    fn way(&self, launch: LaunchId, block: u32) -> Option<Preemption> {
        let tries = self.tries.get(&(launch, block)).copied().unwrap_or(0) + u32::from(!self.params.flushes);
        [Preemption::Flush, Preemption::Switch].get(tries as usize).copied()
    }
}

impl CtaPolicy for Urgent {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn preempt(&mut self, view: &View<'_>) -> Option<Departure> {
        let youngest = view.launches.len().checked_sub(1).filter(|&youngest| youngest > 0)?;
        let running = &view.launches[youngest];
        let leaving = |sm: usize| view.sms[sm].blocks.iter().filter(|block| block.leaves).count() as u32;
        let all: u32 = (0..view.sms.len()).map(leaving).sum();
        if running.waiting() <= all {
            return None;
        }
        let found = running.share.clone().find_map(|sm| {
            if view.can_hold(youngest, sm) || leaving(sm) >= self.params.at_a_time {
                return None;
            }
            // The block that came last has done the least.
            let blocks = view.sms[sm].blocks.iter().enumerate().rev();
            let mut others = blocks.filter(|(_, it)| it.launch != running.launch.id && !it.leaves);
            others.find_map(|(block, it)| Some(Departure { sm, block, how: self.way(it.launch, it.index)? }))
        });
        if let Some(Departure { sm, block, .. }) = found {
            let leaving = &view.sms[sm].blocks[block];
            *self.tries.entry((leaving.launch, leaving.index)).or_default() += 1;
        }
        found
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let waiting = |launch: &usize| view.launches[*launch].waiting() > 0;
        let launch = (0..view.launches.len()).rev().find(waiting)?;
        self.turn.find(|sm| view.fits(launch, sm).then_some(Placement { launch, sm }))
    }
}
