//! The least recently used line is evicted, and few new lines count as used (Qureshi et al., "Adaptive Insertion Policies for
//! High Performance Caching", ISCA 2007: BIP, and LIP where none counts).

use counterpoint_framework::model::{Params, Variant};

use super::{Replacement, least};

/// Share of new lines that are inserted as most recently used.
#[derive(Clone, Debug, Params)]
pub(super) struct BimodalParams {
    /// New lines per insertion as most recently used: one in `near`, the paper's 1/ε; the others are inserted as least recently used. With
    /// 0, every line is inserted as least recently used (LIP).
    #[param(default = "32")]
    near: u32,
}

/// The policy `bimodal`.
pub(super) struct Bimodal {
    near: u32,
    /// New lines since the last one that counted as used.
    since: u32,
    /// For each way, the number of the last use of its line; 0: none.
    uses: Vec<u64>,
    count: u64,
}

impl Variant<dyn Replacement> for Bimodal {
    const NAME: &'static str = "bimodal";
    const DOC: &'static str = "The least recently used line of a set is evicted, and most new lines are inserted as least recently used \
                               (bimodal insertion).";
    type Params = BimodalParams;

    fn build(params: &BimodalParams) -> Result<Box<dyn Replacement>, String> {
        Ok(Box::new(Bimodal { near: params.near, since: 0, uses: Vec::new(), count: 0 }))
    }
}

impl Replacement for Bimodal {
    fn begin(&mut self, ways: usize) {
        self.uses = vec![0; ways];
    }

    fn filled(&mut self, way: usize, _prefetched: bool) {
        self.since += 1;
        if self.since == self.near {
            self.since = 0;
            self.used(way);
        } else {
            self.uses[way] = 0;
        }
    }

    fn used(&mut self, way: usize) {
        self.count += 1;
        self.uses[way] = self.count;
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        least(candidates, |way| self.uses[way])
    }
}
