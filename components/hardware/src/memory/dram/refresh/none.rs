//! No refresh.

use counterpoint_framework::model::Variant;

use super::{RefreshPlan, RefreshPolicy};
use crate::memory::dram::timing::Timing;

/// The policy `none`.
pub(super) struct NoRefresh;

impl Variant<dyn RefreshPolicy> for NoRefresh {
    const NAME: &'static str = "none";
    const DOC: &'static str = "No bank is refreshed.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn RefreshPolicy>, String> {
        Ok(Box::new(NoRefresh))
    }
}

impl RefreshPolicy for NoRefresh {
    fn plan(&self, _timing: &Timing) -> Result<Option<RefreshPlan>, String> {
        Ok(None)
    }
}
