//! A replacement policy: the line that was used last makes room.

use counterpoint::component::Variant;
use counterpoint::memory::cache::Replacement;

/// The policy `most-recent`, for loops over a little more than a cache holds.
#[derive(Default)]
pub struct MostRecent {
    /// Number of the last use of each way.
    uses: Vec<u64>,
    count: u64,
}

impl Variant<dyn Replacement> for MostRecent {
    const NAME: &'static str = "most-recent";
    const DOC: &'static str = "The most recently used line of a set makes room.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Replacement>, String> {
        Ok(Box::new(MostRecent::default()))
    }
}

impl Replacement for MostRecent {
    fn begin(&mut self, ways: usize) {
        self.uses = vec![0; ways];
    }

    fn filled(&mut self, way: usize, _prefetched: bool) {
        self.used(way);
    }

    fn used(&mut self, way: usize) {
        self.count += 1;
        self.uses[way] = self.count;
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        *candidates.iter().max_by_key(|&&way| self.uses[way]).unwrap_or(&0)
    }
}
