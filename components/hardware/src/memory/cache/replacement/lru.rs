//! The least recently used line is evicted.

use counterpoint_framework::model::Variant;

use super::Replacement;

/// The policy `lru`, which every cache knows.
pub(super) struct Lru;

impl Variant<dyn Replacement> for Lru {
    const NAME: &'static str = "lru";
    const DOC: &'static str = "The least recently used line of a set is evicted.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Replacement>, String> {
        Ok(Box::new(Lru))
    }
}

impl Replacement for Lru {
    fn is_lru(&self) -> bool {
        true
    }

    fn begin(&mut self, _ways: usize) {}

    fn filled(&mut self, _way: usize, _prefetched: bool) {}

    fn used(&mut self, _way: usize) {}

    fn victim(&mut self, candidates: &[usize]) -> usize {
        candidates[0]
    }
}
