//! Rows are closed some time after their last access.

use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::time::Cycles;

use super::RowPolicy;

/// How long rows stay open.
#[derive(Clone, Debug, Params)]
pub(super) struct TimeoutParams {
    /// Cycles of the DRAM clock from a row's last column command to its precharge.
    #[param(default = "100 cycles")]
    after: Cycles,
}

/// The policy `timeout`.
pub(super) struct Timeout(u64);

impl Variant<dyn RowPolicy> for Timeout {
    const NAME: &'static str = "timeout";
    const DOC: &'static str = "A row is closed a given time after its last column command.";
    type Params = TimeoutParams;

    fn build(params: &TimeoutParams) -> Result<Box<dyn RowPolicy>, String> {
        Ok(Box::new(Timeout(params.after.get())))
    }
}

impl RowPolicy for Timeout {
    fn closes_after(&mut self, _bank: usize) -> Option<u64> {
        Some(self.0)
    }
}
