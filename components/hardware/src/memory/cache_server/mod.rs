//! A cache at run time, between its clients and memory: the common part of an L2 slice and a cache of any other level.
//!
//! Valid and dirty state is kept per byte; misses fetch whole sectors. A request occupies the cache for a cycle a sector of
//! 32 bytes; a fill is taken beside it. A request that the cache does not execute itself goes to memory, and the answer
//! back to the client.

mod parts;
mod requests;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, In, Recall, Source};
use counterpoint_framework::model::{Choice, Context, Invalid, Ports, Slot};
use counterpoint_framework::time::{Bytes, SimTime};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply, MemRequest, MemoryClient, MemoryServer, Packets,
    Tag, fresh_at, line_of, sectors, word_of,
};
use counterpoint_protocols::preload::Preloaded;
use counterpoint_protocols::write_log::WriteLog;

use super::address_map::AddressMap;
use super::atomic_unit::AtomicUnit;
use super::cache::bypass::Bypass;
use super::cache::prefetch::queue::Prefetches;
use super::cache::prefetch::{LookedUp, Prefetcher};
use super::cache::write_policy::WritePolicy;
use super::cache::{Cache, CacheParams, Evicted, WayId};
use super::cache_stats::{CacheCounts, CacheStats, Count};
use super::line_rule::LineRule;
use super::table::Table;
use parts::Parts;

/// Treatment of a write to missing sectors by a write-back cache.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteMiss {
    /// The cache keeps the written bytes; a later read fetches the rest of the line.
    Validate,
    /// The cache fetches the touched sectors before the write completes.
    Fetch,
}

/// The ports of a cache.
#[derive(Ports)]
pub struct CachePorts {
    /// Accesses from the network, and the answers to them.
    pub(super) requests: MemoryServer,
    /// Line traffic to memory.
    pub(super) memory: MemoryClient,
}

/// Shape and timing of a cache.
pub(super) struct Shape {
    pub(super) map: AddressMap,
    /// Bytes fetched together on a miss.
    pub(super) sector: u32,
    pub(super) write_miss: WriteMiss,
    /// Cycles from taking a request to its reply leaving, on a hit.
    pub(super) hit_latency: u64,
}

/// Policies of a cache; those that are not here cost nothing.
#[derive(Default)]
pub(super) struct Policies {
    /// Policy of writes; without it, writes go into the cache.
    pub(super) write: Option<Box<dyn WritePolicy>>,
    pub(super) prefetcher: Option<Prefetches>,
    pub(super) bypass: Option<Box<dyn Bypass>>,
    /// The rule for tags of lines.
    pub(super) rule: Option<Box<dyn LineRule>>,
}

/// Place of execution of atomics.
pub(super) enum Atomics {
    /// In this cache; by a unit if atomics take longer than reads.
    Here(Option<AtomicUnit>),
    /// Nearer to memory.
    Behind,
}

/// A cache that runs.
pub(super) struct CacheServer {
    cache: Cache<MemRequest>,
    shape: Shape,
    pub(super) policies: Policies,
    atomics: Atomics,
    /// Lines to be written back and dropped, if they still bear the tag.
    flushing: VecDeque<(WayId, LineTag)>,
    /// For each way, the label of the request that wrote it last.
    writers: Vec<Label>,
    /// For each way, the instant from which on its clean bytes are known, where other caches write to the same memory.
    known_since: Option<Vec<u32>>,
    /// Preloaded lines that have not been put into this cache yet.
    pub(super) cold: Option<Arc<Preloaded>>,
    /// Log of writes to watched buffers.
    pub(super) log: Option<Arc<WriteLog>>,
    /// The cache takes the next request in this cycle.
    free: u64,
    /// A request that was refused.
    held: Option<MemRequest>,
    /// Requests by lines, where a request may be about several.
    parts: Option<Parts>,
    /// Requests that were passed to memory: the tags of their clients for them.
    passed: Table<(Tag, u32)>,
    to_memory: VecDeque<MemRequest>,
    /// Replies that have no credit yet, with the cycle in which they were ready.
    replies: VecDeque<(u64, MemReply)>,
}

/// Replies and fetches that may wait for credit before new requests are held back.
const OUTGOING: usize = 16;
/// The tag of a write-back: nobody waits for its answer.
const WRITE_BACK: Tag = Tag(u32::MAX);
/// Bit in the tags of requests that were passed to memory; tags of misses do not have it.
const PASSED: u32 = 1 << 31;

