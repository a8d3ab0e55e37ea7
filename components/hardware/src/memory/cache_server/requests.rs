//! Requests of a cache: those that it answers from its lines, those that fetch, and those that it passes to memory.

use counterpoint_framework::model::Context;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::memory::{
    AtomicLane, ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply, MemRequest, MemResult, SECTOR_BYTES,
    Tag, known_at, sectors,
};

use super::{Atomics, CacheServer, PASSED, WRITE_BACK, WriteMiss, parts};
use crate::memory::atomic;
use crate::memory::cache::WayId;
use crate::memory::cache::prefetch::LookedUp;
use crate::memory::cache::write_policy::WriteTo;
use crate::memory::cache_stats::{CacheCounts, CacheStats, Count};

impl CacheServer {
    /// The bytes that must be here before an access can be done.
    fn wanted(&self, access: &MemAccess) -> ByteMask {
        match access {
            MemAccess::Read(mask) => *mask,
            MemAccess::Atomic(lanes) if matches!(self.atomics, Atomics::Here(_)) => AtomicLane::bytes(lanes),
            MemAccess::Write(mask, _)
                if self.shape.write_miss == WriteMiss::Fetch && self.policies.write.is_none() =>
            {
                whole(*mask, self.shape.sector)
            }
            MemAccess::Write(..) | MemAccess::Atomic(_) => 0,
        }
    }

    /// Destination of an access that does not end in this cache; `None`: the access ends here.
    #[inline]
    fn destination(&mut self, access: &MemAccess, here: bool) -> Option<WriteTo> {
        match access {
            MemAccess::Write(..) => {
                let to = self.policies.write.as_mut().map(|policy| policy.write(here));
                to.filter(|to| *to != WriteTo::Cache)
            }
            MemAccess::Atomic(_) if matches!(self.atomics, Atomics::Behind) => Some(WriteTo::Memory),
            MemAccess::Read(_) | MemAccess::Atomic(_) => None,
        }
    }

    /// The bytes of a line that a request may see. Clean ones that were fetched too early are invalidated.
    #[inline]
    fn visible(&mut self, way: WayId, request: &MemRequest) -> ByteMask {
        if let Some(known) = &self.known_since
            && known[way.index()] < request.fresh
        {
            self.cache.forget(way, !self.cache.dirty(way));
        }
        self.cache.valid(way)
    }

    /// Passes a request to memory. The bytes of its line here that it touches are written as well, or invalidated.
    fn pass(
        &mut self,
        way: Option<WayId>,
        to: WriteTo,
        request: MemRequest,
        sim: &Context<impl CacheStats>,
        counts: &impl CacheCounts,
    ) {
        sim.trace(|| format!("passes on {} of {:#x}", name(&request.access), request.line));
        counts.add(Count::Passed, 1);
        let touched = match &request.access {
            MemAccess::Read(_) => {
                counts.add(Count::Reads, 1);
                0
            }
            MemAccess::Write(mask, data) => {
                counts.add(Count::Writes, 1);
                if let Some(log) = &self.log {
                    log.on_device(sim.now(), sim.path(), request.line, *mask, data);
                }
                *mask
            }
            MemAccess::Atomic(lanes) => {
                counts.add(Count::Atomics, 1);
                AtomicLane::bytes(lanes)
            }
        };
        match (way, to, &request.access) {
            (Some(way), WriteTo::Both { .. }, MemAccess::Write(mask, data)) => {
                let dirty = self.cache.dirty(way);
                counts.add(Count::Cleaned, u64::from(sectors(dirty) - sectors(dirty & !mask)));
                self.cache.update(way, *mask, data);
            }
            (Some(way), ..) => {
                if self.cache.dirty(way) & touched != 0 {
                    let dirty = self.cache.clean(way);
                    self.write_back(dirty, sim);
                }
                self.cache.forget(way, touched);
            }
            (None, ..) => {}
        }
        let tag = Tag(PASSED | self.passed.insert((request.tag, request.client)));
        self.to_memory.push_back(MemRequest { tag, client: 0, ..request });
    }

    /// Notes that bytes of a line are fetched now.
    #[inline]
    pub(super) fn note_fetch(&mut self, way: WayId, now: SimTime) {
        if let Some(known) = &mut self.known_since
            && self.cache.valid(way) & !self.cache.dirty(way) == 0
        {
            known[way.index()] = known_at(now);
        }
    }

