//! Pattern `sequential`: all warps of the grid walk through the buffer side by side.

use counterpoint_framework::model::Variant;

use super::{Pattern, Stride, Walk};

/// The pattern `sequential`.
pub(in crate::workloads::synthetic) struct Sequential;

impl Variant<dyn Pattern> for Sequential {
    const NAME: &'static str = "sequential";
    const DOC: &'static str =
        "All warps of the grid walk through the buffer side by side, and begin again at its end.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Pattern>, String> {
        Ok(Box::new(Sequential))
    }
}

impl Pattern for Sequential {
    fn walk(&self, footprint: u64, _record: u64) -> Result<Walk, String> {
        Ok(Walk::Linear { step: Stride::Grid, region: footprint, per_block: false })
    }
}
