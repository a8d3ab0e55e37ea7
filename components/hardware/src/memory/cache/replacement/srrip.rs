//! Static re-reference interval prediction (Jaleel et al., "High Performance Cache Replacement Using Re-Reference Interval
//! Prediction", ISCA 2010), with hit priority.

use counterpoint_framework::model::{Params, Variant};

use super::Replacement;

/// Range of the predictions.
#[derive(Clone, Debug, Params)]
pub(super) struct SrripParams {
    /// Bits of a prediction: the paper's M.
    #[param(default = "2", min = "1", max = "8")]
    bits: u32,
}

/// The policy `srrip`.
pub(super) struct Srrip {
    /// The prediction of a line that is not used again for long.
    distant: u8,
    predictions: Vec<u8>,
}

impl Variant<dyn Replacement> for Srrip {
    const NAME: &'static str = "srrip";
    const DOC: &'static str =
        "A new line is evicted soon unless it is used again (static re-reference interval prediction).";
    type Params = SrripParams;

    fn build(params: &SrripParams) -> Result<Box<dyn Replacement>, String> {
        let distant = ((1_u32 << params.bits) - 1) as u8;
        Ok(Box::new(Srrip { distant, predictions: Vec::new() }))
    }
}

impl Replacement for Srrip {
    fn begin(&mut self, ways: usize) {
        self.predictions = vec![self.distant; ways];
    }

    fn filled(&mut self, way: usize, prefetched: bool) {
        self.predictions[way] = if prefetched { self.distant } else { self.distant - 1 };
    }

    fn used(&mut self, way: usize) {
        self.predictions[way] = 0;
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        loop {
            let found = candidates.iter().find(|&&way| self.predictions[way] == self.distant);
            match found {
                Some(&way) => return way,
                None => candidates.iter().for_each(|&way| self.predictions[way] += 1),
            }
        }
    }
}
