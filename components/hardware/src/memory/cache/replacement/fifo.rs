//! The line that was filled first is evicted, however often it was used.

use counterpoint_framework::model::Variant;

use super::{Replacement, least};

/// The policy `fifo`.
#[derive(Default)]
pub(super) struct Fifo {
    /// For each way, the number of its fill.
    fills: Vec<u64>,
    count: u64,
}

impl Variant<dyn Replacement> for Fifo {
    const NAME: &'static str = "fifo";
    const DOC: &'static str = "The oldest line of a set is evicted.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Replacement>, String> {
        Ok(Box::new(Fifo::default()))
    }
}

impl Replacement for Fifo {
    fn begin(&mut self, ways: usize) {
        self.fills = vec![0; ways];
    }

    fn filled(&mut self, way: usize, _prefetched: bool) {
        self.count += 1;
        self.fills[way] = self.count;
    }

    fn used(&mut self, _way: usize) {}

    fn victim(&mut self, candidates: &[usize]) -> usize {
        least(candidates, |way| self.fills[way])
    }
}
