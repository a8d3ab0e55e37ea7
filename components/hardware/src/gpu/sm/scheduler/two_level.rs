//! Two levels: a few active warps take turns; an active warp that waits long is replaced by a pending one.

use std::collections::VecDeque;

use counterpoint_framework::model::{Params, Variant};

use super::lrr::{between, next_after};
use super::{View, WarpPolicy};

/// Number of active warps.
#[derive(Clone, Debug, Params)]
pub(super) struct TwoLevelParams {
    /// Active warps of a scheduler at most (GPGPU-Sim's two_level_active:6).
    #[param(default = "6", min = "1", max = "64")]
    active: u32,
}

/// The policy `two-level`.
pub(super) struct TwoLevel {
    most: u32,
    active: u64,
    /// The others, those that have been pending longest first.
    pending: VecDeque<u32>,
    last: u32,
}

impl Variant<dyn WarpPolicy> for TwoLevel {
    const NAME: &'static str = "two-level";
    const DOC: &'static str = "Two levels: a few active warps issue in turn; an active warp that waits for memory or at a barrier is \
                               replaced by the longest pending warp.";
    type Params = TwoLevelParams;

    fn build(params: &TwoLevelParams) -> Result<Box<dyn WarpPolicy>, String> {
        Ok(Box::new(TwoLevel { most: params.active, active: 0, pending: VecDeque::new(), last: 0 }))
    }
}

impl TwoLevel {
    /// Lets those that wait become pending, and pending ones that do not wait become active.
    fn exchange(&mut self, warps: &View<'_>) {
        self.pending.retain(|slot| warps.live >> slot & 1 != 0);
        let known = self.pending.iter().fold(self.active, |known, slot| known | 1 << slot);
        let leaving = self.active & warps.live & warps.waiting;
        self.active &= warps.live & !leaving;
        let mut arriving: Vec<u32> =
            (0..64).filter(|slot| (leaving | warps.live & !known) >> slot & 1 != 0).collect();
        arriving.sort_by_key(|&slot| warps.ages.get(slot as usize));
        self.pending.extend(arriving);
        while self.active.count_ones() < self.most
            && let Some(place) = self.pending.iter().position(|slot| warps.waiting >> slot & 1 == 0)
            && let Some(slot) = self.pending.remove(place)
        {
            self.active |= 1 << slot;
        }
    }
}

impl WarpPolicy for TwoLevel {
    fn pick(&mut self, warps: &View<'_>) -> Option<u32> {
        let settled = self.active & !warps.live == 0
            && self.active & warps.waiting == 0
            && (self.active.count_ones() == self.most || self.active == warps.live & !warps.waiting);
        if !settled {
            self.exchange(warps);
        }
        let ready = warps.ready & self.active;
        if ready == 0 {
            return None;
        }
        self.last = next_after(self.last, ready);
        Some(self.last)
    }

    fn examines(&self, warps: &View<'_>, others: u64) -> u64 {
        between(self.last, warps.ready & self.active, others & self.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_that_waits_makes_room_for_the_longest_pending() {
        let mut policy = TwoLevel::build(&TwoLevelParams { active: 2 }).unwrap();
        let ages = [4, 3, 2, 1];
        let mut pick = |ready, waiting| {
            let live = 0b1111;
            policy.pick(&View { ready, live, waiting, ages: &ages, ..View::default() })
        };
        // The two oldest are active and take turns.
        let order: Vec<_> = (0..3).map(|_| pick(0b1111, 0)).collect();
        assert_eq!(order, [2, 3, 2].map(Some));
        assert_eq!(pick(0b0011, 0), None, "two are active, and neither is ready");
        // Warp 3 waits: warp 1, the older one of the others, takes its place.
        assert_eq!([pick(0b0111, 0b1000), pick(0b0111, 0b1000)], [Some(1), Some(2)]);
        // It comes back behind warp 0, which is pending longer.
        assert_eq!([pick(0b1101, 0b0010), pick(0b1101, 0b0010)], [Some(0), Some(2)]);
        assert_eq!(pick(0b1000, 0b0110), Some(3));
    }

    #[test]
    fn a_warp_that_has_ended_makes_room() {
        let mut policy = TwoLevel::build(&TwoLevelParams { active: 1 }).unwrap();
        let ages = [1, 2];
        let mut pick = |ready, live| policy.pick(&View { ready, live, ages: &ages, ..View::default() });
        assert_eq!([pick(0b11, 0b11), pick(0b10, 0b11), pick(0b10, 0b10)], [Some(0), None, Some(1)]);
    }
}
