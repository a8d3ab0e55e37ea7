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

/// The next of the slots after the last one; there must be one at least.
pub(super) fn next_after(last: u32, slots: u64) -> u32 {
    let after = slots.checked_shr(last + 1).unwrap_or(0);
    if after == 0 { slots.trailing_zeros() } else { last + 1 + after.trailing_zeros() }
}

/// The slots of `others` between the last one and the next of `ready` in turn; all of them if none is ready.
pub(super) fn between(last: u32, ready: u64, others: u64) -> u64 {
    if ready == 0 {
        return others;
    }
    let turn = (last + 1) % 64;
    let (ready, turned) = (ready.rotate_right(turn), others.rotate_right(turn));
    (turned & ((1 << ready.trailing_zeros()) - 1)).rotate_left(turn)
}

impl WarpPolicy for LooseRoundRobin {
    fn pick(&mut self, warps: &View<'_>) -> Option<u32> {
        self.last = next_after(self.last, warps.ready);
        Some(self.last)
    }

    fn examines(&self, warps: &View<'_>, others: u64) -> u64 {
        between(self.last, warps.ready, others)
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

    #[test]
    fn it_examines_those_whose_turn_is_before() {
        assert_eq!(between(2, 1 << 5, 0b101_1010), 0b001_1000);
        assert_eq!(between(5, 1 << 2, 0b110_0011), 0b100_0011, "round the end");
        assert_eq!(between(63, 1, 0b1110), 0);
        assert_eq!(between(7, 0, 0b1110), 0b1110);
    }
}
