//! Kernels side by side, the oldest first: FIFO as CRCS has it (section 4.4).
//!
//! Blocks go to the SMs one by one as room becomes free, those of the oldest kernel that has any left. A younger kernel gets an
//! SM when no older block is left to place and the SM is wholly empty: no SM ever holds blocks of two launches, since L1 caches
//! are not coherent (section 4.3). Pre-profilers come first, so that the pages of all kernels are known early.

use counterpoint::component::{Equipped, Site};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, Turn, View};
use counterpoint::kernel::Fault;

use super::owners::{OwnerPorts, Owners, Rule, Tracked};

/// The policy `crcs-fifo`.
pub(super) struct CrcsFifo;

impl Equipped<dyn CtaPolicy> for CrcsFifo {
    const NAME: &'static str = "crcs-fifo";
    const DOC: &'static str = "Kernels side by side, the oldest first: an SM serves one at a time and takes a younger one \
                               when no older block is left to place and the SM is empty.";
    type Params = ();
    type Ports = OwnerPorts;
    type Stats = ();

    fn build((): &(), site: Site<'_, OwnerPorts, ()>) -> Result<Box<dyn CtaPolicy>, Fault> {
        Ok(Box::new(Tracked::new(site.ports, CrcsFifo)))
    }
}

impl Rule for CrcsFifo {
    fn place(&mut self, owners: &Owners, turn: &mut Turn, view: &View<'_>) -> Option<Placement> {
        owners.oldest_first(view, turn)
    }
}
