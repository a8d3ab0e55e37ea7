//! A random line is evicted.

use counterpoint_framework::model::{Params, Variant};

use super::Replacement;

/// Seed of the sequence.
#[derive(Clone, Debug, Params)]
pub(super) struct RandomParams {
    /// Seed of the pseudo-random sequence of victims.
    #[param(default = "1", min = "1")]
    seed: u64,
}

/// The policy `random`.
pub(super) struct Random(u64);

impl Variant<dyn Replacement> for Random {
    const NAME: &'static str = "random";
    const DOC: &'static str = "A pseudo-random line of a set is evicted.";
    type Params = RandomParams;

    fn build(params: &RandomParams) -> Result<Box<dyn Replacement>, String> {
        Ok(Box::new(Random(params.seed)))
    }
}

/// The next number of the generator xorshift64* (Vigna, "An Experimental Exploration of Marsaglia's xorshift Generators",
/// 2016), from the high bits of its state.
pub(super) fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
}

impl Replacement for Random {
    fn begin(&mut self, _ways: usize) {}

    fn filled(&mut self, _way: usize, _prefetched: bool) {}

    fn used(&mut self, _way: usize) {}

    fn victim(&mut self, candidates: &[usize]) -> usize {
        candidates[next(&mut self.0) as usize % candidates.len()]
    }
}