    /// Handles a request; gives it back if it cannot be handled now.
    pub(super) fn handle(
        &mut self,
        request: MemRequest,
        cycle: u64,
        sim: &Context<impl CacheStats>,
        counts: &impl CacheCounts,
    ) -> Option<MemRequest> {
        let address = self.address(&request);
        let within = self.shape.map.within_slice(address);
        let found = self.cache.find(address, within);
        // Behind a miss everything keeps its order: a store must not overtake a load that waits.
        if let Some(way) = found
            && self.cache.is_pending(way)
        {
            let MemRequest { line, label, client, .. } = request;
            let is_read = matches!(request.access, MemAccess::Read(_));
            let refused = self.cache.join_miss(way, request).err();
            counts.add(Count::PendingHits, u64::from(refused.is_none()));
            if is_read && refused.is_none() {
                self.foresee(self.looked_up(address, true, label, client));
            }
            sim.trace(|| {
                format!("{} {line:#x}", if refused.is_none() { "pending hit" } else { "no room behind" })
            });
            return refused;
        }
        let here = found.map_or(0, |way| self.visible(way, &request));
        if let Some(to) = self.destination(&request.access, found.is_some()) {
            let way = match to {
                WriteTo::Both { allocate: true } if found.is_none() => {
                    let way = self.allocate(address, within, sim);
                    if way.is_none() {
                        return Some(request);
                    }
                    way
                }
                _ => found,
            };
            counts.add(Count::Misses, sectors(unknown(&request.access, here)).into());
            self.pass(way, to, request, sim, counts);
            return None;
        }
        let missing = self.wanted(&request.access) & !here;
        if let (Atomics::Here(Some(unit)), MemAccess::Atomic(_)) = (&mut self.atomics, &request.access)
            && let Some(until) = unit.full_until(cycle)
        {
            self.free = until;
            return Some(request);
        }
        if missing != 0 && !self.cache.has_free_miss() {
            return Some(request);
        }
        let MemRequest { label, client, .. } = request;
        let is_read = matches!(request.access, MemAccess::Read(_));
        if found.is_none()
            && is_read
            && self.policies.bypass.as_mut().is_some_and(|bypass| bypass.passes(&request))
        {
            counts.add(Count::Misses, sectors(missing).into());
            self.pass(None, WriteTo::Memory, request, sim, counts);
            return None;
        }
        let way = match found {
            Some(way) => {
                self.cache.touch(way);
                way
            }
            None => match self.allocate(address, within, sim) {
                Some(way) => way,
                None => return Some(request),
            },
        };
        let missed = missing | unknown(&request.access, here);
        counts.add(Count::Misses, sectors(missed).into());
        sim.trace(|| {
            let what = if missed == 0 { "hit" } else { "miss" };
            format!("{what} {:#x} on {} of client {}", request.line, name(&request.access), request.client)
        });
        if missing == 0 {
            self.finish(way, request, (cycle + self.shape.hit_latency, 0), sim, counts);
        } else {
            self.fetch(way, request, sim.now());
        }
        if is_read {
            self.foresee(self.looked_up(address, missing == 0, label, client));
        }
        None
    }

    fn fetch(&mut self, way: WayId, request: MemRequest, now: SimTime) {
        self.note_fetch(way, now);
        let MemRequest { line, label, fresh, .. } = request;
        let access =
            MemAccess::Read(whole(self.wanted(&request.access) & !self.cache.valid(way), self.shape.sector));
        let tag = Tag(self.cache.begin_miss(way, request));
        self.to_memory.push_back(MemRequest { line, tag, client: 0, label, fresh, access });
        if u64::from(self.shape.sector) > LINE_BYTES
            && let Some(other) = self.cache.other_half(way)
        {
            self.fetch_unasked(other, ByteMask::MAX, (label, fresh), now);
        }
    }

    /// An address in the line of a request.
    #[inline]
    fn address(&self, request: &MemRequest) -> u64 {
        if self.parts.is_none() { request.line } else { request.line + parts::first_byte(&request.access) }
    }

    /// A read that has looked up the line at an address.
    #[inline]
    fn looked_up(&self, address: u64, hit: bool, label: Label, client: u32) -> LookedUp {
        let size = self.cache.size();
        LookedUp { line: size.line_of(address), line_bytes: size.bytes(), hit, label, client }
    }

