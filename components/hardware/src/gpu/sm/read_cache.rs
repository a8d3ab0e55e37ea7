//! A read-only cache: of instructions, of constants and kernel parameters, or of texels.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Out;
use counterpoint_framework::model::{Counter, Invalid, Stats};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::memory::{ByteMask, Label, Line, MemAccess, MemRequest, fresh_at, line_of};

use super::answer::Answer;
use super::params::ReadCacheParams;
use crate::memory::cache::{Cache, CacheParams, Found, LineSize, SetIndex, WayId};

pub(super) enum Lookup<'a> {
    Hit(&'a Line),
    /// The line is absent and has been requested; the reader waits for it.
    Missed,
    /// The line is on its way already; the reader waits for it.
    Joined,
    /// No access can wait before an answer has arrived.
    Blocked,
}

/// Statistics of a read-only cache, under GPGPU-Sim's names.
#[derive(Default, Stats)]
pub(super) struct ReadCacheStats {
    /// Lookups.
    #[stat(name = "total_cache_accesses", unit = "accesses")]
    accesses: Counter,
    /// Lookups that missed.
    #[stat(name = "total_cache_misses", unit = "accesses")]
    misses: Counter,
    /// Lookups that joined a miss under way.
    #[stat(name = "total_cache_pending_hits", unit = "accesses")]
    pending_hits: Counter,
    /// Lookups that could not allocate a miss entry or join a miss, and were repeated.
    #[stat(name = "total_cache_reservation_fails", unit = "cycles")]
    reservation_fails: Counter,
}

impl ReadCacheStats {
    /// Counts a lookup; false if it has to be made again.
    #[inline]
    pub(super) fn count(&self, lookup: &Lookup<'_>) -> bool {
        match lookup {
            Lookup::Blocked => {
                self.reservation_fails.add(1);
                return false;
            }
            Lookup::Hit(_) => {}
            Lookup::Missed => self.misses.add(1),
            Lookup::Joined => self.pending_hits.add(1),
        }
        self.accesses.add(1);
        true
    }
}

/// Lines whose ways are remembered.
const LAST: usize = 8;

/// A cache that is only read, where `T` waits for lines.
pub(super) struct ReadCache<T> {
    cache: Cache<T>,
    perfect: bool,
    /// Makes the tag of a miss.
    answer: fn(u32) -> Answer,
    /// Ways of the lines that were read last, by the number of the line: most reads hit one of them again. Lines arrive whole, so a line
    /// with any valid byte is wholly valid.
    last: [Option<WayId>; LAST],
    /// Requests that have not left.
    requests: VecDeque<MemRequest>,
    /// The instant from which on lines that are requested must be known: that of the last launch.
    fresh: SimTime,
}

impl<T> ReadCache<T> {
    pub(super) fn new(params: &ReadCacheParams, answer: fn(u32) -> Answer) -> Result<Self, Invalid> {
        let cache = CacheParams {
            capacity: params.capacity,
            ways: params.ways,
            line: params.line,
            mshrs: params.mshrs,
            merges: params.merges,
            set_index: SetIndex::Linear,
        };
        Ok(ReadCache {
            cache: Cache::new(&cache)?,
            perfect: params.perfect,
            answer,
            last: [None; LAST],
            requests: VecDeque::new(),
            fresh: SimTime::ZERO,
        })
    }

    #[inline]
    pub(super) fn is_perfect(&self) -> bool {
        self.perfect
    }

    /// The size of its lines.
    #[inline]
    pub(super) fn size(&self) -> LineSize {
        self.cache.size()
    }

    /// The values of the line that holds an address, if the line is here, at their offsets within 128 bytes.
    pub(super) fn peek(&self, address: u64) -> Option<&Line> {
        let way = self.cache.find(address, address)?;
        self.cache.holds(way, address).then(|| self.cache.data(way))
    }

    /// Looks up the line that holds an address.
    #[inline]
    pub(super) fn look_up(&mut self, address: u64, label: Label, waiter: impl FnOnce() -> T) -> Lookup<'_> {
        if let Some(last) = self.last[self.cache.size().number(address) as usize % LAST]
            && self.cache.holds(last, address)
        {
            self.cache.touch(last);
            return Lookup::Hit(self.cache.data(last));
        }
        self.search(address, label, waiter)
    }

    #[inline(never)]
    fn search(&mut self, address: u64, label: Label, waiter: impl FnOnce() -> T) -> Lookup<'_> {
        let bytes = self.cache.size().bytes_of(address);
        match self.cache.seek(address, address, bytes) {
            Found::Here(way) => {
                self.cache.touch(way);
                self.last[self.cache.size().number(address) as usize % LAST] = Some(way);
                Lookup::Hit(self.cache.data(way))
            }
            Found::Pending(way) => {
                if self.cache.can_join(way) && self.cache.join_miss(way, waiter()).is_ok() {
                    Lookup::Joined
                } else {
                    Lookup::Blocked
                }
            }
            Found::Absent(_) => {
                if !self.cache.has_free_miss() {
                    return Lookup::Blocked;
                }
                let Some((way, _)) = self.cache.allocate(address, address) else { return Lookup::Blocked };
                let miss = self.cache.begin_miss(way, waiter());
                self.request(address, bytes, label, miss);
                if let Some((other, address)) = self.cache.other_half(way) {
                    let miss = self.cache.begin_prefetch(other);
                    self.request(address, ByteMask::MAX, label, miss);
                }
                Lookup::Missed
            }
        }
    }

    fn request(&mut self, address: u64, bytes: ByteMask, label: Label, miss: u32) {
        let (line, tag, fresh) = (line_of(address), (self.answer)(miss).tag(), fresh_at(self.fresh));
        let access = MemAccess::Read(bytes);
        self.requests.push_back(MemRequest { line, tag, client: 0, label, fresh, access });
    }

    /// Another launch begins at `now`.
    pub(super) fn launch_changed(&mut self, now: SimTime) {
        self.fresh = now;
    }

    /// Invalidates every line.
    pub(super) fn invalidate(&mut self) {
        self.cache.invalidate_clean();
    }

    /// Whether a request waits for credit.
    #[inline]
    pub(super) fn wants_credit(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Sends the requests that have not left, as far as there is credit.
    #[inline]
    pub(super) fn send(&mut self, memory: &mut Out<MemRequest>) {
        while !self.requests.is_empty()
            && let Some(permit) = memory.try_reserve()
            && let Some(request) = self.requests.pop_front()
        {
            permit.send(request);
        }
    }

    /// A line has arrived; returns the accesses that waited for it.
    pub(super) fn fill(&mut self, miss: u32, mask: ByteMask, data: &Line) -> Vec<T> {
        self.cache.end_miss(miss, mask, data).1
    }

    /// Takes back the list of those that waited, for another miss.
    pub(super) fn give_back(&mut self, list: Vec<T>) {
        self.cache.give_back(list);
    }
}
