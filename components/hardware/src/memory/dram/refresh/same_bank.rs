//! Same-bank refresh, as in DDR5: the banks with one index in all bank groups are refreshed together, one index after another.

use counterpoint_framework::model::Variant;

use super::{RefreshPlan, RefreshPolicy};
use crate::memory::dram::timing::Timing;

/// The policy `same-bank`.
pub(in crate::memory::dram) struct SameBank;

impl Variant<dyn RefreshPolicy> for SameBank {
    const NAME: &'static str = "same-bank";
    const DOC: &'static str =
        "The same bank of every bank group is refreshed for tRFCpb, one after another, each once in tREFI.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn RefreshPolicy>, String> {
        Ok(Box::new(SameBank))
    }
}

impl RefreshPolicy for SameBank {
    fn plan(&self, timing: &Timing) -> Result<Option<RefreshPlan>, String> {
        let per_group = timing.banks / timing.groups;
        let mut sets = vec![0_u64; per_group as usize];
        let mut seen = vec![0; timing.groups as usize];
        for bank in 0..timing.banks {
            let place = &mut seen[timing.group(bank) as usize];
            sets[*place] |= 1 << bank;
            *place += 1;
        }
        let interval = timing.tREFI / u64::from(per_group);
        RefreshPlan { interval, duration: timing.tRFCpb, sets }.checked(timing, "tRFCpb")
    }
}
