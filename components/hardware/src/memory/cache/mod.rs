//! A set-associative cache with data: tags, valid and dirty bytes, replacement, and the misses
//! that are under way. It keeps no time; L1 and L2 add their own.
//!
//! Bytes are masked as in messages, which concern an aligned block of 128 bytes, whatever the size of the lines. A line of
//! 256 bytes has two [ways](WayId), one for each half.

pub mod bypass;
mod misses;
pub mod prefetch;
pub mod replacement;
mod shape;
pub mod write_policy;

use counterpoint_framework::model::Invalid;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Line, line_of, merge};
use counterpoint_protocols::values::Values;

use self::replacement::Replacement;
use self::shape::fermi_hash;
pub use self::shape::{CacheParams, LineSize, SetIndex};
use super::polynomial::Polynomial;

/// A way of a set, or the half of one that holds one half of a line of 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayId(u32);

impl WayId {
    /// Position among all of the cache, from 0.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// State of a way beside its line.
#[derive(Clone)]
struct Way {
    /// The last use of the line, plus [`PROTECTED`] if the line is evicted only if all others of its set are protected, too; 0
    /// without a line. The line with the smallest one was used least recently.
    used: u64,
    /// Misses under way for this line: one at most for a half.
    misses: u32,
}

impl Way {
    const EMPTY: Way = Way { used: 0, misses: 0 };

    /// Whether the line is evicted only if all others of its set are protected, too.
    #[inline]
    fn is_protected(&self) -> bool {
        self.used >= PROTECTED
    }

    /// Whether no line is here.
    #[inline]
    fn is_empty(&self) -> bool {
        self.used == 0
    }
}

/// State of the bytes of a way that one message transfers.
#[derive(Clone)]
struct Half {
    valid: ByteMask,
    dirty: ByteMask,
    /// The miss under way for these bytes.
    miss: u32,
}

impl Half {
    const EMPTY: Half = Half { valid: 0, dirty: 0, miss: NO_MISS };
}

const NO_LINE: u64 = u64::MAX;
const NO_MISS: u32 = u32::MAX;
/// Added to the use of a protected line, so that it is the victim after all others.
const PROTECTED: u64 = 1 << 63;

/// Result of a lookup of bytes that are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All bytes are valid in this way.
    Here(WayId),
    /// A miss for their line is under way.
    Pending(WayId),
    /// Some bytes are not valid. The way of the line, if other bytes of it are here.
    Absent(Option<WayId>),
}

/// A line that must be written back because its way is taken.
#[derive(Clone, Debug)]
pub struct Evicted {
    /// Way that the line had.
    pub way: WayId,
    /// Address of the message that writes it back.
    pub line: u64,
    /// Dirty bytes of the line.
    pub dirty: ByteMask,
    /// The values.
    pub data: Values,
    /// The other half of a line of 256 bytes, if that is dirty, too.
    pub rest: Option<Box<Evicted>>,
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
    size: LineSize,
    set_index: SetIndex,
    polynomial: Option<Polynomial>,
    /// The line in each way, in an array of its own, because a lookup reads the lines of a whole set.
    lines: Vec<u64>,
    held: usize,
    /// The places that hold lines, a bit each: an invalidation visits these alone.
    taken: Vec<u64>,
    tags: Vec<Way>,
    halves: Vec<Half>,
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
    /// When lines have no such size, the capacity is not a whole number of sets, or the function of the sets is not for their number.
    pub fn check(params: &CacheParams) -> Result<(), Invalid> {
        params.shape().map(drop)
    }

    /// An empty cache.
    ///
    /// # Errors
    /// As [`Cache::check`].
    pub fn new(params: &CacheParams) -> Result<Self, Invalid> {
        let (size, sets) = params.shape()?;
        let lines = sets as usize * params.ways as usize;
        let (halves, misses) = (lines << size.halving(), params.mshrs << size.halving());
        Ok(Cache {
            ways: params.ways as usize,
            sets,
            size,
            set_index: params.set_index,
            polynomial: Polynomial::of_remainders(sets),
            lines: vec![NO_LINE; lines],
            held: 0,
            taken: vec![0; lines.div_ceil(64)],
            tags: vec![Way::EMPTY; lines],
            halves: vec![Half::EMPTY; halves],
            data: vec![[0; LINE_BYTES as usize]; halves],
            misses: (0..misses).map(|_| None).collect(),
            free: (0..misses).rev().collect(),
            lists: Vec::new(),
            merges: params.merges as usize,
            protected_ways: usize::MAX,
            clock: 0,
            replacement: None,
            candidates: Vec::new(),
        })
    }

