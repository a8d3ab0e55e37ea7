//! Greedy then oldest: the warp that issued last as long as it is ready, then the oldest ready one.

use counterpoint_framework::model::Variant;

use super::{View, WarpPolicy};

/// The policy `gto`.
#[derive(Default)]
pub(super) struct GreedyThenOldest {
    last: u32,
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
            // Slots and ages in one number each, so that the smallest is found without a branch.
            let (mut rest, mut oldest) = (ready, u64::MAX);
            while rest != 0 {
                let slot = rest.trailing_zeros();
                oldest = oldest.min(ages[slot as usize] << 6 | u64::from(slot));
                rest &= rest - 1;
            }
            self.last = (oldest % 64) as u32;
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
        let slots = |mask: u64| (0..64u32).filter(move |slot| mask >> slot & 1 != 0);
        let oldest = slots(ready).map(|slot| ages[slot as usize]).min().unwrap_or(u64::MAX);
        let seen = |slot: &u32| *slot == self.last || ages[*slot as usize] < oldest;
        slots(others).filter(seen).fold(0, |mask, slot| mask | 1 << slot)
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
