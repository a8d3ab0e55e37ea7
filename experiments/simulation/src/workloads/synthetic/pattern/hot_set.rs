//! Most accesses go to a small part of the buffer.

use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::time::Bytes;

use super::{Pattern, Walk};

/// Parameters of the pattern.
#[derive(Clone, Debug, Params)]
pub(super) struct HotSetParams {
    /// Bytes of the part that is used most; a multiple of a line.
    #[param(default = "64 KiB", min = "128 B", max = "2 GiB")]
    hot: Bytes,
    /// The share of a round's accesses that go there.
    #[param(default = "0.9", min = "0", max = "1")]
    share: f64,
}

/// The pattern `hot-set`.
pub(super) struct HotSet(HotSetParams);

impl Variant<dyn Pattern> for HotSet {
    const NAME: &'static str = "hot-set";
    const DOC: &'static str =
        "Lines drawn from a small part of the buffer most of the time, else from all of it.";
    type Params = HotSetParams;

    fn build(params: &HotSetParams) -> Result<Box<dyn Pattern>, String> {
        Ok(Box::new(HotSet(params.clone())))
    }
}

impl Pattern for HotSet {
    fn walk(&self, footprint: u64, _record: u64) -> Result<Walk, String> {
        let hot = self.0.hot.get();
        if hot > footprint || !hot.is_multiple_of(128) {
            return Err(format!("a hot set of {hot} B must be whole lines of a footprint of {footprint} B"));
        }
        Ok(Walk::Drawn { hot, share: self.0.share })
    }
}
