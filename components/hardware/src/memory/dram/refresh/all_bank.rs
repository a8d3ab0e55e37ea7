//! All banks of a channel are refreshed at once.

use counterpoint_framework::model::Variant;

use super::{RefreshPlan, RefreshPolicy};
use crate::memory::dram::timing::Timing;

/// The policy `all-bank`.
pub(in crate::memory::dram) struct AllBank;

impl Variant<dyn RefreshPolicy> for AllBank {
    const NAME: &'static str = "all-bank";
    const DOC: &'static str = "All banks are refreshed at once, every tREFI, for tRFC.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn RefreshPolicy>, String> {
        Ok(Box::new(AllBank))
    }
}

impl RefreshPolicy for AllBank {
    fn plan(&self, timing: &Timing) -> Result<Option<RefreshPlan>, String> {
        let sets = vec![u64::MAX >> (64 - timing.banks)];
        RefreshPlan { interval: timing.tREFI, duration: timing.tRFC, sets }.checked(timing, "tRFC")
    }
}
