//! Sets of small numbers, a bit for each.

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// An empty set of numbers below `count`.
    pub(super) fn new(count: usize) -> Self {
        Bits(vec![0; count.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// Adds a number that is not in the set, and removes one that is.
    pub(super) fn toggle(&mut self, number: usize) {
        self.0[number / 64] ^= 1 << (number % 64);
    }

    /// Removes all of another set.
    pub(super) fn subtract(&mut self, other: &Bits) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine &= !theirs;
        }
    }

    /// Adds all of another set; whether any of it is new.
    pub(super) fn union(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        changed
    }

    /// The numbers, smallest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.iter_from(0)
    }

    /// Elements that are not below `first`, smallest first.
    pub(super) fn iter_from(&self, first: usize) -> impl Iterator<Item = usize> {
        let mut index = first / 64;
        let mut word = self.0.get(index).map_or(0, |word| word & u64::MAX << (first % 64));
        std::iter::from_fn(move || {
            while word == 0 {
                index += 1;
                word = *self.0.get(index)?;
            }
            let number = index * 64 + word.trailing_zeros() as usize;
            word &= word - 1;
            Some(number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_order() {
        let mut bits = Bits::new(130);
        [129, 64, 63, 0, 5].into_iter().for_each(|number| bits.insert(number));
        bits.remove(5);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!([64, 65, 129, 130].map(|first| bits.iter_from(first).count()), [2, 1, 1, 0]);
        assert!(bits.contains(64) && !bits.contains(5));
        assert!(!Bits::new(130).union(&Bits::new(130)));
        assert!(Bits::new(130).union(&bits) && !bits.clone().union(&bits));
    }
}
