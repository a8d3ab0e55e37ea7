//! Loose round robin: the next ready warp after the one that issued last.

use counterpoint_framework::model::Variant;

use super::{View, WarpPolicy};

/// The policy `lrr`.
#[derive(Default)]
pub(super) struct LooseRoundRobin {
    last: u32,
}

impl Variant<dyn WarpPolicy> for LooseRoundRobin {
    const NAME: &'static str = "lrr";
    const DOC: &'static str = "Loose round robin: the next ready warp after the one that issued last.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn WarpPolicy>, String> {
        Ok(Box::new(LooseRoundRobin::default()))
    }
}

/// The next of the slots, of which there is one at least, after the last one.
pub(super) fn next_after(last: u32, slots: u64) -> u32 {
    let after = slots.checked_shr(last + 1).unwrap_or(0);
    if after == 0 { slots.trailing_zeros() } else { last + 1 + after.trailing_zeros() }
}

impl WarpPolicy for LooseRoundRobin {
    fn pick(&mut self, warps: &View<'_>) -> Option<u32> {
        self.last = next_after(self.last, warps.ready);
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_take_turns() {
        let mut policy = LooseRoundRobin::default();
        let ready = 1 << 63 | 0b1011;
        let mut pick = |ready| policy.pick(&View { ready, ..View::default() });
        let order: Vec<_> = (0..6).map(|_| pick(ready)).collect();
        assert_eq!(order, [1, 3, 63, 0, 1, 3].map(Some));
        assert_eq!(pick(0b1000), Some(3));
    }
}
