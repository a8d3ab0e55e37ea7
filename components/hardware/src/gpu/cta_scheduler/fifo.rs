//! Kernels one after another: the oldest launch holds the GPU until its last block has ended.
//!
//! Blocks go to the SMs in turn, one per SM and cycle, so that a small grid is spread over the GPU (GPGPU-Sim), whether or
//! not the occupancy limits it to an even share: all SMs are empty when a kernel begins.

use counterpoint_framework::model::Variant;

use super::policy::{CtaPolicy, Placement, Turn, View};

/// The policy `fifo`.
pub(super) struct Fifo {
    turn: Turn,
}

impl Variant<dyn CtaPolicy> for Fifo {
    const NAME: &'static str = "fifo";
    const DOC: &'static str =
        "Kernels one after another: the oldest launch has all SMs until its last block has ended.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Fifo { turn: Turn::new(0..0, 0) }))
    }
}

impl CtaPolicy for Fifo {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let oldest = view.launches.first()?;
        if oldest.waiting() == 0 {
            return None;
        }
        self.turn.find(|sm| view.fits(0, sm).then_some(Placement { launch: 0, sm }))
    }
}
