//! Every read leaves its line.

use counterpoint_framework::model::Variant;
use counterpoint_protocols::memory::MemRequest;

use super::Bypass;

/// The policy `none`.
pub(in crate::memory) struct NoBypass;

impl Variant<dyn Bypass> for NoBypass {
    const NAME: &'static str = "none";
    const DOC: &'static str = "Every read allocates its line in the cache.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Bypass>, String> {
        Ok(Box::new(NoBypass))
    }
}

impl Bypass for NoBypass {
    fn is_idle(&self) -> bool {
        true
    }

    fn passes(&mut self, _read: &MemRequest) -> bool {
        false
    }
}
