//! No hash.

use counterpoint_framework::model::Variant;

use super::{Form, SliceFunction, SliceHash, SliceParts};

/// The hash `none`.
pub(super) struct InTurn;

impl Variant<dyn SliceHash> for InTurn {
    const NAME: &'static str = "none";
    const DOC: &'static str = "Chunks go to the slices in turn.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn SliceHash>, String> {
        Ok(Box::new(InTurn))
    }
}

impl SliceHash for InTurn {
    fn function(&self, _parts: &SliceParts) -> Result<SliceFunction, String> {
        Ok(SliceFunction(Form::InTurn))
    }
}