    /// Executes a request, all bytes of which are here; the reply is ready at `ready`. `far` is the sectors fetched for it.
    fn finish(
        &mut self,
        way: WayId,
        request: MemRequest,
        (mut ready, mut far): (u64, u8),
        sim: &Context<impl CacheStats>,
        counts: &impl CacheCounts,
    ) {
        let MemRequest { line, tag, client, label, access, .. } = request;
        let result = match access {
            MemAccess::Read(mask) => {
                counts.add(Count::Reads, 1);
                MemResult::Line(mask, self.cache.data(way).into())
            }
            MemAccess::Write(mask, data) => {
                counts.add(Count::Writes, 1);
                self.write(way, label, (line, mask, &*data), sim, counts);
                far += sectors(mask) as u8;
                MemResult::Written(sectors(mask) as u8)
            }
            MemAccess::Atomic(lanes) => {
                far += sectors(AtomicLane::bytes(&lanes)) as u8;
                counts.add(Count::Atomics, 1);
                let mut data: Line = *self.cache.data(way);
                let old = atomic::execute(&mut data, &lanes);
                self.write(way, label, (line, AtomicLane::bytes(&lanes), &data), sim, counts);
                if let Atomics::Here(Some(unit)) = &mut self.atomics {
                    let cycle = sim.cycle();
                    let through = unit.take(line, &lanes, cycle);
                    // A lane that is through in its first cycle is as fast as a read.
                    ready += through - cycle - 1;
                    counts.add(Count::AtomicCycles, through - cycle);
                }
                MemResult::Old(old)
            }
        };
        self.reply(ready, MemReply { line, tag, client, result, far });
    }

    /// Takes what memory answered.
    pub(super) fn answer(&mut self, reply: MemReply, cycle: u64, sim: &Context<impl CacheStats>) {
        if reply.tag != WRITE_BACK && reply.tag.0 & PASSED != 0 {
            let (tag, client) = self.passed.take(reply.tag.0 & !PASSED);
            self.reply(cycle + 1, MemReply { tag, client, ..reply });
        } else {
            self.fill(reply, cycle, sim);
        }
    }

    /// Takes bytes of a line.
    fn fill(&mut self, reply: MemReply, cycle: u64, sim: &Context<impl CacheStats>) {
        let MemResult::Line(mask, data) = reply.result else { return };
        sim.trace(|| format!("fill {:#x}", reply.line));
        let (way, mut list) = self.cache.end_miss(reply.tag.0, mask, &data);
        let way = way.expect("lines stay while they wait");
        let mut waiting = list.drain(..);
        // The first one asked for what has come.
        let mut far = sectors(mask) as u8;
        for request in waiting.by_ref() {
            if self.wanted(&request.access) & !self.visible(way, &request) == 0 {
                let (counts, fetched) = (sim.stats.by_label().of(request.label), std::mem::take(&mut far));
                match self.destination(&request.access, true) {
                    Some(to) => self.pass(Some(way), to, request, sim, &*counts),
                    None => self.finish(way, request, (cycle + 1, fetched), sim, &*counts),
                }
                continue;
            }
            // The request joined for other sectors of the line: fetch them, with all requests behind it.
            self.fetch(way, request, sim.now());
            break;
        }
        for request in waiting {
            let joined = self.cache.join_miss(way, request);
            assert!(joined.is_ok(), "fewer wait than before");
        }
        self.cache.give_back(list);
    }
}

/// An access in a word, for the log.
fn name(access: &MemAccess) -> &'static str {
    match access {
        MemAccess::Read(_) => "a read",
        MemAccess::Write(..) => "a write",
        MemAccess::Atomic(_) => "an atomic",
    }
}

/// The bytes that an access writes in sectors with no byte here.
fn unknown(access: &MemAccess, here: ByteMask) -> ByteMask {
    match access {
        MemAccess::Write(mask, _) => mask & !whole(here, SECTOR_BYTES as u32),
        MemAccess::Read(_) | MemAccess::Atomic(_) => 0,
    }
}

/// The whole sectors of `sector` bytes that contain the given bytes.
fn whole(mask: ByteMask, sector: u32) -> ByteMask {
    let all = if sector >= 128 { ByteMask::MAX } else { (1 << sector) - 1 };
    let each = (0..LINE_BYTES as u32).step_by(sector as usize).map(|start| all << start);
    each.filter(|sector| sector & mask != 0).fold(0, |sum, sector| sum | sector)
}
