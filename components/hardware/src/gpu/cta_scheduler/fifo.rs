//! Kernels one after another: the oldest launch has the GPU until its last block has ended.
//!
//! Blocks go to the SMs in turn, one per SM and cycle, so that a small grid is spread over the GPU (GPGPU-Sim).

use counterpoint_framework::model::Variant;

use super::{CtaPolicy, Placement, View};

/// The policy `fifo`.
#[derive(Default)]
pub(super) struct Fifo {
    /// The SM that is asked first.
    turn: usize,
}

impl Variant<dyn CtaPolicy> for Fifo {
    const NAME: &'static str = "fifo";
    const DOC: &'static str =
        "Kernels one after another: the oldest launch has all SMs until its last block has ended.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Fifo::default()))
    }
}

impl CtaPolicy for Fifo {
    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let oldest = view.launches.first()?;
        if oldest.waiting() == 0 {
            return None;
        }
        let count = view.sms.len();
        let sm = (0..count).map(|step| (self.turn + step) % count).find(|&sm| view.fits(0, sm))?;
        self.turn = (sm + 1) % count;
        Some(Placement { launch: 0, sm })
    }
}
