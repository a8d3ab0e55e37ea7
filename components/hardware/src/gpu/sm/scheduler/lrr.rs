//! Loose round robin: the next ready warp after the one that issued last.

use counterpoint_framework::model::Variant;

use super::WarpPolicy;

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

impl WarpPolicy for LooseRoundRobin {
    fn pick(&mut self, ready: u64, _ages: &[u64]) -> u32 {
        let after = ready.checked_shr(self.last + 1).unwrap_or(0);
        self.last = if after == 0 { ready.trailing_zeros() } else { self.last + 1 + after.trailing_zeros() };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_take_turns() {
        let mut policy = LooseRoundRobin::default();
        let ready = 1 << 63 | 0b1011;
        let order: Vec<u32> = (0..6).map(|_| policy.pick(ready, &[])).collect();
        assert_eq!(order, [1, 3, 63, 0, 1, 3]);
        assert_eq!(policy.pick(0b1000, &[]), 3);
    }
}
