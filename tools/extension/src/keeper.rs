//! Loads of warps that lose their lines to other warps go first, and hold back those of others.
//!
//! A miss of a line that the warp has brought before is a loss, and adds to its score, which fades. Scores are laid side by side, from the
//! highest down; a warp beyond the end of the row may not load.

use counterpoint::component::{Params, Variant};
use counterpoint::gpu::warp_scheduler::{L1Lookup, L1Result, View, WarpPolicy};
use counterpoint::ptx::Class;

/// Warp slots of an SM, at most.
const SLOTS: usize = 64;

/// Parameters of `keeper`.
#[derive(Clone, Debug, Params)]
pub struct KeeperParams {
    /// Score that a loss adds.
    #[param(default = "64", min = "1", max = "65536")]
    loss: u32,
    /// Score that every warp has at least; the row has room for as much of each warp.
    #[param(default = "100", min = "1", max = "65536")]
    base: u32,
    /// Lines that are remembered of a warp.
    #[param(default = "16", min = "1", max = "256")]
    lines: u32,
}

/// The warp scheduler `keeper`.
pub struct Keeper {
    params: KeeperParams,
    scores: [u32; SLOTS],
    /// Lines that each warp has brought, the newest last.
    brought: Vec<Vec<u64>>,
}

impl Variant<dyn WarpPolicy> for Keeper {
    const NAME: &'static str = "keeper";
    const DOC: &'static str = "The oldest ready warp; loads of warps that lose lines go first.";
    type Params = KeeperParams;

    fn build(params: &KeeperParams) -> Result<Box<dyn WarpPolicy>, String> {
        let brought = vec![Vec::new(); SLOTS];
        Ok(Box::new(Keeper { params: params.clone(), scores: [0; SLOTS], brought }))
    }
}

/// The slots of some warps.
fn slots(warps: u64) -> impl Iterator<Item = u32> {
    (0..SLOTS as u32).filter(move |slot| warps >> slot & 1 != 0)
}

impl Keeper {
    /// The ready warps but those whose load is held back.
    fn allowed(&self, warps: &View<'_>) -> u64 {
        let mut row: Vec<u32> = slots(warps.live).collect();
        row.sort_by_key(|&slot| (std::cmp::Reverse(self.scores[slot as usize]), warps.ages[slot as usize]));
        let (mut room, mut allowed) = (row.len() as u32 * self.params.base, warps.ready);
        for slot in row {
            let score = self.params.base + self.scores[slot as usize];
            let fits = score <= room;
            room = if fits { room - score } else { 0 };
            if !fits && warps.ready >> slot & 1 != 0 && warps.next(slot).class == Class::GlobalLoad {
                allowed &= !(1 << slot);
            }
        }
        allowed
    }

    fn oldest(&self, warps: &View<'_>) -> Option<u32> {
        slots(self.allowed(warps)).min_by_key(|&slot| warps.ages[slot as usize])
    }
}

impl WarpPolicy for Keeper {
    fn pick(&mut self, warps: &View<'_>) -> Option<u32> {
        let picked = self.oldest(warps);
        self.scores.iter_mut().for_each(|score| *score = score.saturating_sub(1));
        picked
    }

    fn examines(&self, warps: &View<'_>, others: u64) -> u64 {
        let Some(picked) = self.oldest(warps) else { return others };
        let is_older = |slot: &u32| warps.ages[*slot as usize] < warps.ages[picked as usize];
        slots(others).filter(is_older).fold(0, |all, slot| all | 1 << slot)
    }

    fn listens(&self) -> bool {
        true
    }

    fn looked_up(&mut self, lookup: &L1Lookup) {
        if lookup.result != L1Result::Miss {
            return;
        }
        let brought = &mut self.brought[lookup.slot as usize];
        if let Some(known) = brought.iter().position(|&line| line == lookup.line) {
            brought.remove(known);
            self.scores[lookup.slot as usize] += self.params.loss;
        }
        brought.push(lookup.line);
        if brought.len() > self.params.lines as usize {
            brought.remove(0);
        }
    }
}
