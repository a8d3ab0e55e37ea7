//! Written bytes stay until their line is evicted.

use counterpoint_framework::model::{Params, Variant};

use super::{WritePolicy, WriteTo};

/// Treatment of a write that misses.
#[derive(Clone, Debug, Params)]
pub(super) struct BackParams {
    /// Whether a write that misses allocates its line; if not, the write goes to memory.
    #[param(default = "on")]
    allocate: bool,
}

/// The policy `back`.
pub(super) struct Back(bool);

impl Variant<dyn WritePolicy> for Back {
    const NAME: &'static str = "back";
    const DOC: &'static str = "Write-back: written bytes stay in the cache until their line is evicted.";
    type Params = BackParams;

    fn build(params: &BackParams) -> Result<Box<dyn WritePolicy>, String> {
        Ok(Box::new(Back(params.allocate)))
    }
}

impl WritePolicy for Back {
    fn keeps_all(&self) -> bool {
        self.0
    }

    fn write(&mut self, here: bool) -> WriteTo {
        if here || self.0 { WriteTo::Cache } else { WriteTo::Memory }
    }
}
