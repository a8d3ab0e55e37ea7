//! Greedy policies: the warp that issued last while it is ready, and then one that an order by age chooses.

use std::marker::PhantomData;

use super::{View, WarpPolicy};

/// An order of warps by age.
pub(in crate::gpu::sm) trait Order {
    /// Warps that come before the warp in a slot, whose older warps are given.
    fn before(slot: u32, older: u64) -> u64;
}

/// The greedy policy with an order.
pub(in crate::gpu::sm) struct Greedy<O> {
    last: u32,
    order: PhantomData<O>,
}

impl<O> Default for Greedy<O> {
    fn default() -> Self {
        Greedy { last: 0, order: PhantomData }
    }
}

/// The first of some slots, which must not be empty.
#[inline]
fn first<O: Order>(slots: u64, older: &[u64]) -> u32 {
    let mut slot = slots.trailing_zeros();
    loop {
        let rest = O::before(slot, older[slot as usize]) & slots;
        if rest == 0 {
            return slot;
        }
        slot = rest.trailing_zeros();
    }
}

impl<O: Order> WarpPolicy for Greedy<O> {
    fn pick(&mut self, &View { ready, older, .. }: &View<'_>) -> Option<u32> {
        if ready >> self.last & 1 == 0 {
            self.last = first::<O>(ready, older);
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
        let first = first::<O>(ready, older);
        others & (O::before(first, older[first as usize]) | 1 << self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::super::gto::Oldest;
    use super::super::gty::Youngest;
    use super::*;

    /// By slot, those whose warps are older.
    fn older() -> [u64; 4] {
        let ages = [5, 3, 9, 1];
        ages.map(|age| (0..4).filter(|slot| ages[*slot] < age).fold(0, |mask, slot| mask | 1 << slot))
    }

    fn picks<O: Order>(ready: [u64; 3]) -> [Option<u32>; 3] {
        let mut policy = Greedy::<O>::default();
        ready.map(|ready| policy.pick(&View { ready, older: &older(), ..View::default() }))
    }

    fn examines<O: Order>(last: u32, ready: u64, others: u64) -> u64 {
        let policy = Greedy::<O> { last, order: PhantomData };
        policy.examines(&View { ready, older: &older(), ..View::default() }, others)
    }

    #[test]
    fn the_last_one_goes_on_and_then_the_first_in_the_order() {
        assert_eq!(picks::<Oldest>([0b0110, 0b1110, 0b1101]), [1, 1, 3].map(Some));
        assert_eq!(picks::<Youngest>([0b1010, 0b1110, 0b1101]), [1, 1, 2].map(Some));
    }

    #[test]
    fn the_last_one_and_those_that_come_first_are_examined() {
        let oldest = examines::<Oldest>;
        assert_eq!(oldest(2, 0b0001, 0b1110), 0b1110, "the last one, and the two that are older");
        assert_eq!(oldest(2, 0b0010, 0b1101), 0b1100);
        assert_eq!(oldest(2, 0b0100, 0b1011), 0, "the last one issues");
        assert_eq!(oldest(2, 0, 0b1011), 0b1011);
        let youngest = examines::<Youngest>;
        assert_eq!(youngest(3, 0b0001, 0b1110), 0b1100, "the last one, and the one that is younger");
        assert_eq!(youngest(3, 0b0010, 0b1101), 0b1101);
        assert_eq!(youngest(3, 0b0100, 0b1011), 0b1000);
    }
}
