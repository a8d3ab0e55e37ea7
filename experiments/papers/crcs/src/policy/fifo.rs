//! Kernels side by side, the oldest first: FIFO as CRCS has it (section 4.4).
//!
//! Blocks go to the SMs one by one as room becomes free, those of the oldest kernel that has any left. A younger kernel gets an
//! SM when no older block is left to place and the SM is wholly empty: no SM ever holds blocks of two launches, since L1 caches
//! are not coherent (section 4.3). Pre-profilers come first, so that the pages of all kernels are known early.

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{Equipped, Site};
use counterpoint_hardware::gpu::cta_scheduler::{CtaPolicy, Placement, Turn, View};
use counterpoint_protocols::extra::Note;
use counterpoint_protocols::launch::Launch;

use super::owners::{OwnerPorts, Owners};

/// The policy `crcs-fifo`.
pub(super) struct CrcsFifo {
    owners: Owners,
    turn: Turn,
}

impl Equipped<dyn CtaPolicy> for CrcsFifo {
    const NAME: &'static str = "crcs-fifo";
    const DOC: &'static str = "Kernels side by side, the oldest first: an SM serves one at a time and takes a younger one \
                               when no older block is left to place and the SM is empty.";
    type Params = ();
    type Ports = OwnerPorts;
    type Stats = ();

    fn build((): &(), site: Site<'_, OwnerPorts, ()>) -> Result<Box<dyn CtaPolicy>, Fault> {
        Ok(Box::new(CrcsFifo { owners: Owners::new(site.ports), turn: Turn::new(0..0, 0) }))
    }
}

impl CtaPolicy for CrcsFifo {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn arrived(&mut self, launch: &Launch) -> Result<(), String> {
        self.owners.dependences.arrived(launch)
    }

    fn noted(&mut self, note: &Note) {
        self.owners.noted(note);
    }

    fn ended(&mut self, launch: &Launch, _cycles: u64) {
        self.owners.dependences.ended(launch);
    }

    fn speak(&mut self) -> Result<bool, String> {
        self.owners.listen();
        Ok(false)
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        self.owners.awaits()
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.owners.oldest_first(view, &mut self.turn)
    }
}