    /// The size of the lines.
    #[inline]
    pub fn size(&self) -> LineSize {
        self.size
    }

    /// Lets a policy choose victims.
    pub fn replace_by(&mut self, mut policy: Box<dyn Replacement>) {
        policy.begin(self.lines.len());
        self.replacement = Some(policy).filter(|policy| !policy.is_lru());
    }

    /// The position of the line of a way among all lines.
    #[inline]
    fn place(&self, way: WayId) -> usize {
        way.index() >> self.size.halving()
    }

    /// The halves of a line: of lines of up to 128 bytes one.
    #[inline]
    fn halves_of(&self, place: usize) -> std::ops::Range<usize> {
        let halving = self.size.halving();
        place << halving..(place + 1) << halving
    }

    #[inline]
    fn set(&self, within: u64) -> std::ops::Range<usize> {
        let index = self.size.number(within);
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

    /// Finds the line that holds an address, or the half of it. `within` is the address among those that this cache may hold; it chooses
    /// the set.
    #[inline]
    pub fn find(&self, address: u64, within: u64) -> Option<WayId> {
        // An L1 that global accesses bypass is often empty, and has sets of up to a hundred ways.
        if self.held == 0 {
            return None;
        }
        let (line, set) = (self.size.line_of(address), self.set(within));
        let first = set.start;
        let way = self.lines[set].iter().position(|&found| found == line)?;
        Some(self.half(first + way, address))
    }

    #[inline]
    fn half(&self, place: usize, address: u64) -> WayId {
        WayId((place << self.size.halving() | self.size.half_of(address)) as u32)
    }

    /// Looks for bytes of a line.
    #[inline]
    pub fn seek(&self, address: u64, within: u64, bytes: ByteMask) -> Found {
        match self.find(address, within) {
            Some(way) if self.is_pending(way) => Found::Pending(way),
            Some(way) if bytes & !self.valid(way) == 0 => Found::Here(way),
            way => Found::Absent(way),
        }
    }

    /// Whether a way holds bytes of the line that holds an address, or of its half.
    #[inline]
    pub fn holds(&self, way: WayId, address: u64) -> bool {
        let place = self.place(way);
        self.lines[place] == self.size.line_of(address)
            && self.half(place, address) == way
            && self.valid(way) != 0
    }

    /// The other half of a line of 256 bytes and its address, if not all of it is here or on its way.
    pub fn other_half(&self, way: WayId) -> Option<(WayId, u64)> {
        if self.size.halving() == 0 {
            return None;
        }
        let other = WayId(way.0 ^ 1);
        let Half { valid, miss, .. } = self.halves[other.index()];
        (valid != ByteMask::MAX && miss == NO_MISS).then(|| (other, self.message_of(other)))
    }

    /// The address of the message about the bytes of a way.
    #[inline]
    fn message_of(&self, way: WayId) -> u64 {
        let half = way.index() & ((1 << self.size.halving()) - 1);
        line_of(self.lines[self.place(way)]) + half as u64 * LINE_BYTES
    }

    /// Notes a use of a line that was here.
    #[inline]
    pub fn touch(&mut self, way: WayId) {
        let place = self.place(way);
        self.clock += 1;
        let way = &mut self.tags[place];
        way.used = self.clock | way.used & PROTECTED;
        if let Some(policy) = &mut self.replacement {
            policy.used(place);
        }
    }

    /// Allocates a way for a line that is not here: an empty way, or the way of the policy's victim among the lines without a
    /// miss, protected lines last. A dirty victim is returned with it. `None`: every way of the set waits for its line.
    pub fn allocate(&mut self, address: u64, within: u64) -> Option<(WayId, Option<Evicted>)> {
        self.replace(address, within, false)
    }

    /// Allocates a way for a line that nobody has requested, as [`Cache::allocate`] does.
    pub fn allocate_prefetched(&mut self, address: u64, within: u64) -> Option<(WayId, Option<Evicted>)> {
        self.replace(address, within, true)
    }

    fn replace(&mut self, address: u64, within: u64, prefetched: bool) -> Option<(WayId, Option<Evicted>)> {
        let place = match &self.replacement {
            None => self.least_recently_used(within),
            Some(_) => self.policys_victim(within),
        }?;
        let evicted = self.evicted(place);
        if self.tags[place].is_empty() {
            self.held += 1;
            self.taken[place / 64] |= 1 << (place % 64);
        } else {
            self.clear(place);
        }
        self.lines[place] = self.size.line_of(address);
        self.clock += 1;
        self.tags[place].used = self.clock;
        if let Some(policy) = &mut self.replacement {
            policy.filled(place, prefetched);
        }
        Some((self.half(place, address), evicted))
    }

    /// The way of a set that is empty or whose line was used least recently.
    #[inline]
    fn least_recently_used(&self, within: u64) -> Option<usize> {
        let set = self.set(within);
        let first = set.start;
        let (mut least, mut found) = (u64::MAX, None);
        for (number, way) in self.tags[set].iter().enumerate() {
            if way.used < least && way.misses == 0 {
                (least, found) = (way.used, Some(number));
            }
        }
        found.map(|number| first + number)
    }

    /// The way of a set that is empty or that the policy chooses.
    fn policys_victim(&mut self, within: u64) -> Option<usize> {
        let set = self.set(within);
        let (tags, candidates) = (&self.tags, &mut self.candidates);
        let free = || set.clone().filter(|&place| tags[place].misses == 0);
        if let Some(empty) = free().find(|&place| tags[place].is_empty()) {
            return Some(empty);
        }
        candidates.clear();
        candidates.extend(free().filter(|&place| !tags[place].is_protected()));
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
        let evicted = self.evicted(self.place(way));
        self.invalidate(way);
        evicted
    }

    /// What must be written back of a line.
    #[inline]
    fn evicted(&self, place: usize) -> Option<Evicted> {
        let halves = self.halves_of(place);
        let is_dirty = self.halves[halves.clone()].iter().any(|half| half.dirty != 0);
        if is_dirty { self.dirty_halves(halves) } else { None }
    }

    #[inline(never)]
    fn dirty_halves(&self, halves: std::ops::Range<usize>) -> Option<Evicted> {
        let mut evicted = None;
        for half in halves.rev() {
            let Half { dirty, .. } = self.halves[half];
            if dirty != 0 {
                let (way, rest) = (WayId(half as u32), evicted.map(Box::new));
                let (line, data) = (self.message_of(way), Values::from(&self.data[half]));
                evicted = Some(Evicted { way, line, dirty, data, rest });
            }
        }
        evicted
    }

    /// Sets whether a line is protected, which makes it a victim only after all others; a set at its limit of protected lines
    /// protects no more.
    pub fn protect(&mut self, way: WayId, is_protected: bool) {
        let place = self.place(way);
        let first = place - place % self.ways;
        self.tags[place].used &= !PROTECTED;
        let protected =
            || self.tags[first..first + self.ways].iter().filter(|way| way.is_protected()).count();
        let has_room = self.protected_ways >= self.ways || protected() < self.protected_ways;
        self.tags[place].used |= u64::from(is_protected && has_room) * PROTECTED;
    }

    /// Limits the protected lines of a set to `ways`.
    pub fn protect_at_most(&mut self, ways: u32) {
        self.protected_ways = ways as usize;
    }

    /// The ways that hold lines.
    pub fn taken(&self) -> impl Iterator<Item = WayId> + '_ {
        let taken = self.lines.iter().enumerate().filter(|(_, line)| **line != NO_LINE);
        taken.flat_map(|(place, _)| self.halves_of(place).map(|half| WayId(half as u32)))
    }

