//! Kernels side by side on the same SMs: blocks of the next kernel may take the resources of an SM that one kernel
//! leaves free.
//!
//! GPUs from Kepler on place the blocks of concurrent kernels in this order: first the blocks of the oldest kernel that
//! has any left, wherever one fits, and only then those of the next. The resources of a block are free for others as
//! soon as it has ended, and a kernel leaves the table when its last block has; until then it keeps one of the 32
//! places there (NVIDIA, Kepler GK110 whitepaper, "Hyper-Q"; Yeh et al., PPoPP 2017, section 2).

use counterpoint_framework::model::Variant;

use super::policy::{CtaPolicy, Placement, Turn, View};

/// The policy `concurrent`.
pub(super) struct Concurrent {
    turn: Turn,
}

impl Variant<dyn CtaPolicy> for Concurrent {
    const NAME: &'static str = "concurrent";
    const DOC: &'static str =
        "Kernels share SMs: a block of the oldest kernel with unplaced blocks goes to any SM where it fits.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Concurrent { turn: Turn::new(0..0, 0) }))
    }
}

impl CtaPolicy for Concurrent {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let launch = view.launches.iter().position(|running| running.waiting() > 0)?;
        self.turn.find(|sm| view.fits(launch, sm).then_some(Placement { launch, sm }))
    }
}
