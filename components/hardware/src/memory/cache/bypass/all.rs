//! No read leaves its line: the cache holds what was written.

use counterpoint_framework::model::Variant;
use counterpoint_protocols::memory::MemRequest;

use super::Bypass;

/// The policy `all`.
pub(super) struct All;

impl Variant<dyn Bypass> for All {
    const NAME: &'static str = "all";
    const DOC: &'static str = "No read allocates its line: the cache holds written lines only.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Bypass>, String> {
        Ok(Box::new(All))
    }
}

impl Bypass for All {
    fn passes(&mut self, _read: &MemRequest) -> bool {
        true
    }
}