    /// Whether a way holds a line.
    pub fn is_taken(&self, way: WayId) -> bool {
        self.lines[self.place(way)] != NO_LINE
    }

    /// Number of ways, each half of a line of 256 bytes by itself.
    pub fn ways(&self) -> usize {
        self.halves.len()
    }

    /// The bytes of the line that are here.
    #[inline]
    pub fn valid(&self, way: WayId) -> ByteMask {
        self.halves[way.index()].valid
    }

    /// The bytes of the line that memory does not have yet.
    pub fn dirty(&self, way: WayId) -> ByteMask {
        self.halves[way.index()].dirty
    }

    /// The values of the line; meaningful where valid.
    #[inline]
    pub fn data(&self, way: WayId) -> &Line {
        &self.data[way.0 as usize]
    }

    /// Writes bytes that memory does not have.
    pub fn write(&mut self, way: WayId, mask: ByteMask, data: &Line) {
        merge(&mut self.data[way.0 as usize], mask, data);
        let way = &mut self.halves[way.index()];
        way.valid |= mask;
        way.dirty |= mask;
    }

    /// Writes bytes that memory gets as well.
    pub fn update(&mut self, way: WayId, mask: ByteMask, data: &Line) {
        merge(&mut self.data[way.0 as usize], mask, data);
        let way = &mut self.halves[way.index()];
        way.valid |= mask;
        way.dirty &= !mask;
    }

