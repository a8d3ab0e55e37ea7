//! The youngest ready warp first.

use counterpoint::component::Variant;
use counterpoint::gpu::warp_scheduler::{View, WarpPolicy};

/// The warp scheduler `youngest`.
pub struct Youngest;

impl Variant<dyn WarpPolicy> for Youngest {
    const NAME: &'static str = "youngest";
    const DOC: &'static str = "The ready warp that began last.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn WarpPolicy>, String> {
        Ok(Box::new(Youngest))
    }
}

/// The youngest of some warps, by their slots.
fn youngest(warps: &View<'_>, slots: u64) -> Option<u32> {
    (0..64).filter(|slot| slots >> slot & 1 != 0).max_by_key(|&slot| warps.ages[slot as usize])
}

impl WarpPolicy for Youngest {
    fn pick(&mut self, warps: &View<'_>) -> Option<u32> {
        youngest(warps, warps.ready)
    }

    /// Warps that are younger than the picked warp.
    fn examines(&self, warps: &View<'_>, others: u64) -> u64 {
        let Some(picked) = youngest(warps, warps.ready) else { return others };
        let younger = |slot: &u32| warps.ages[*slot as usize] > warps.ages[picked as usize];
        (0..64).filter(|slot| others >> slot & 1 != 0).filter(younger).fold(0, |all, slot| all | 1 << slot)
    }
}
