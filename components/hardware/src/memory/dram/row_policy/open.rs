//! Rows stay open until another row of the bank is wanted.

use counterpoint_framework::model::Variant;

use super::RowPolicy;

/// The policy `open`.
pub(super) struct Open;

impl Variant<dyn RowPolicy> for Open {
    const NAME: &'static str = "open";
    const DOC: &'static str = "Rows stay open until an access needs another row of the bank.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn RowPolicy>, String> {
        Ok(Box::new(Open))
    }
}

impl RowPolicy for Open {
    fn keeps_open(&self) -> bool {
        true
    }

    fn closes_after(&mut self, _bank: usize) -> Option<u64> {
        None
    }
}