impl CacheServer {
    /// An empty cache. A `private` one shares memory with caches that it does not observe.
    pub(super) fn new(cache: Cache<MemRequest>, shape: Shape, atomics: Atomics, private: bool) -> Self {
        CacheServer {
            writers: vec![Label::default(); cache.ways()],
            known_since: private.then(|| vec![0; cache.ways()]),
            parts: cache.size().divides_messages().then(|| Parts::new(cache.size())),
            cache,
            shape,
            policies: Policies::default(),
            atomics,
            flushing: VecDeque::new(),
            cold: None,
            log: None,
            free: 0,
            held: None,
            passed: Table::default(),
            to_memory: VecDeque::new(),
            replies: VecDeque::new(),
        }
    }

    /// The word at an address, for the report of a run that hangs.
    fn recall(&self, address: u64, level: u8) -> Option<Recall> {
        let way = self.cache.find(address, self.shape.map.within_slice(address))?;
        let here = self.cache.valid(way) >> (address - line_of(address)) & 0xf == 0xf;
        here.then(|| Recall { level, contents: word_of(self.cache.data(way), address) })
    }

    /// Puts preloaded lines into the cache, as far as they belong to the slice of `line`.
    #[cold]
    fn warm_up(&mut self, line: u64, preloaded: &Preloaded, path: &str) {
        let own = self.shape.map.slice(line);
        let each = self.cache.size().transfer() as usize;
        for line in preloaded.lines(path).into_iter().filter(|&line| self.shape.map.slice(line) == own) {
            for line in (line..line + LINE_BYTES).step_by(each) {
                self.cache.warm(line, self.shape.map.within_slice(line));
            }
        }
        self.cache.give_values(|line, data| _ = preloaded.fill(path, line, data));
    }

    /// A way for a line that is not here. `None`: every way of its set waits.
    fn allocate(&mut self, address: u64, within: u64, sim: &Context<impl CacheStats>) -> Option<WayId> {
        let (way, evicted) = self.cache.allocate(address, within)?;
        self.write_back(evicted, sim);
        Some(way)
    }

    /// Sends the contents of an evicted line to memory.
    fn write_back(&mut self, mut evicted: Option<Evicted>, sim: &Context<impl CacheStats>) {
        while let Some(Evicted { way, line, dirty, data, rest }) = evicted {
            let label = self.writers[way.index()];
            let counts = sim.stats.by_label().of(label);
            counts.add(Count::WriteBacks, 1);
            counts.add(Count::Cleaned, sectors(dirty).into());
            sim.trace(|| format!("evicts {line:#x} and writes it back"));
            let access = MemAccess::Write(dirty, data);
            let (tag, fresh) = (WRITE_BACK, 0);
            self.to_memory.push_back(MemRequest { line, tag, client: 0, label, fresh, access });
            evicted = rest.map(|rest| *rest);
        }
    }

    /// Writes bytes of a line, and notes the writer.
    fn write(
        &mut self,
        way: WayId,
        label: Label,
        (line, mask, data): (u64, ByteMask, &Line),
        sim: &Context<impl CacheStats>,
        counts: &impl CacheCounts,
    ) {
        let dirty = self.cache.dirty(way);
        counts.add(Count::Dirtied, u64::from(sectors(dirty | mask) - sectors(dirty)));
        self.cache.write(way, mask, data);
        if let Some(log) = &self.log {
            log.on_device(sim.now(), sim.path(), line, mask, data);
        }
        self.writers[way.index()] = label;
        if let Some(rule) = &self.policies.rule {
            self.cache.protect(way, rule.protects(label.tag));
        }
    }

    /// Marks the lines that the rule drops.
    fn mark(&mut self) {
        while let Some(tag) = self.policies.rule.as_mut().and_then(|rule| rule.dropped()) {
            let writers = &self.writers;
            let marked = self.cache.taken().filter(|way| writers[way.index()].tag == tag);
            self.flushing.extend(marked.map(|way| (way, tag)));
        }
    }

    /// Drops a line that was marked, if one is left. One that waits for other sectors has its turn later.
    fn flush(&mut self, sim: &Context<impl CacheStats>) {
        while let Some((way, tag)) = self.flushing.pop_front() {
            if !self.cache.is_taken(way) || self.writers[way.index()].tag != tag {
                continue;
            }
            if self.cache.is_line_pending(way) {
                self.flushing.push_back((way, tag));
                return;
            }
            sim.stats.by_label().of(self.writers[way.index()]).add(Count::Flushed, 1);
            let evicted = self.cache.take(way);
            self.write_back(evicted, sim);
            return;
        }
    }