    /// Cleans a line: returns its dirty bytes, for a write to memory.
    pub fn clean(&mut self, way: WayId) -> Option<Evicted> {
        let dirty = std::mem::take(&mut self.halves[way.index()].dirty);
        let (line, data) = (self.message_of(way), &self.data[way.index()]);
        (dirty != 0).then(|| Evicted { way, line, dirty, data: Values::from(data), rest: None })
    }

    /// Invalidates bytes of a line, none of which is dirty. The line keeps its way.
    pub fn forget(&mut self, way: WayId, bytes: ByteMask) {
        self.halves[way.index()].valid &= !bytes;
    }

    /// Puts a line that memory has, too, into an empty way or in the place of the one that was used least recently, which
    /// must not differ from memory. For a cache that is warm before time 0; [`Cache::give_values`] follows.
    pub fn warm(&mut self, address: u64, within: u64) {
        let way = match self.find(address, within) {
            Some(way) => {
                self.touch(way);
                Some(way)
            }
            None => self.allocate(address, within).map(|(way, _)| way),
        };
        if let Some(way) = way {
            self.halves[way.index()].valid = self.size.bytes_of(address);
        }
    }

    /// Sets the values of each line that is here, by the address of its message.
    pub fn give_values(&mut self, mut give: impl FnMut(u64, &mut Line)) {
        for half in 0..self.halves.len() {
            let way = WayId(half as u32);
            if self.is_taken(way) {
                give(self.message_of(way), &mut self.data[half]);
            }
        }
    }

    /// Forgets a line, with both halves; a miss under way for it still ends, for those that wait.
    #[inline]
    pub fn invalidate(&mut self, way: WayId) {
        let place = self.place(way);
        let held = std::mem::replace(&mut self.lines[place], NO_LINE);
        self.held -= usize::from(held != NO_LINE);
        self.taken[place / 64] &= !(1 << (place % 64));
        self.tags[place].used = 0;
        self.clear(place);
    }

    /// No byte of a line is valid.
    #[inline]
    fn clear(&mut self, place: usize) {
        let halves = self.halves_of(place);
        for half in &mut self.halves[halves] {
            (half.valid, half.dirty) = (0, 0);
        }
    }

    /// Forgets every line that memory has, too.
    pub fn invalidate_clean(&mut self) {
        // Each launch and each acquire calls this, often on a cache with few lines.
        for word in 0..self.taken.len() {
            let mut left = self.taken[word];
            while left != 0 {
                let halves = self.halves_of(64 * word + left.trailing_zeros() as usize);
                left &= left - 1;
                let first = WayId(halves.start as u32);
                if self.halves[halves].iter().all(|half| half.dirty == 0) {
                    self.invalidate(first);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
