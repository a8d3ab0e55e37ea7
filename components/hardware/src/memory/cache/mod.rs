//! A set-associative cache with data: tags, valid and dirty bytes, replacement, and the misses
//! that are under way. It keeps no time; L1 and L2 add their own.

pub mod bypass;
pub mod prefetch;
pub mod replacement;
mod shape;
pub mod write_policy;

use counterpoint_framework::model::Invalid;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Line, merge};
use counterpoint_protocols::values::Values;

use self::replacement::Replacement;
use self::shape::fermi_hash;
pub use self::shape::{CacheParams, SetIndex};
use super::polynomial::Polynomial;

/// A way of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayId(u32);

impl WayId {
    /// Position of the way among all ways of the cache, from 0.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// State of a way beside its line.
#[derive(Clone)]
struct Way {
    used: u64,
    valid: ByteMask,
    dirty: ByteMask,
    /// The miss under way for this line.
    miss: u32,
    /// Whether the line is evicted only if all others of its set are protected, too.
    is_protected: bool,
}

impl Way {
    const EMPTY: Way = Way { used: 0, valid: 0, dirty: 0, miss: NO_MISS, is_protected: false };
}

const NO_LINE: u64 = u64::MAX;
const NO_MISS: u32 = u32::MAX;
/// Added to the use of a protected line: it comes after all others.
const PROTECTED: u64 = 1 << 63;

/// Result of a lookup of bytes that are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of them.
    Here(WayId),
    /// A miss for their line is under way.
    Pending(WayId),
    /// Not all of them; of the line perhaps others.
    Absent(Option<WayId>),
}

/// A line that must be written back because its way is taken.
#[derive(Clone, Debug)]
pub struct Evicted {
    /// Address of the line.
    pub line: u64,
    /// Dirty bytes of the line.
    pub dirty: ByteMask,
    /// The values.
    pub data: Values,
}

/// Accesses that wait for a line.
struct Miss<T> {
    way: WayId,
    waiting: Vec<T>,
}

/// A cache whose misses make accesses of type `T` wait.
pub struct Cache<T> {
    ways: usize,
    sets: u64,
    set_index: SetIndex,
    polynomial: Option<Polynomial>,
    /// The line in each way: by themselves, because a look-up reads those of a whole set.
    lines: Vec<u64>,
    held: usize,
    tags: Vec<Way>,
    data: Vec<Line>,
    misses: Vec<Option<Miss<T>>>,
    free: Vec<u32>,
    /// Empty lists for accesses that wait.
    lists: Vec<Vec<T>>,
    merges: usize,
    /// Maximum number of protected lines in a set.
    protected_ways: usize,
    clock: u64,
    /// The replacement policy, unless the least recently used line goes.
    replacement: Option<Box<dyn Replacement>>,
    /// Ways from which the policy chooses, for its next decision.
    candidates: Vec<usize>,
}

impl<T> Cache<T> {
    /// Whether there is a cache of this shape.
    ///
    /// # Errors
    /// When the capacity is not a whole number of sets, or the function of the sets is not for their number.
    pub fn check(params: &CacheParams) -> Result<(), Invalid> {
        let (capacity, ways) = (params.capacity.get(), u64::from(params.ways));
        if capacity == 0 || capacity % (LINE_BYTES * ways) != 0 {
            return Err(format!("capacity must be a multiple of ways × {LINE_BYTES} B").into());
        }
        let sets = capacity / (LINE_BYTES * ways);
        let (fits, wanted) = match params.set_index {
            SetIndex::Linear => (true, ""),
            SetIndex::FermiHash => (sets == 32 || sets == 64, "fermi-hash is for 32 or 64 sets"),
            SetIndex::Polynomial => (
                Polynomial::of_remainders(sets).is_some(),
                "polynomial is for 4 to 1024 sets, a power of two",
            ),
        };
        if !fits {
            return Err(format!("set_index: {wanted}, and these are {sets}").into());
        }
        Ok(())
    }

