//! Kernels side by side, the oldest first: FIFO as CRCS has it (section 4.4).
//!
//! Blocks go to the SMs one by one as room becomes free, those of the oldest kernel that has any left. A younger kernel gets an
//! SM when no older block is left to place and the SM is wholly empty: no SM ever holds blocks of two launches, since L1 caches
//! are not coherent (section 4.3). Pre-profilers come first, so that the pages of all kernels are known early.

use counterpoint_framework::model::Variant;

use super::policy::{CtaPolicy, Placement, Turn, View};

/// The policy `crcs-fifo`.
pub(super) struct CrcsFifo {
    turn: Turn,
}

impl Variant<dyn CtaPolicy> for CrcsFifo {
    const NAME: &'static str = "crcs-fifo";
    const DOC: &'static str = "Kernels side by side, the oldest first: an SM serves one at a time and takes a younger one \
                               when no older block is left to place and the SM is empty.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(CrcsFifo { turn: Turn::new(0..0, 0) }))
    }
}

impl CtaPolicy for CrcsFifo {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        oldest_first(view, &mut self.turn)
    }
}

/// The next block of a pre-profiler, if one has any left to place.
pub(super) fn waiting_profiler(view: &View<'_>) -> Option<usize> {
    view.launches.iter().position(|running| running.is_profiler() && running.waiting() > 0)
}

/// Places a block of a launch on an SM that serves it or is empty.
pub(super) fn on_its_own(view: &View<'_>, launch: usize, turn: &mut Turn) -> Option<Placement> {
    turn.find(|sm| {
        (view.is_free_for(launch, sm) && view.fits(launch, sm)).then_some(Placement { launch, sm })
    })
}

/// The rule of this policy.
pub(super) fn oldest_first(view: &View<'_>, turn: &mut Turn) -> Option<Placement> {
    let oldest = || view.kernels().next().filter(|&launch| view.may_run(launch));
    on_its_own(view, waiting_profiler(view).or_else(oldest)?, turn)
}