    /// Notifies the prefetcher of a read.
    #[inline]
    fn foresee(&mut self, read: LookedUp) {
        let CacheServer { policies, shape, .. } = self;
        if let Some(prefetches) = &mut policies.prefetcher {
            let slice = shape.map.slice(read.line);
            prefetches.note(&read, |line| shape.map.slice(line) == slice);
        }
    }

    /// Whether a line can be prefetched.
    fn can_prefetch(&self) -> bool {
        let wants = self.policies.prefetcher.as_ref().is_some_and(|prefetches| !prefetches.is_empty());
        wants && self.to_memory.len() < OUTGOING && self.cache.has_free_miss()
    }

    /// Fetches the next line that the prefetcher wants and that is not here.
    fn prefetch(&mut self, sim: &Context<impl CacheStats>) {
        loop {
            let CacheServer { policies, shape, cache, .. } = self;
            let within = |line| shape.map.within_slice(line);
            let here = |line| cache.find(line, within(line)).is_some();
            let Some((line, label)) = policies.prefetcher.as_mut().and_then(|one| one.next(here)) else {
                return;
            };
            let within = within(line);
            let Some((way, evicted)) = self.cache.allocate_prefetched(line, within) else { continue };
            self.write_back(evicted, sim);
            sim.trace(|| format!("prefetches {line:#x}"));
            sim.stats.by_label().of(label).add(Count::Prefetches, 1);
            let (bytes, fresh) = (self.cache.size().bytes_of(line), fresh_at(sim.now()));
            self.fetch_unasked((way, line), bytes, (label, fresh), sim.now());
            if let Some(other) = self.cache.other_half(way) {
                self.fetch_unasked(other, ByteMask::MAX, (label, fresh), sim.now());
            }
            return;
        }
    }

    /// Fetches bytes of a line without a waiting request.
    fn fetch_unasked(
        &mut self,
        (way, address): (WayId, u64),
        bytes: ByteMask,
        (label, fresh): (Label, u32),
        now: SimTime,
    ) {
        let tag = Tag(self.cache.begin_prefetch(way));
        self.note_fetch(way, now);
        let (line, access) = (line_of(address), MemAccess::Read(bytes));
        self.to_memory.push_back(MemRequest { line, tag, client: 0, label, fresh, access });
    }

    /// The next request, about one line.
    #[inline]
    fn take(&mut self, requests: &mut In<MemRequest>) -> Option<MemRequest> {
        match &mut self.parts {
            None => requests.try_recv(),
            Some(parts) => parts.take_next().or_else(|| parts.divide(requests.try_recv()?)),
        }
    }

    /// Answers a request, or a part of one; the answer is ready in a given cycle.
    #[inline(always)]
    fn reply(&mut self, ready: u64, reply: MemReply) {
        match &mut self.parts {
            None => self.replies.push_back((ready, reply)),
            Some(parts) => self.replies.extend(parts.join(ready, reply)),
        }
    }

