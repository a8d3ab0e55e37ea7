//! Greedy then oldest: the warp that issued last while it is ready, else the oldest ready warp.

use counterpoint_framework::model::Variant;

use super::WarpPolicy;
use super::greedy::{Greedy, Order};

/// The policy `gto`.
pub(in crate::gpu::sm) type GreedyThenOldest = Greedy<Oldest>;

/// The oldest comes first.
pub(in crate::gpu::sm) struct Oldest;

impl Order for Oldest {
    #[inline]
    fn before(_: u32, older: u64) -> u64 {
        older
    }
}

impl Variant<dyn WarpPolicy> for GreedyThenOldest {
    const NAME: &'static str = "gto";
    const DOC: &'static str =
        "Greedy then oldest: the warp that issued last while it is ready, then the oldest ready one.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn WarpPolicy>, String> {
        Ok(Box::new(GreedyThenOldest::default()))
    }
}
