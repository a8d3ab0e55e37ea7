//! Writes go to memory, and into the cache as well.

use counterpoint_framework::model::{Params, Variant};

use super::{WritePolicy, WriteTo};

/// Treatment of a write that misses.
#[derive(Clone, Debug, Params)]
pub(super) struct ThroughParams {
    /// Whether a write that misses allocates its line, with the written bytes valid.
    #[param(default = "off")]
    allocate: bool,
}

/// The policy `through`.
pub(super) struct Through(bool);

impl Variant<dyn WritePolicy> for Through {
    const NAME: &'static str = "through";
    const DOC: &'static str =
        "Write-through: writes go to memory, and into the cache if their line is there.";
    type Params = ThroughParams;

    fn build(params: &ThroughParams) -> Result<Box<dyn WritePolicy>, String> {
        Ok(Box::new(Through(params.allocate)))
    }
}

impl WritePolicy for Through {
    fn write(&mut self, _here: bool) -> WriteTo {
        WriteTo::Both { allocate: self.0 }
    }
}
