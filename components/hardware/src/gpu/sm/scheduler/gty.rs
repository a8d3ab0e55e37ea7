//! Greedy then youngest: the warp that issued last while it is ready, else the youngest ready warp, as Huerta et al. (MICRO 2025) measured it on
//! cards from Turing to Blackwell.

use counterpoint_framework::model::Variant;

use super::WarpPolicy;
use super::greedy::{Greedy, Order};

/// The policy `gty`.
pub(super) type GreedyThenYoungest = Greedy<Youngest>;

/// The youngest comes first.
pub(super) struct Youngest;

impl Order for Youngest {
    #[inline]
    fn before(slot: u32, older: u64) -> u64 {
        !(older | 1 << slot)
    }
}

impl Variant<dyn WarpPolicy> for GreedyThenYoungest {
    const NAME: &'static str = "gty";
    const DOC: &'static str =
        "Greedy then youngest: the warp that issued last while it is ready, then the youngest ready one.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn WarpPolicy>, String> {
        Ok(Box::new(GreedyThenYoungest::default()))
    }
}
