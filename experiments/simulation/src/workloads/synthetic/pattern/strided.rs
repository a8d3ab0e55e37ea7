//! Each warp walks by a stride of its own accesses.

use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::time::Bytes;

use super::{Pattern, Stride, Walk};

/// Parameters of the pattern.
#[derive(Clone, Debug, Params)]
pub(super) struct StridedParams {
    /// From an access of a warp to its next; a multiple of 4.
    #[param(default = "4 KiB", min = "4 B", max = "1 GiB")]
    stride: Bytes,
}

/// The pattern `strided`.
pub(super) struct Strided {
    stride: u64,
}

impl Variant<dyn Pattern> for Strided {
    const NAME: &'static str = "strided";
    const DOC: &'static str = "Each warp begins at its own place and walks by a stride through the buffer.";
    type Params = StridedParams;

    fn build(params: &StridedParams) -> Result<Box<dyn Pattern>, String> {
        let stride = params.stride.get();
        if !stride.is_multiple_of(4) {
            return Err(format!("a stride of {stride} B is not a multiple of 4"));
        }
        Ok(Box::new(Strided { stride }))
    }
}

impl Pattern for Strided {
    fn walk(&self, footprint: u64, _record: u64) -> Result<Walk, String> {
        Ok(Walk::Linear { step: Stride::Bytes(self.stride), region: footprint, per_block: false })
    }
}
