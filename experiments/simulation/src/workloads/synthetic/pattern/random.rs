//! Lines drawn evenly from the whole buffer.

use counterpoint_framework::model::Variant;

use super::{Pattern, Walk};

/// The pattern `random`.
pub(super) struct Random;

impl Variant<dyn Pattern> for Random {
    const NAME: &'static str = "random";
    const DOC: &'static str = "Lines drawn evenly from the whole buffer.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Pattern>, String> {
        Ok(Box::new(Random))
    }
}

impl Pattern for Random {
    fn walk(&self, footprint: u64, _record: u64) -> Result<Walk, String> {
        Ok(Walk::Drawn { hot: footprint, share: 1.0 })
    }
}
