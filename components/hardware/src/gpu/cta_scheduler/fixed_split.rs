//! A fixed split: every share of the SMs acts as a GPU of its own, on which kernels run one after another.
//!
//! The first share has the first SMs, the next share those behind them; SMs beyond the last share stay idle. A launch runs
//! on the share of its stream: the first named stream of the application (number 1) on the first share, the second on the
//! second, and so on, cyclically; the default stream (number 0) on the first. If several launches want one share, the
//! oldest holds the share until its last block has ended.

use std::ops::Range;

use counterpoint_framework::model::{Params, Variant};
use counterpoint_protocols::launch::Launch;

use super::policy::{CtaPolicy, Placement, Turn, View, check, neighbours};

/// How the SMs are split.
#[derive(Clone, Debug, Params)]
pub(super) struct FixedSplitParams {
    /// SMs of each share.
    sms: Vec<u32>,
}

/// The policy `fixed-split`.
pub(super) struct FixedSplit {
    shares: Vec<Range<usize>>,
    turns: Vec<Turn>,
}

impl Variant<dyn CtaPolicy> for FixedSplit {
    const NAME: &'static str = "fixed-split";
    const DOC: &'static str = "Whole SMs for each stream: its kernels run one after another on its share.";
    type Params = FixedSplitParams;

    fn build(params: &FixedSplitParams) -> Result<Box<dyn CtaPolicy>, String> {
        let shares = neighbours(&params.sms)?;
        let turns = shares.iter().map(|share| Turn::new(share.clone(), share.start)).collect();
        Ok(Box::new(FixedSplit { shares, turns }))
    }
}

impl CtaPolicy for FixedSplit {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        check(&self.shares, Self::NAME, sms)
    }

    fn share(&mut self, launch: &Launch, _sms: usize) -> Result<Option<Range<usize>>, String> {
        Ok(Some(self.shares[launch.stream.saturating_sub(1) as usize % self.shares.len()].clone()))
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        self.shares.iter().zip(&mut self.turns).find_map(|(share, turn)| {
            let launch = view.launches.iter().position(|running| running.share == *share)?;
            if view.launches[launch].waiting() == 0 {
                return None;
            }
            turn.find(|sm| view.fits(launch, sm).then_some(Placement { launch, sm }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_without_sms_are_refused() {
        for sms in [vec![], vec![8, 0]] {
            assert!(FixedSplit::build(&FixedSplitParams { sms }).is_err());
        }
    }
}
