//! Preemption: a block leaves its SM before its end, and comes back.
//!
//! The warps of a block that is to leave issue nothing more. When what they have issued has ended, a flushed block is gone, and the context
//! of one that is switched is saved: its registers and its shared memory, some bytes a cycle. A block that comes back begins when its
//! context is restored, as slowly. Local memory belongs to the slots of warps, so that a block that has some cannot be switched.

use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::{BlockContext, Launch, LaunchId, Preemption, RunCta, SmEvent};
use counterpoint_ptx::Warp;

use crate::gpu::sm::frontend::cta::{Cta, SavedCta};
use crate::gpu::sm::frontend::moving::{Moving, Phase};
use crate::gpu::sm::frontend::warp::State;
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

/// A warp of a saved block.
struct SavedWarp {
    warp: Warp,
    state: State,
    issued: u64,
}

/// The context of a block.
struct Saved {
    block: SavedCta,
    warps: Vec<SavedWarp>,
}

impl Sm {
    /// A block is to leave.
    #[cold]
    pub(in crate::gpu::sm) fn preempt(
        &mut self,
        launch: LaunchId,
        index: u32,
        how: Preemption,
        sim: &Context<SmStats>,
    ) {
        let is_it = |cta: &&Cta| cta.launch.id == launch && cta.index == index;
        let found =
            self.ctas.iter().enumerate().find_map(|(place, cta)| Some((place, cta.as_ref().filter(is_it)?)));
        let Some((place, cta)) = found else { return };
        let stays = cta.launch.precedence.is_gated()
            || match how {
                Preemption::Flush => cta.has_written,
                Preemption::Switch => cta.launch.kernel.local_bytes(cta.launch.stack) > 0,
            };
        if stays {
            self.events.push_back(SmEvent::Kept { launch, index });
            return;
        }
        let slots = cta.warps;
        self.freeze(slots, sim);
        // It may be about to come back.
        self.moving.retain(|moving| moving.place != place);
        self.moving.push(Moving { place, phase: Phase::Drains(how) });
    }

    fn freeze(&mut self, slots: u64, sim: &Context<SmStats>) {
        self.warps.frozen |= slots;
        self.act(slots, sim);
        self.refresh_all(slots);
    }

    fn thaw(&mut self, slots: u64) {
        self.warps.frozen &= !slots;
        self.refresh_all(slots);
    }

    fn refresh_all(&mut self, slots: u64) {
        (0..u64::BITS).filter(|slot| slots >> slot & 1 != 0).for_each(|slot| self.warps.refresh(slot));
    }

    /// The cycle in which the context of a block is saved or restored, if one is.
    pub(in crate::gpu::sm) fn next_move(&self) -> Option<u64> {
        let end = |moving: &Moving| match moving.phase {
            Phase::Drains(_) => None,
            Phase::Saves(end) | Phase::Restores(end) => Some(end),
        };
        self.moving.iter().filter_map(end).min()
    }

    /// Lets blocks that leave or come back go on.
    #[cold]
    pub(in crate::gpu::sm) fn move_blocks(&mut self, cycle: u64, sim: &Context<SmStats>) {
        let mut moving = std::mem::take(&mut self.moving);
        moving.retain_mut(|moving| {
            let Some(cta) = &self.ctas[moving.place] else { return false };
            let (slots, launch) = (cta.warps, Arc::clone(&cta.launch));
            match moving.phase {
                // The block ends instead.
                Phase::Drains(_) if cta.live == 0 => self.thaw(slots),
                Phase::Drains(how) => {
                    let busy = cta.outstanding > 0 || !self.warps.are_settled(slots);
                    if busy || (self.fenced | self.at_page) & slots != 0 {
                        return true;
                    }
                    if how == Preemption::Switch {
                        moving.phase = Phase::Saves(cycle + self.context_cycles(&launch));
                        return true;
                    }
                    self.take_off(moving.place, false, sim);
                }
                Phase::Saves(end) | Phase::Restores(end) if cycle < end => return true,
                Phase::Saves(_) => self.take_off(moving.place, true, sim),
                Phase::Restores(_) => self.thaw(slots),
            }
            false
        });
        self.moving.append(&mut moving);
    }

    /// Cycles in which the context of a block of a launch is saved, or restored.
    fn context_cycles(&self, launch: &Launch) -> u64 {
        let registers = 4 * u64::from(launch.registers) * u64::from(launch.threads());
        let shared = u64::from(launch.kernel.shared_bytes() + launch.dynamic_shared);
        (registers + shared).div_ceil(self.context_rate)
    }

    /// Removes a block that has come to rest, and reports it.
    fn take_off(&mut self, place: usize, saves: bool, sim: &Context<SmStats>) {
        let Some(slots) = self.ctas[place].as_ref().map(|cta| cta.warps) else { return };
        let mut warps = Vec::new();
        for slot in (0..u64::BITS).filter(|slot| slots >> slot & 1 != 0) {
            self.fetch.stop(slot);
            let one = &mut self.warps.slots[slot as usize];
            let (state, issued) = (one.state, one.issued);
            one.state = State::Ended;
            if let (Some(warp), Some(cta)) = (one.warp.take(), &mut self.ctas[place]) {
                if state != State::Ended {
                    cta.counts.warp_cycles += sim.cycle() - cta.since;
                    cta.spans.end_warp(warp.index(), issued, sim);
                }
                warps.push((slot, SavedWarp { warp, state, issued }));
            }
        }
        self.warps.live &= !slots;
        self.thaw(slots);
        let Some(cta) = self.remove(place, sim) else { return };
        warps.sort_unstable_by_key(|(_, saved)| saved.warp.index());
        let (launch, index, counts) = (cta.launch.id, cta.index, cta.counts);
        let context = saves.then(|| {
            let (slots, warps): (Vec<u32>, Vec<SavedWarp>) = warps.into_iter().unzip();
            BlockContext(Arc::new(Saved { block: cta.save(&slots), warps }))
        });
        self.events.push_back(SmEvent::Preempted { launch, index, counts, context });
    }

    /// Puts a block back onto the SM.
    #[cold]
    pub(in crate::gpu::sm) fn resume_block(
        &mut self,
        message: RunCta,
        context: &BlockContext,
        sim: &Context<SmStats>,
    ) -> Result<(), Fault> {
        let Some(Saved { block, warps }) = context.0.downcast_ref() else {
            return Err(Fault::new("a block comes back with a context that is none of an SM"));
        };
        let launch = Arc::clone(&message.launch);
        let place = self.start(message, sim)?;
        let Some(cta) = &mut self.ctas[place] else { return Ok(()) };
        let all = cta.warps;
        let mut slots = vec![0; warps.len()];
        for slot in (0..u64::BITS).filter(|slot| all >> slot & 1 != 0) {
            let one = &mut self.warps.slots[slot as usize];
            let Some(number) = one.warp.as_ref().map(Warp::index) else { continue };
            let saved = &warps[number as usize];
            slots[number as usize] = slot;
            (one.warp, one.state, one.issued) = (Some(saved.warp.clone()), saved.state, saved.issued);
            if saved.state == State::Ended {
                self.warps.live &= !(1 << slot);
                self.fetch.stop(slot);
            } else {
                self.fetch.flush(1 << slot, |_| saved.warp.pc());
            }
        }
        cta.restore(block, &slots);
        let end = sim.cycle() + self.context_cycles(&launch);
        self.freeze(all, sim);
        self.moving.push(Moving { place, phase: Phase::Restores(end) });
        Ok(())
    }
}
