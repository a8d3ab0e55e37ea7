//! A hierarchical timing wheel of 64 buckets a level. The lists are threaded through the sleepers, so that nothing is allocated
//! however sparse the times are.

use super::queue::{NEVER, Slot};

const BITS: u32 = 6;
const PLACES: usize = 1 << BITS;
const NONE: u32 = u32::MAX;

/// A sleeper's neighbours in its list.
#[derive(Clone, Copy)]
struct SleeperLinks {
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy)]
struct Level {
    occupied: u64,
    heads: [u32; PLACES],
}

/// The order of sleepers by their keys. Level l holds the keys that differ from `base` first in the l-th group of six bits.
pub(crate) struct Wheel {
    base: u64,
    /// The levels that were ever needed.
    levels: Vec<Level>,
    /// A bit for each level that holds a sleeper.
    occupied: u32,
    nodes: Box<[SleeperLinks]>,
}

impl Wheel {
    pub(crate) fn new(sleepers: usize) -> Self {
        let nodes = vec![SleeperLinks { next: NONE, previous: NONE }; sleepers].into_boxed_slice();
        Wheel { base: 0, levels: Vec::new(), occupied: 0, nodes }
    }

    #[inline]
    fn place(&self, key: u64) -> (usize, usize) {
        let level = (((key ^ self.base) | (PLACES as u64 - 1)).ilog2() / BITS) as usize;
        (level, ((key >> (level as u32 * BITS)) as usize) & (PLACES - 1))
    }

    /// Adds a sleeper that is not in the wheel, with a key not below `base`.
    #[inline]
    pub(crate) fn link(&mut self, slot: Slot, key: u64) {
        debug_assert!(key >= self.base, "a wake-up in the past");
        let (level, place) = self.place(key);
        if level >= self.levels.len() {
            self.grow(level);
        }
        let head = std::mem::replace(&mut self.levels[level].heads[place], slot);
        if head == NONE {
            self.levels[level].occupied |= 1 << place;
            self.occupied |= 1 << level;
        } else {
            self.nodes[head as usize].previous = slot;
        }
        self.nodes[slot as usize] = SleeperLinks { next: head, previous: NONE };
    }

    #[cold]
    fn grow(&mut self, level: usize) {
        self.levels.resize(level + 1, Level { occupied: 0, heads: [NONE; PLACES] });
    }

    /// Takes out a sleeper that was put in with this key.
    pub(crate) fn unlink(&mut self, slot: Slot, key: u64) {
        let node = self.nodes[slot as usize];
        if node.next != NONE {
            self.nodes[node.next as usize].previous = node.previous;
        }
        if node.previous != NONE {
            self.nodes[node.previous as usize].next = node.next;
        } else {
            let (level, place) = self.place(key);
            debug_assert_eq!(self.levels[level].heads[place], slot);
            self.levels[level].heads[place] = node.next;
            if node.next == NONE {
                self.vacate(level, place);
            }
        }
    }

    #[inline]
    fn vacate(&mut self, level: usize, place: usize) {
        self.levels[level].occupied &= !(1 << place);
        if self.levels[level].occupied == 0 {
            self.occupied &= !(1 << level);
        }
    }

    /// Takes the whole list of a bucket.
    #[inline]
    fn detach(&mut self, level: usize, place: usize) -> u32 {
        let head = std::mem::replace(&mut self.levels[level].heads[place], NONE);
        if head != NONE {
            self.vacate(level, place);
        }
        head
    }

    /// A sleeper with the least key, if that is known without a check of others.
    #[inline]
    pub(crate) fn first(&self) -> Option<Slot> {
        (self.occupied & 1 != 0)
            .then(|| self.levels[0].heads[self.levels[0].occupied.trailing_zeros() as usize])
    }

    /// The least time of all, [`NEVER`] if there is no sleeper. Times are in the order of the keys: those of the first list come before
    /// all others.
    pub(crate) fn earliest(&self, time: impl Fn(Slot) -> u64) -> u64 {
        if self.occupied == 0 {
            return NEVER;
        }
        let level = &self.levels[self.occupied.trailing_zeros() as usize];
        let mut slot = level.heads[level.occupied.trailing_zeros() as usize];
        let mut earliest = NEVER;
        while slot != NONE {
            earliest = earliest.min(time(slot));
            slot = self.nodes[slot as usize].next;
        }
        earliest
    }

    /// Moves the base to `key`, before which there is no key, and takes out the sleepers of `key`. Lists on the way are spread over the
    /// lower levels by `key_of`.
    pub(crate) fn take(&mut self, key: u64, key_of: impl Fn(Slot) -> u64, mut taken: impl FnMut(Slot)) {
        if self.occupied == 0 {
            self.base = key;
            return;
        }
        while (self.base ^ key) >= PLACES as u64 {
            let (level, place) = self.place(key);
            let shift = level as u32 * BITS;
            self.base = key >> shift << shift;
            if level >= self.levels.len() {
                continue;
            }
            let mut slot = self.detach(level, place);
            while slot != NONE {
                let next = self.nodes[slot as usize].next;
                self.link(slot, key_of(slot));
                slot = next;
            }
        }
        self.base = key;
        let mut slot = self.detach(0, key as usize & (PLACES - 1));
        while slot != NONE {
            let next = self.nodes[slot as usize].next;
            taken(slot);
            slot = next;
        }
    }
}
