//! One bank after another is refreshed, while the others serve accesses.

use counterpoint_framework::model::Variant;

use super::{RefreshPlan, RefreshPolicy};
use crate::memory::dram::timing::Timing;

/// The policy `per-bank`.
pub(in crate::memory::dram) struct PerBank;

impl Variant<dyn RefreshPolicy> for PerBank {
    const NAME: &'static str = "per-bank";
    const DOC: &'static str = "One bank after another is refreshed for tRFCpb, each once in tREFI, while the others serve accesses.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn RefreshPolicy>, String> {
        Ok(Box::new(PerBank))
    }
}

impl RefreshPolicy for PerBank {
    fn plan(&self, timing: &Timing) -> Result<Option<RefreshPlan>, String> {
        let sets: Vec<u64> = (0..timing.banks).map(|bank| 1 << bank).collect();
        let interval = timing.tREFI / sets.len() as u64;
        RefreshPlan { interval, duration: timing.tRFCpb, sets }.checked(timing, "tRFCpb")
    }
}