    /// Executes a cycle: a fill, a flush, a request, and the messages that have credit.
    fn step(&mut self, io: &mut CachePorts, sim: &Context<impl CacheStats>) -> Pause {
        let cycle = sim.cycle();
        if let Some(reply) = io.memory.rx.try_recv() {
            self.answer(reply, cycle, sim);
        }
        if self.policies.rule.is_some() {
            self.mark();
        }
        if !self.flushing.is_empty() && self.to_memory.len() < OUTGOING {
            self.flush(sim);
        }
        let (first_time, mut refused) = (self.held.is_none(), false);
        if self.free <= cycle
            && self.replies.len() < OUTGOING
            && self.to_memory.len() < OUTGOING
            && let Some(request) = self.held.take().or_else(|| self.take(&mut io.requests.rx))
        {
            if let Some(preloaded) = self.cold.take() {
                // The buffers have their addresses when the first request arrives, whose address identifies the slice.
                self.warm_up(request.line, &preloaded, sim.path());
            }
            let sectors = u64::from(request.sectors().0);
            let counts = sim.stats.by_label().of(request.label);
            if first_time {
                counts.add(Count::Accesses, sectors);
            }
            let given_back = self.handle(request, cycle, sim, &*counts);
            refused = given_back.is_some();
            if refused {
                self.held = given_back;
            } else {
                self.free = cycle + sectors;
            }
            counts.add(Count::ReservationFails, u64::from(refused));
        }
        if self.can_prefetch() {
            self.prefetch(sim);
        }
        while let Some((ready, _)) = self.replies.front()
            && let Some(permit) = io.requests.tx.try_reserve()
        {
            let wait = if *ready > cycle { sim.span(*ready - cycle) } else { SimTime::ZERO };
            if let Some((_, reply)) = self.replies.pop_front() {
                permit.send_after(wait, reply);
            }
        }
        while !self.to_memory.is_empty()
            && let Some(permit) = io.memory.tx.try_reserve()
        {
            if let Some(request) = self.to_memory.pop_front() {
                permit.send(request);
            }
        }
        let room = self.replies.len() < OUTGOING && self.to_memory.len() < OUTGOING;
        let occupied = self.free > cycle + 1;
        let accepting = self.held.is_none() && room;
        // A request that was refused can continue once a fill has freed a resource. A request that was not tried, because
        // outgoing messages had piled up, continues now that they have left.
        let untried = self.held.is_some() && !refused && room;
        let leaving = !self.replies.is_empty() || !self.to_memory.is_empty();
        let flushing = !self.flushing.is_empty() && self.to_memory.len() < OUTGOING || self.can_prefetch();
        let divided = self.parts.as_ref().is_some_and(Parts::has_next);
        let under_way = self.cache.has_misses() || !self.passed.is_empty();
        sim.set_busy(self.held.is_some() || divided || leaving || flushing || under_way);
        // While the cache is occupied a request wakes it only if it comes later than the cache is free.
        let free = || sim.cycles_from_now(self.free.max(cycle + 1) - cycle);
        let waiting = occupied && accepting && io.requests.rx.due().is_some_and(|due| due <= free());
        // A request for which the unit of atomics is full continues when the unit has a free slot.
        let full = refused && self.free > cycle;
        let again = untried || full || waiting || divided && accepting;
        let deadline = match (flushing, again) {
            (true, _) => sim.cycles_from_now(1),
            (false, true) => free(),
            (false, false) => SimTime::MAX,
        };
        Pause { deadline, accepts: accepting && !again }
    }
}

/// Whether there is a cache of this shape for its part of the addresses.
pub(super) fn check(cache: &CacheParams, sector: Bytes, map: &AddressMap) -> Result<(), Invalid> {
    Cache::<()>::check(cache)?;
    if !sector.get().is_power_of_two() {
        return Err("sector must be a power of two".into());
    }
    if sector > cache.line {
        return Err(format!("a sector of {} is more than a line of {}", sector, cache.line).into());
    }
    if map.together() < cache.line.get() {
        let (line, together) = (cache.line, map.together());
        return Err(format!("lines of {line} would be split: {together} B lie together in one slice").into());
    }
    Ok(())
}

/// Builds the policies of a cache; those that change nothing are left out.
pub(super) fn policies<S: CacheStats>(
    write: &Slot<dyn WritePolicy>,
    prefetcher: &Slot<dyn Prefetcher>,
    bypass: &Slot<dyn Bypass>,
    sim: &Context<S>,
) -> Result<Policies, Fault> {
    Ok(Policies {
        write: Some(write.build(sim)?).filter(|policy| !policy.keeps_all()),
        prefetcher: Prefetches::new(prefetcher.build(sim)?),
        bypass: Some(bypass.build(sim)?).filter(|bypass| !bypass.is_idle()),
        rule: None,
    })
}

/// Runs a cache. Where it has a level, the report of a run that hangs reads its lines: those of the highest level are the newest.
#[expect(clippy::await_holding_refcell_ref, reason = "the report of a run that hangs only reads")]
pub(super) async fn serve<S: CacheStats>(
    server: CacheServer,
    io: &mut CachePorts,
    sim: &Context<S>,
    level: Option<u8>,
) -> Result<(), Fault> {
    sim.set_acts(false);
    let server = Rc::new(RefCell::new(server));
    if let Some(level) = level {
        let server = Rc::clone(&server);
        sim.recall(move |address| server.borrow().recall(address, level));
    }
    sim.stats.by_label().begin(sim.resource(), sim.path());
    loop {
        let Pause { deadline, accepts } = server.borrow_mut().step(io, sim);
        let server = server.borrow();
        let sources = [
            io.memory.rx.when(true),
            io.requests.rx.when(accepts),
            io.requests.tx.when(!server.replies.is_empty()),
            io.memory.tx.when(!server.to_memory.is_empty()),
        ];
        match &server.policies.rule {
            Some(rule) => sim.wait(deadline, sources.into_iter().chain(rule.awaits())).await,
            None => sim.wait(deadline, sources.iter().copied()).await,
        }
    }
}

/// Conditions beside answers and credit for which a cache waits.
struct Pause {
    deadline: SimTime,
    /// Whether the cache takes the next request when it arrives.
    accepts: bool,
}
