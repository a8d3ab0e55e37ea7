//! One read in a given number leaves its line, so that a stream does not evict all other lines.

use counterpoint_framework::model::{Params, Variant};
use counterpoint_protocols::memory::MemRequest;

use super::Bypass;

/// Share of reads that bypass the cache.
#[derive(Clone, Debug, Params)]
pub(super) struct FractionParams {
    /// Reads that miss per allocated line: one in `one_in` allocates its line, the others bypass the cache.
    #[param(default = "32", min = "1")]
    one_in: u32,
}

/// The policy `fraction`.
pub(super) struct Fraction {
    one_in: u32,
    passed: u32,
}

impl Variant<dyn Bypass> for Fraction {
    const NAME: &'static str = "fraction";
    const DOC: &'static str =
        "A fraction of the reads that miss allocate their lines; the others bypass the cache.";
    type Params = FractionParams;

    fn build(params: &FractionParams) -> Result<Box<dyn Bypass>, String> {
        Ok(Box::new(Fraction { one_in: params.one_in, passed: 0 }))
    }
}

impl Bypass for Fraction {
    fn passes(&mut self, _read: &MemRequest) -> bool {
        self.passed += 1;
        let stays = self.passed == self.one_in;
        if stays {
            self.passed = 0;
        }
        !stays
    }
}
