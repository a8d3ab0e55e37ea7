//! Greedy then oldest: the warp that issued last while it is ready, else the oldest ready warp.

use counterpoint_framework::model::Variant;

use super::{View, WarpPolicy};

/// The policy `gto`.
#[derive(Default)]
pub(in crate::gpu::sm) struct GreedyThenOldest {
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

/// The oldest of some slots, which must not be empty.
#[inline]
fn oldest(slots: u64, older: &[u64]) -> u32 {
    let mut slot = slots.trailing_zeros();
    loop {
        let rest = older[slot as usize] & slots;
        if rest == 0 {
            return slot;
        }
        slot = rest.trailing_zeros();
    }
}

impl WarpPolicy for GreedyThenOldest {
    fn pick(&mut self, &View { ready, older, .. }: &View<'_>) -> Option<u32> {
        if ready >> self.last & 1 == 0 {
            self.last = oldest(ready, older);
        }
        Some(self.last)
    }

    fn is_greedy(&self) -> bool {
        true
    }

    fn examines(&self, &View { ready, older, .. }: &View<'_>, others: u64) -> u64 {
        if ready == 0 {
            return others;
        }
        if ready >> self.last & 1 != 0 {
            return 0;
        }
        others & (older[oldest(ready, older) as usize] | 1 << self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By slot, those whose warps are older.
    fn older(ages: [u64; 4]) -> [u64; 4] {
        ages.map(|age| (0..4).filter(|slot| ages[*slot] < age).fold(0, |mask, slot| mask | 1 << slot))
    }

    #[test]
    fn the_last_one_goes_on_and_then_the_oldest() {
        let mut policy = GreedyThenOldest::default();
        let older = older([5, 3, 9, 1]);
        let mut pick = |ready| policy.pick(&View { ready, older: &older, ..View::default() });
        assert_eq!([0b0110, 0b1110, 0b1101].map(&mut pick), [1, 1, 3].map(Some));
    }

    #[test]
    fn it_examines_the_last_one_and_older_ones_first() {
        let older = older([5, 3, 9, 1]);
        let policy = GreedyThenOldest { last: 2 };
        let examines =
            |ready, others| policy.examines(&View { ready, older: &older, ..View::default() }, others);
        assert_eq!(examines(0b0001, 0b1110), 0b1110, "the last one, and the two that are older");
        assert_eq!(examines(0b0010, 0b1101), 0b1100);
        assert_eq!(examines(0b0100, 0b1011), 0, "the last one issues");
        assert_eq!(examines(0, 0b1011), 0b1011);
    }
}