    /// An empty cache.
    ///
    /// # Errors
    /// As [`Cache::check`].
    pub fn new(params: &CacheParams) -> Result<Self, Invalid> {
        Self::check(params)?;
        let lines = (params.capacity.get() / LINE_BYTES) as usize;
        let sets = lines as u64 / u64::from(params.ways);
        Ok(Cache {
            ways: params.ways as usize,
            sets,
            set_index: params.set_index,
            polynomial: Polynomial::of_remainders(sets),
            lines: vec![NO_LINE; lines],
            held: 0,
            tags: vec![Way::EMPTY; lines],
            data: vec![[0; LINE_BYTES as usize]; lines],
            misses: (0..params.mshrs).map(|_| None).collect(),
            free: (0..params.mshrs).rev().collect(),
            lists: Vec::new(),
            merges: params.merges as usize,
            protected_ways: usize::MAX,
            clock: 0,
            replacement: None,
            candidates: Vec::new(),
        })
    }

    /// Lets a policy choose victims.
    pub fn replace_by(&mut self, mut policy: Box<dyn Replacement>) {
        policy.begin(self.lines.len());
        self.replacement = Some(policy).filter(|policy| !policy.is_lru());
    }

    #[inline]
    fn set(&self, index: u64) -> std::ops::Range<usize> {
        let set = match self.set_index {
            SetIndex::Linear => index % self.sets,
            SetIndex::FermiHash => fermi_hash(index, self.sets),
            SetIndex::Polynomial => {
                self.polynomial.as_ref().map_or(0, |polynomial| polynomial.remainder(index))
            }
        };
        let first = set as usize * self.ways;
        first..first + self.ways
    }

    /// Finds a line. `index` is its position among the lines that this cache may hold; it chooses the set.
    #[inline]
    pub fn find(&self, line: u64, index: u64) -> Option<WayId> {
        // An L1 that global accesses bypass is often empty, and has sets of up to a hundred ways.
        if self.held == 0 {
            return None;
        }
        let set = self.set(index);
        let first = set.start;
        self.lines[set].iter().position(|&found| found == line).map(|way| WayId((first + way) as u32))
    }

    /// Looks for bytes of a line.
    #[inline]
    pub fn seek(&self, line: u64, index: u64, bytes: ByteMask) -> Found {
        match self.find(line, index) {
            Some(way) if self.is_pending(way) => Found::Pending(way),
            Some(way) if bytes & !self.valid(way) == 0 => Found::Here(way),
            way => Found::Absent(way),
        }
    }

    /// Whether a way holds the whole of a line.
    #[inline]
    pub fn holds(&self, way: WayId, line: u64) -> bool {
        self.lines[way.0 as usize] == line && self.valid(way) == ByteMask::MAX
    }

    /// Notes a use of a line that was here.
    #[inline]
    pub fn touch(&mut self, way: WayId) {
        self.clock += 1;
        self.tags[way.0 as usize].used = self.clock;
        if let Some(policy) = &mut self.replacement {
            policy.used(way.index());
        }
    }

    /// Makes room for a line that is not here: an empty way, or that of the policy's victim among the lines that wait for
    /// nothing, those that are protected last. A dirty victim is returned with it. `None`: every way of the set waits for its
    /// line.
    pub fn allocate(&mut self, line: u64, index: u64) -> Option<(WayId, Option<Evicted>)> {
        self.replace(line, index, false)
    }

    /// Makes room for a line that nobody has asked for, as [`Cache::allocate`] does.
    pub fn allocate_prefetched(&mut self, line: u64, index: u64) -> Option<(WayId, Option<Evicted>)> {
        self.replace(line, index, true)
    }

    fn replace(&mut self, line: u64, index: u64, prefetched: bool) -> Option<(WayId, Option<Evicted>)> {
        let place = match &self.replacement {
            None => self.least_recently_used(index),
            Some(_) => self.policys_victim(index),
        }?;
        let way = WayId(place as u32);
        let evicted = self.take(way);
        self.lines[place] = line;
        self.held += 1;
        self.clock += 1;
        self.tags[place] = Way { used: self.clock, ..Way::EMPTY };
        if let Some(policy) = &mut self.replacement {
            policy.filled(place, prefetched);
        }
        Some((way, evicted))
    }

