//! The misses of a cache that are under way, and the accesses that wait for them.

use counterpoint_protocols::memory::{ByteMask, Line, merge};

use super::{Cache, Miss, NO_LINE, NO_MISS, WayId};

impl<T> Cache<T> {
    /// Whether a miss is under way for this line.
    #[inline]
    pub fn is_pending(&self, way: WayId) -> bool {
        self.halves[way.index()].miss != NO_MISS
    }

    /// Whether another access can wait for the miss under way for this line.
    #[inline]
    pub fn can_join(&self, way: WayId) -> bool {
        let miss = self.misses.get(self.halves[way.index()].miss as usize).and_then(Option::as_ref);
        miss.is_some_and(|miss| miss.waiting.len() < self.merges)
    }

    /// Whether misses are under way for a line, or for one half of it.
    pub fn is_line_pending(&self, way: WayId) -> bool {
        self.tags[self.place(way)].misses != 0
    }

    /// Whether another miss can begin, for both halves of a line if there are two.
    #[inline]
    pub fn has_free_miss(&self) -> bool {
        self.free.len() >> self.size.halving() != 0
    }

    /// Whether a miss under way is that of a line in the set to which the line at this address belongs.
    pub fn is_in_set(&self, miss: u32, within: u64) -> bool {
        let miss = self.misses[miss as usize].as_ref();
        miss.is_some_and(|miss| self.set(within).contains(&self.place(miss.way)))
    }

    /// Whether a miss is under way.
    pub fn has_misses(&self) -> bool {
        self.free.len() < self.misses.len()
    }

    /// Begins a miss for a line that was found or allocated, with the first access that waits for it. The result names
    /// the miss.
    ///
    /// # Panics
    /// If no miss can begin, or one is under way for this line.
    pub fn begin_miss(&mut self, way: WayId, access: T) -> u32 {
        let miss = self.begin_prefetch(way);
        if let Some(miss) = &mut self.misses[miss as usize] {
            miss.waiting.push(access);
        }
        miss
    }

    /// Begins a miss for a line that nobody waits for yet.
    ///
    /// # Panics
    /// As [`Cache::begin_miss`].
    pub fn begin_prefetch(&mut self, way: WayId) -> u32 {
        let miss = self.free.pop().expect("a miss can begin");
        let (place, half) = (self.place(way), &mut self.halves[way.index()]);
        assert_eq!(half.miss, NO_MISS, "one miss per line");
        half.miss = miss;
        self.tags[place].misses += 1;
        self.misses[miss as usize] = Some(Miss { way, waiting: self.lists.pop().unwrap_or_default() });
        miss
    }

    /// Lets an access wait for the miss under way, or returns the access if the miss is full.
    ///
    /// # Errors
    /// The access, if the miss has reached its limit of accesses.
    pub fn join_miss(&mut self, way: WayId, access: T) -> Result<(), T> {
        let miss = self.halves[way.index()].miss;
        match self.misses.get_mut(miss as usize).and_then(Option::as_mut) {
            Some(miss) if miss.waiting.len() < self.merges => {
                miss.waiting.push(access);
                Ok(())
            }
            _ => Err(access),
        }
    }

    /// Takes back a list of accesses that waited, so that another miss uses its memory.
    pub fn give_back(&mut self, mut list: Vec<T>) {
        list.clear();
        self.lists.push(list);
    }

    /// Ends a miss: the data fills the bytes that are not valid yet (valid bytes may be newer). Returns the way, unless the
    /// line was invalidated meanwhile, and the accesses that waited.
    pub fn end_miss(&mut self, miss: u32, mask: ByteMask, data: &Line) -> (Option<WayId>, Vec<T>) {
        let Miss { way, waiting } =
            self.misses[miss as usize].take().unwrap_or_else(|| panic!("miss {miss} is not under way"));
        self.free.push(miss);
        let (place, half) = (self.place(way), &mut self.halves[way.index()]);
        half.miss = NO_MISS;
        self.tags[place].misses -= 1;
        if self.lines[place] == NO_LINE {
            return (None, waiting);
        }
        let missing = mask & !half.valid;
        half.valid |= mask;
        merge(&mut self.data[way.index()], missing, data);
        (Some(way), waiting)
    }
}
