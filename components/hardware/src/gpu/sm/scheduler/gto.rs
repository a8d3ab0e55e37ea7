//! Greedy then oldest: the warp that issued last as long as it is ready, then the oldest ready one.

use counterpoint_framework::model::Variant;

use super::{View, WarpPolicy};

/// The policy `gto`.
#[derive(Default)]
pub(super) struct GreedyThenOldest {
    last: u32,
}

/// The oldest of some slots, there must be one: its slot and 64 times its age in one number, so that the smallest is found without a
/// branch.
#[inline]
fn oldest(slots: u64, ages: &[u64]) -> u64 {
    let (mut rest, mut oldest) = (slots, u64::MAX);
    while rest != 0 {
        let slot = rest.trailing_zeros();
        oldest = oldest.min(ages[slot as usize] << 6 | u64::from(slot));
        rest &= rest - 1;
    }
    oldest
}

impl Variant<dyn WarpPolicy> for GreedyThenOldest {
    const NAME: &'static str = "gto";
    const DOC: &'static str =
        "Greedy then oldest: the warp that issued last while it is ready, then the oldest ready one.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn WarpPolicy>, String> {
        Ok(Box::new(GreedyThenOldest::default()))
    }
}

impl WarpPolicy for GreedyThenOldest {
    fn pick(&mut self, &View { ready, ages, .. }: &View<'_>) -> Option<u32> {
        if ready >> self.last & 1 == 0 {
            self.last = (oldest(ready, ages) % 64) as u32;
        }
        Some(self.last)
    }

    fn looks_at(&self, &View { ready, ages, .. }: &View<'_>, others: u64) -> u64 {
        if ready == 0 {
            return others;
        }
        if ready >> self.last & 1 != 0 {
            return 0;
        }
        let (oldest, mut seen) = (oldest(ready, ages), others & 1 << self.last);
        let mut rest = others & !seen;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            seen |= u64::from(ages[slot as usize] < oldest >> 6) << slot;
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_goes_on_and_then_the_oldest() {
        let mut policy = GreedyThenOldest::default();
        let ages = [5, 3, 9, 1];
        let mut pick = |ready| policy.pick(&View { ready, ages: &ages, ..View::default() });
        assert_eq!([0b0110, 0b1110, 0b1101].map(&mut pick), [1, 1, 3].map(Some));
    }

    #[test]
    fn it_looks_at_the_last_one_and_at_older_ones_first() {
        let ages = [5, 3, 9, 1];
        let policy = GreedyThenOldest { last: 2 };
        let looks_at =
            |ready, others| policy.looks_at(&View { ready, ages: &ages, ..View::default() }, others);
        assert_eq!(looks_at(0b0001, 0b1110), 0b1110, "the last one, and the two that are older");
        assert_eq!(looks_at(0b0010, 0b1101), 0b1100);
        assert_eq!(looks_at(0b0100, 0b1011), 0, "the last one issues");
        assert_eq!(looks_at(0, 0b1011), 0b1011);
    }
}
