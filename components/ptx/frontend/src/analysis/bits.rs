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
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let rest = std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
            rest.take_while(|word| *word != 0).map(move |word| index * 64 + word.trailing_zeros() as usize)
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
        assert!(bits.contains(64) && !bits.contains(5));
        assert!(!Bits::new(130).union(&Bits::new(130)));
        assert!(Bits::new(130).union(&bits) && !bits.clone().union(&bits));
    }
}
