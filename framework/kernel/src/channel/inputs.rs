//! Sets of a component's inputs or outputs, a bit each.

/// The words of bits that hold a set: an array where the number of ends has a bound, a box where it has none.
pub trait Words: AsRef<[u64]> + AsMut<[u64]> + 'static {
    /// Words for this number of ends, all zero.
    ///
    /// # Panics
    /// If they are too few.
    fn for_ends(ends: usize) -> Self;
}

impl<const WORDS: usize> Words for [u64; WORDS] {
    fn for_ends(ends: usize) -> Self {
        assert!(ends <= 64 * WORDS, "{ends} ends in a set of {}", 64 * WORDS);
        [0; WORDS]
    }
}

impl Words for Box<[u64]> {
    fn for_ends(ends: usize) -> Self {
        vec![0; ends.div_ceil(64)].into_boxed_slice()
    }
}

/// A set of inputs or outputs. A component that is often small and may be large is generic over [`Words`]: an array of one
/// word costs the same as an integer.
///
/// ```
/// use counterpoint_kernel::{Inputs, members};
///
/// let mut set = Inputs::<Box<[u64]>>::none(200);
/// set.insert(3);
/// set.insert(130);
/// assert_eq!((set.turn(4), set.turn(131)), (Some(130), Some(3)));
/// let all = (0..set.words().len()).flat_map(|word| members(word, set.words()[word]));
/// assert_eq!(all.collect::<Vec<_>>(), [3, 130]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs<W> {
    words: W,
}

impl<W: Words> Inputs<W> {
    /// The empty set, with a capacity of `ends`.
    ///
    /// # Panics
    /// If an array is too small for it.
    pub fn none(ends: usize) -> Self {
        Inputs { words: W::for_ends(ends) }
    }

    /// The set of all ends.
    ///
    /// # Panics
    /// If an array is too small for it.
    pub fn all(ends: usize) -> Self {
        let mut set = Self::none(ends);
        for (number, word) in set.words.as_mut().iter_mut().enumerate() {
            *word = match ends.saturating_sub(64 * number) {
                rest @ 0..64 => (1 << rest) - 1,
                _ => u64::MAX,
            };
        }
        set
    }

    /// The bits, lowest ends first.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Adds an end.
    #[inline(always)]
    pub fn insert(&mut self, end: usize) {
        self.words.as_mut()[end / 64] |= 1 << (end % 64);
    }

    /// Takes an end away.
    #[inline(always)]
    pub fn remove(&mut self, end: usize) {
        self.words.as_mut()[end / 64] &= !(1 << (end % 64));
    }

    /// Whether the set is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    /// The member whose turn it is: the first from `turn` on, else the first of all.
    #[inline]
    pub fn turn(&self, turn: usize) -> Option<usize> {
        let words = self.words();
        let (place, bit) = (turn / 64, turn % 64);
        let first =
            |number: usize, word: u64| (word != 0).then(|| 64 * number + word.trailing_zeros() as usize);
        let rest = words.get(place).and_then(|word| first(place, word & (u64::MAX << bit)));
        let later = || (place + 1..words.len()).find_map(|number| first(number, words[number]));
        let before = || (0..words.len().min(place + 1)).find_map(|number| first(number, words[number]));
        rest.or_else(later).or_else(before)
    }
}

/// The members of a set that one of its words has, lowest first.
#[inline(always)]
pub fn members(number: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let lowest = 64 * number + word.trailing_zeros() as usize;
            word &= word - 1;
            lowest
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Compares a set with one of the standard library after each of many changes.
    fn agrees<W: Words>(ends: usize) {
        let (mut set, mut naive) = (Inputs::<W>::none(ends), BTreeSet::new());
        let mut draw = 1_u64;
        for _ in 0..2_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (end, turn) = ((draw >> 33) as usize % ends, (draw >> 13) as usize % ends);
            if draw >> 63 == 0 {
                set.insert(end);
                naive.insert(end);
            } else {
                set.remove(end);
                naive.remove(&end);
            }
            let all = set.words().iter().enumerate().flat_map(|(number, &word)| members(number, word));
            assert!(all.eq(naive.iter().copied()));
            assert_eq!(set.turn(turn), naive.range(turn..).chain(&naive).next().copied());
            assert_eq!(set.is_empty(), naive.is_empty());
        }
    }

    #[test]
    fn sets_of_any_width_are_sets() {
        for ends in [1, 5, 63, 64] {
            agrees::<[u64; 1]>(ends);
        }
        for ends in [65, 100, 128] {
            agrees::<[u64; 2]>(ends);
        }
        for ends in [1, 64, 129, 1_000] {
            agrees::<Box<[u64]>>(ends);
        }
    }

    #[test]
    fn all_is_every_end_and_no_other() {
        assert_eq!(Inputs::<[u64; 2]>::all(0).words(), [0, 0]);
        assert_eq!(Inputs::<[u64; 2]>::all(64).words(), [u64::MAX, 0]);
        assert_eq!(Inputs::<[u64; 2]>::all(66).words(), [u64::MAX, 3]);
        assert_eq!(Inputs::<Box<[u64]>>::all(130).words(), [u64::MAX, u64::MAX, 3]);
    }
}