    /// The way of a set that is empty or whose line was used least recently.
    #[inline]
    fn least_recently_used(&self, index: u64) -> Option<usize> {
        let set = self.set(index);
        let (mut least, mut found) = (u64::MAX, None);
        for (place, (&held, way)) in set.clone().zip(self.lines[set.clone()].iter().zip(&self.tags[set])) {
            let key = if held == NO_LINE { 0 } else { way.used + u64::from(way.is_protected) * PROTECTED };
            if key < least && way.miss == NO_MISS {
                (least, found) = (key, Some(place));
            }
        }
        found
    }

    /// The way of a set that is empty or that the policy chooses.
    fn policys_victim(&mut self, index: u64) -> Option<usize> {
        let set = self.set(index);
        let (tags, candidates) = (&self.tags, &mut self.candidates);
        let free = || set.clone().filter(|&place| tags[place].miss == NO_MISS);
        if let Some(empty) = free().find(|&place| self.lines[place] == NO_LINE) {
            return Some(empty);
        }
        candidates.clear();
        candidates.extend(free().filter(|&place| !tags[place].is_protected));
        if candidates.is_empty() {
            candidates.extend(free());
        }
        if candidates.is_empty() {
            return None;
        }
        let victim = self.replacement.as_mut()?.victim(candidates);
        assert!(
            candidates.contains(&victim),
            "the replacement policy evicts way {victim}, none of {candidates:?}"
        );
        Some(victim)
    }

    /// Forgets a line that waits for nothing, and gives what must be written back.
    pub fn take(&mut self, way: WayId) -> Option<Evicted> {
        let place = way.0 as usize;
        let (line, dirty) = (self.lines[place], self.tags[place].dirty);
        let evicted = (line != NO_LINE && dirty != 0).then(|| Evicted {
            line,
            dirty,
            data: Values::from(&self.data[place]),
        });
        self.invalidate(way);
        evicted
    }

    /// Whether a line makes room for others only if it must; a set that protects as many as it may protects no more.
    pub fn protect(&mut self, way: WayId, is_protected: bool) {
        let place = way.0 as usize;
        let first = place - place % self.ways;
        self.tags[place].is_protected = false;
        let protected = || self.tags[first..first + self.ways].iter().filter(|way| way.is_protected).count();
        let has_room = self.protected_ways >= self.ways || protected() < self.protected_ways;
        self.tags[place].is_protected = is_protected && has_room;
    }

    /// Limits the protected lines of a set to `ways`.
    pub fn protect_at_most(&mut self, ways: u32) {
        self.protected_ways = ways as usize;
    }

