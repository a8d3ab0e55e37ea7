//! No prefetcher.

use counterpoint_framework::model::Variant;

use super::{LookedUp, Prefetcher};

/// The prefetcher `none`.
pub(in crate::memory) struct NoPrefetcher;

impl Variant<dyn Prefetcher> for NoPrefetcher {
    const NAME: &'static str = "none";
    const DOC: &'static str = "Lines are fetched on demand only.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Prefetcher>, String> {
        Ok(Box::new(NoPrefetcher))
    }
}

impl Prefetcher for NoPrefetcher {
    fn is_idle(&self) -> bool {
        true
    }

    fn looked_up(&mut self, _read: &LookedUp, _wanted: &mut Vec<u64>) {}
}
