//! Rows are closed with the last column command that is queued for them.

use counterpoint_framework::model::Variant;

use super::RowPolicy;

/// The policy `closed`.
pub(super) struct Closed;

impl Variant<dyn RowPolicy> for Closed {
    const NAME: &'static str = "closed";
    const DOC: &'static str = "Auto-precharge closes a row as soon as no queued access needs it.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn RowPolicy>, String> {
        Ok(Box::new(Closed))
    }
}

impl RowPolicy for Closed {
    fn closes_after(&mut self, _bank: usize) -> Option<u64> {
        Some(0)
    }
}
