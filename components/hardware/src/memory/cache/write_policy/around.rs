//! Writes go to memory alone.

use counterpoint_framework::model::Variant;

use super::{WritePolicy, WriteTo};

/// The policy `around`.
pub(super) struct Around;

impl Variant<dyn WritePolicy> for Around {
    const NAME: &'static str = "around";
    const DOC: &'static str =
        "Write-around: writes go to memory, and the cache invalidates the written bytes.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn WritePolicy>, String> {
        Ok(Box::new(Around))
    }
}

impl WritePolicy for Around {
    fn goes_around(&self) -> bool {
        true
    }

    fn write(&mut self, _here: bool) -> WriteTo {
        WriteTo::Memory
    }
}