    /// The ways that hold lines.
    pub fn taken(&self) -> impl Iterator<Item = WayId> + '_ {
        let taken = self.lines.iter().enumerate().filter(|(_, line)| **line != NO_LINE);
        taken.map(|(place, _)| WayId(place as u32))
    }

    /// Whether a way holds a line.
    pub fn is_taken(&self, way: WayId) -> bool {
        self.lines[way.0 as usize] != NO_LINE
    }

    /// Lines that it holds at most.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// The bytes of the line that are here.
    #[inline]
    pub fn valid(&self, way: WayId) -> ByteMask {
        self.tags[way.0 as usize].valid
    }

    /// The bytes of the line that memory does not have yet.
    pub fn dirty(&self, way: WayId) -> ByteMask {
        self.tags[way.0 as usize].dirty
    }

    /// The values of the line; meaningful where valid.
    #[inline]
    pub fn data(&self, way: WayId) -> &Line {
        &self.data[way.0 as usize]
    }

    /// Writes bytes that memory does not have.
    pub fn write(&mut self, way: WayId, mask: ByteMask, data: &Line) {
        merge(&mut self.data[way.0 as usize], mask, data);
        let way = &mut self.tags[way.0 as usize];
        way.valid |= mask;
        way.dirty |= mask;
    }

    /// Writes bytes that memory gets as well.
    pub fn update(&mut self, way: WayId, mask: ByteMask, data: &Line) {
        merge(&mut self.data[way.0 as usize], mask, data);
        let way = &mut self.tags[way.0 as usize];
        way.valid |= mask;
        way.dirty &= !mask;
    }

    /// Gives the bytes of a line that memory does not have, for it to get them.
    pub fn clean(&mut self, way: WayId) -> Option<Evicted> {
        let place = way.0 as usize;
        let dirty = std::mem::take(&mut self.tags[place].dirty);
        let (line, data) = (self.lines[place], &self.data[place]);
        (dirty != 0).then(|| Evicted { line, dirty, data: Values::from(data) })
    }

    /// Invalidates bytes of a line, none of which is dirty. The line keeps its way.
    pub fn forget(&mut self, way: WayId, bytes: ByteMask) {
        self.tags[way.0 as usize].valid &= !bytes;
    }

    /// Puts a line that memory has, too, into an empty way or in the place of the one that was used least recently, which
    /// must not differ from memory. For a cache that is warm before time 0; [`Cache::give_values`] follows.
    pub fn warm(&mut self, line: u64, index: u64) {
        let way = match self.find(line, index) {
            Some(way) => {
                self.touch(way);
                Some(way)
            }
            None => self.allocate(line, index).map(|(way, _)| way),
        };
        if let Some(way) = way {
            self.tags[way.0 as usize].valid = ByteMask::MAX;
        }
    }

    /// Gives each line that is here its values.
    pub fn give_values(&mut self, mut give: impl FnMut(u64, &mut Line)) {
        let taken = self.lines.iter().zip(&mut self.data).filter(|(line, _)| **line != NO_LINE);
        taken.for_each(|(line, data)| give(*line, data));
    }

    /// Forgets a line; a miss under way for it still ends, for those that wait.
    pub fn invalidate(&mut self, way: WayId) {
        let held = std::mem::replace(&mut self.lines[way.0 as usize], NO_LINE);
        self.held -= usize::from(held != NO_LINE);
        let way = &mut self.tags[way.0 as usize];
        way.valid = 0;
        way.dirty = 0;
        way.is_protected = false;
    }

    /// Forgets every line that memory has, too.
    pub fn invalidate_clean(&mut self) {
        for place in 0..self.tags.len() {
            if self.tags[place].dirty == 0 {
                self.invalidate(WayId(place as u32));
            }
        }
    }

    /// Whether a miss is under way for this line.
    #[inline]
    pub fn is_pending(&self, way: WayId) -> bool {
        self.tags[way.0 as usize].miss != NO_MISS
    }

    /// Whether another access can wait for the miss under way for this line.
    #[inline]
    pub fn can_join(&self, way: WayId) -> bool {
        let miss = self.misses.get(self.tags[way.0 as usize].miss as usize).and_then(Option::as_ref);
        miss.is_some_and(|miss| miss.waiting.len() < self.merges)
    }

    /// Whether another miss can begin.
    pub fn has_free_miss(&self) -> bool {
        !self.free.is_empty()
    }

    /// Whether a miss under way is that of a line in the set to which a line with this index belongs.
    pub fn is_in_set(&self, miss: u32, index: u64) -> bool {
        let miss = self.misses[miss as usize].as_ref();
        miss.is_some_and(|miss| self.set(index).contains(&(miss.way.0 as usize)))
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
        let tag = &mut self.tags[way.0 as usize];
        assert_eq!(tag.miss, NO_MISS, "one miss per line");
        tag.miss = miss;
        self.misses[miss as usize] = Some(Miss { way, waiting: self.lists.pop().unwrap_or_default() });
        miss
    }

    /// Lets an access wait for the miss under way, or hands it back if no more can.
    ///
    /// # Errors
    /// The access, when the miss serves as many as it can.
    pub fn join_miss(&mut self, way: WayId, access: T) -> Result<(), T> {
        let miss = self.tags[way.0 as usize].miss;
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

    /// Ends a miss: what came fills the bytes that are not here yet (those that are may be newer). Gives the way, unless
    /// the line was invalidated meanwhile, and the accesses that waited.
    pub fn end_miss(&mut self, miss: u32, mask: ByteMask, data: &Line) -> (Option<WayId>, Vec<T>) {
        let Miss { way, waiting } =
            self.misses[miss as usize].take().unwrap_or_else(|| panic!("miss {miss} is not under way"));
        self.free.push(miss);
        let tag = &mut self.tags[way.0 as usize];
        tag.miss = NO_MISS;
        if self.lines[way.0 as usize] == NO_LINE {
            return (None, waiting);
        }
        let missing = mask & !tag.valid;
        tag.valid |= mask;
        merge(&mut self.data[way.0 as usize], missing, data);
        (Some(way), waiting)
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::time::Bytes;

    use super::*;

    fn cache() -> Cache<u32> {
        let params = CacheParams {
            capacity: Bytes::new(1024),
            ways: 2,
            mshrs: 2,
            merges: 2,
            set_index: SetIndex::Linear,
        };
        Cache::new(&params).unwrap()
    }

    #[test]
    fn the_least_recently_used_line_goes_and_its_dirty_bytes_with_it() {
        let mut cache = cache();
        let (a, _) = cache.allocate(0, 0).unwrap();
        cache.write(a, 0b11, &[7; 128]);
        let (b, none) = cache.allocate(512, 4).unwrap();
        assert!(none.is_none() && a != b);
        cache.touch(a);
        assert!(cache.allocate(1024, 8).unwrap().1.is_none(), "b was clean");
        let evicted = cache.allocate(1536, 12).unwrap().1.unwrap();
        assert_eq!((evicted.line, evicted.dirty, evicted.data[1]), (0, 0b11, 7));
    }

    #[test]
    fn fermis_hash_is_that_of_gpgpu_sim() {
        // Bits 13 to 15 of an address are bits 6 to 8 of its line's number.
        assert_eq!(
            [0, 31, 64, 64 * 7, 1 << 10, 1 << 12].map(|index| fermi_hash(index, 32)),
            [0, 31, 1, 7, 8, 16]
        );
        assert_eq!([32, 33].map(|index| fermi_hash(index, 64)), [32, 33]);
    }

    #[test]
    fn a_fill_does_not_overwrite_newer_bytes() {
        let mut cache = cache();
        let (way, _) = cache.allocate(0, 0).unwrap();
        let miss = cache.begin_miss(way, 1);
        cache.write(way, 0b1, &[9; 128]);
        assert_eq!(cache.join_miss(way, 2), Ok(()));
        assert_eq!(cache.join_miss(way, 3), Err(3));
        let (filled, waiting) = cache.end_miss(miss, ByteMask::MAX, &[5; 128]);
        assert_eq!((filled, waiting), (Some(way), vec![1, 2]));
        assert_eq!((cache.data(way)[0], cache.data(way)[1]), (9, 5));
        assert_eq!((cache.valid(way), cache.dirty(way)), (ByteMask::MAX, 1));
    }

    #[test]
    fn a_cache_that_has_forgotten_its_lines_finds_none() {
        let mut cache = cache();
        let ways = [(0, 0), (512, 4), (1024, 8)].map(|(line, index)| cache.allocate(line, index).unwrap().0);
        assert_eq!(ways[0], ways[2], "a set has two ways");
        let found =
            |cache: &Cache<u32>| [(0, 0), (512, 4), (1024, 8)].map(|(line, index)| cache.find(line, index));
        assert_eq!(found(&cache), [None, Some(ways[1]), Some(ways[2])]);
        cache.invalidate(ways[1]);
        cache.invalidate(ways[1]);
        assert_eq!(found(&cache), [None, None, Some(ways[2])]);
        cache.invalidate_clean();
        assert_eq!(found(&cache), [None; 3]);
        let again = cache.allocate(512, 4).map(|(way, _)| way);
        assert_eq!(found(&cache), [None, again, None]);
    }

    #[test]
    fn a_miss_belongs_to_the_set_of_its_line_even_when_that_is_forgotten() {
        let mut cache = cache();
        let (way, _) = cache.allocate(512, 4).unwrap();
        let miss = cache.begin_miss(way, 1);
        cache.invalidate(way);
        assert_eq!([0, 1, 3, 8].map(|index| cache.is_in_set(miss, index)), [true, false, false, true]);
    }

    #[test]
    fn a_way_that_waits_is_not_taken() {
        let mut cache = cache();
        for (line, index) in [(0, 0), (512, 4)] {
            let (way, _) = cache.allocate(line, index).unwrap();
            cache.begin_miss(way, 0);
        }
        assert!(cache.allocate(1024, 8).is_none() && !cache.has_free_miss());
        let way = cache.find(0, 0).unwrap();
        cache.invalidate(way);
        assert!(cache.find(0, 0).is_none());
        assert_eq!(cache.end_miss(0, ByteMask::MAX, &[1; 128]), (None, vec![0]));
    }
}
