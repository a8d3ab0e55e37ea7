//! One slice of the L2 cache: write-back, write-allocate with or without fetching, atomics executed here.
//!
//! A line bears the tag of the request that wrote to it last. A rule ([`LineRule`]) says which tags keep a line longer than others,
//! and which lines are written back and dropped, one a cycle beside the requests.
//!
//! Valid and dirty state is kept per byte; misses fetch whole sectors. A request occupies the slice for a cycle a sector
//! of 32 bytes; a fill is taken beside it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, Recall, Source};
use counterpoint_framework::model::{
    Choice, Component, Context, Counter, Invalid, Params, Ports, Ratio, Slot, Stats, Variant,
};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::memory::{
    AtomicLane, ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply, MemRequest, MemResult, MemoryClient,
    MemoryServer, Packets, SECTOR_BYTES, Tag, line_of, sectors, word_of,
};
use counterpoint_protocols::preload::Preloaded;
use counterpoint_protocols::write_log::WriteLog;

use super::address_map::{AddressMap, AddressMapParams};
use super::atomic;
use super::atomic_unit::{AtomicParams, AtomicUnit};
use super::by_label::ByLabel;
use super::cache::{Cache, CacheParams, Evicted, WayId};
use super::line_rule::LineRule;
use super::line_rule::none::NoRule;

/// Treatment of a write to sectors that are not here.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMiss {
    /// The store leaves its bytes; the rest of the line is fetched when somebody reads it.
    Validate,
    /// The sectors that it touches are fetched whole before it is done.
    Fetch,
}

/// Size and timing of one L2 slice.
#[derive(Clone, Debug, Params)]
#[params(moved(
    "labels",
    "what is done with lines by their labels is a rule for their tags, such as `tags: { labels: { keep: all } }`"
))]
pub struct L2Params {
    /// Size, shape and misses under way.
    cache: CacheParams,
    /// Bytes fetched together on a miss.
    #[param(default = "32 B", min = "32 B", max = "128 B")]
    sector: Bytes,
    /// Treatment of a write to sectors that are not here.
    #[param(default = "validate")]
    write_miss: WriteMiss,
    /// Rule for the tags of lines.
    #[param(default = <NoRule as Variant<dyn LineRule>>::NAME)]
    tags: Slot<dyn LineRule>,
    /// Lines of a set that are protected at most: what comes when there are as many is like lines without a tag.
    #[param(default = "1024", min = "1")]
    protected_ways: u32,
    /// From taking a request to its reply leaving, on a hit.
    #[param(default = "34 cycles")]
    hit_latency: Cycles,
    /// Preloaded data goes through the L2 and leaves its last lines there, as copies to the device do that
    /// take no time (GPGPU-Sim). For comparisons.
    #[param(default = "off")]
    warm_on_copy: bool,
    /// How fast atomics are.
    atomics: AtomicParams,
    /// Where addresses lie.
    map: AddressMapParams,
}

/// The ports of an L2 slice.
#[derive(Ports)]
pub struct L2Ports {
    /// Accesses from the network, and the answers to them.
    requests: MemoryServer,
    /// Line traffic to DRAM.
    memory: MemoryClient,
}

/// Statistics of an L2 slice.
#[derive(Default, Stats)]
pub struct L2Stats {
    /// Counts of each launch and stream.
    by_label: ByLabel<L2Counts>,
}

/// Statistics of requests.
#[derive(Default, Stats)]
struct L2Counts {
    /// Sectors accessed.
    #[stat(name = "L2_total_cache_accesses", unit = "sectors")]
    accesses: Counter,
    /// Sectors of these that were not here, or not enough of them.
    #[stat(name = "L2_total_cache_misses", unit = "sectors")]
    misses: Counter,
    /// The share of the misses.
    #[stat(name = "L2_total_cache_miss_rate", unit = "of 1", part = "misses", whole = "accesses")]
    miss_rate: Ratio,
    /// Requests that joined a fetch under way.
    #[stat(name = "L2_total_cache_pending_hits", unit = "requests")]
    pending_hits: Counter,
    /// Cycles in which a request, the first, found no way, no miss entry or no place to wait.
    #[stat(name = "L2_total_cache_reservation_fails", unit = "cycles")]
    reservation_fails: Counter,
    /// Read requests.
    #[stat(unit = "requests")]
    reads: Counter,
    /// Write requests.
    #[stat(unit = "requests")]
    writes: Counter,
    /// Atomic requests.
    #[stat(unit = "requests")]
    atomics: Counter,
    /// Cycles that they were in the unit of atomics or in front of it, where there is one.
    #[stat(unit = "cycles")]
    atomic_cycles: Counter,
    /// Dirty lines written to DRAM, counted for who wrote to them last.
    #[stat(unit = "lines")]
    write_backs: Counter,
    /// Lines written back because nobody would read them any more.
    #[stat(unit = "lines")]
    flushed: Counter,
}

/// One slice of the L2 cache. The report of a run that hangs reads its lines.
pub struct L2Slice(Rc<RefCell<Slice>>);

/// A slice as it runs.
struct Slice {
    cache: Cache<MemRequest>,
    map: AddressMap,
    sector: u32,
    write_miss: WriteMiss,
    tags: Slot<dyn LineRule>,
    /// The rule for tags, where there is one.
    rule: Option<Box<dyn LineRule>>,
    /// Lines to be written back and dropped, if they still bear the tag.
    flushing: VecDeque<(WayId, LineTag)>,
    hit_latency: u64,
    /// Executes atomics, where they take longer than reads.
    atomics: Option<AtomicUnit>,
    /// For each way, on whose behalf it was written last.
    writers: Vec<Label>,
    /// Whether the preloaded lines have not been put here yet.
    cold: bool,
    /// Where writes to buffers are noted that somebody watches.
    log: Option<Arc<WriteLog>>,
    /// The slice takes the next request in this cycle.
    free: u64,
    /// A request that was refused.
    held: Option<MemRequest>,
    to_memory: VecDeque<MemRequest>,
    /// Replies that have no credit yet, with the cycle in which they were ready.
    replies: VecDeque<(u64, MemReply)>,
}

/// Replies and fetches that may wait for credit before new requests are held back.
const OUTGOING: usize = 16;
/// The tag of a write-back: nobody waits for its answer.
const WRITE_BACK: Tag = Tag(u32::MAX);

impl Slice {
    /// The word at an address, for the report of a run that hangs.
    fn recall(&self, address: u64) -> Option<Recall> {
        let line = line_of(address);
        let way = self.cache.find(line, self.map.within_slice(line) / LINE_BYTES)?;
        let here = self.cache.valid(way) >> (address - line) & 0xf == 0xf;
        here.then(|| Recall { level: 1, contents: word_of(self.cache.data(way), address) })
    }

    /// Puts preloaded lines here, as far as they belong to the slice that a line belongs to.
    #[cold]
    fn warm_up(&mut self, line: u64, preloaded: &Preloaded, path: &str) {
        self.cold = false;
        let own = self.map.slice(line);
        for line in preloaded.lines(path).into_iter().filter(|&line| self.map.slice(line) == own) {
            self.cache.warm(line, self.map.within_slice(line) / LINE_BYTES);
        }
        self.cache.give_values(|line, data| _ = preloaded.fill(path, line, data));
    }

    /// A way for a line that is not here. `None`: every way of its set waits.
    fn allocate(&mut self, line: u64, index: u64, sim: &Context<L2Stats>) -> Option<WayId> {
        let (way, evicted) = self.cache.allocate(line, index)?;
        self.write_back(way, evicted, sim);
        Some(way)
    }

    /// Sends what a way held to memory.
    fn write_back(&mut self, way: WayId, evicted: Option<Evicted>, sim: &Context<L2Stats>) {
        let Some(Evicted { line, dirty, data }) = evicted else { return };
        let label = self.writers[way.index()];
        sim.stats.by_label.of(label).write_backs.add(1);
        sim.trace(|| format!("evicts {line:#x} and writes it back"));
        let access = MemAccess::Write(dirty, data);
        self.to_memory.push_back(MemRequest { line, tag: WRITE_BACK, client: 0, label, access });
    }

    /// Writes bytes of a line, and notes who did.
    fn write(
        &mut self,
        way: WayId,
        label: Label,
        (line, mask, data): (u64, ByteMask, &Line),
        sim: &Context<L2Stats>,
    ) {
        self.cache.write(way, mask, data);
        if let Some(log) = &self.log {
            log.on_device(sim.now(), sim.path(), line, mask, data);
        }
        self.writers[way.index()] = label;
        if let Some(rule) = &self.rule {
            self.cache.protect(way, rule.protects(label.tag));
        }
    }

    /// Marks the lines that the rule drops.
    fn mark(&mut self) {
        while let Some(tag) = self.rule.as_mut().and_then(|rule| rule.dropped()) {
            let writers = &self.writers;
            let marked = self.cache.taken().filter(|way| writers[way.index()].tag == tag);
            self.flushing.extend(marked.map(|way| (way, tag)));
        }
    }

    /// Drops a line that was marked, if one is left. One that waits for other sectors has its turn later.
    fn flush(&mut self, sim: &Context<L2Stats>) {
        while let Some((way, tag)) = self.flushing.pop_front() {
            if !self.cache.is_taken(way) || self.writers[way.index()].tag != tag {
                continue;
            }
            if self.cache.is_pending(way) {
                self.flushing.push_back((way, tag));
                return;
            }
            sim.stats.by_label.of(self.writers[way.index()]).flushed.add(1);
            let evicted = self.cache.take(way);
            self.write_back(way, evicted, sim);
            return;
        }
    }

    /// The bytes that must be here before an access can be done.
    fn wanted(&self, access: &MemAccess) -> ByteMask {
        match access {
            MemAccess::Read(mask) => *mask,
            MemAccess::Atomic(lanes) => AtomicLane::bytes(lanes),
            MemAccess::Write(mask, _) if self.write_miss == WriteMiss::Fetch => whole(*mask, self.sector),
            MemAccess::Write(..) => 0,
        }
    }

    /// Handles a request; gives it back if it cannot be handled now.
    fn handle(
        &mut self,
        request: MemRequest,
        cycle: u64,
        sim: &Context<L2Stats>,
        counts: &L2Counts,
    ) -> Option<MemRequest> {
        let index = self.map.within_slice(request.line) / LINE_BYTES;
        let found = self.cache.find(request.line, index);
        // Behind a miss everything keeps its order: a store must not overtake a load that waits.
        if let Some(way) = found
            && self.cache.is_pending(way)
        {
            let line = request.line;
            let refused = self.cache.join_miss(way, request).err();
            counts.pending_hits.add(u64::from(refused.is_none()));
            sim.trace(|| {
                format!("{} {line:#x}", if refused.is_none() { "pending hit" } else { "no room behind" })
            });
            return refused;
        }
        let here = found.map_or(0, |way| self.cache.valid(way));
        let missing = self.wanted(&request.access) & !here;
        if let (Some(unit), MemAccess::Atomic(_)) = (&mut self.atomics, &request.access)
            && let Some(until) = unit.full_until(cycle)
        {
            self.free = until;
            return Some(request);
        }
        if missing != 0 && !self.cache.has_free_miss() {
            return Some(request);
        }
        let way = match found {
            Some(way) => way,
            None => match self.allocate(request.line, index, sim) {
                Some(way) => way,
                None => return Some(request),
            },
        };
        self.cache.touch(way);
        let missed = missing | unknown(&request.access, here);
        counts.misses.add(sectors(missed).into());
        sim.trace(|| {
            let what = if missed == 0 { "hit" } else { "miss" };
            format!("{what} {:#x} on {} of client {}", request.line, name(&request.access), request.client)
        });
        if missing == 0 {
            self.finish(way, request, (cycle + self.hit_latency, 0), sim, counts);
        } else {
            self.fetch(way, request);
        }
        None
    }

    fn fetch(&mut self, way: WayId, request: MemRequest) {
        let (line, label) = (request.line, request.label);
        let access =
            MemAccess::Read(whole(self.wanted(&request.access) & !self.cache.valid(way), self.sector));
        let tag = Tag(self.cache.begin_miss(way, request));
        self.to_memory.push_back(MemRequest { line, tag, client: 0, label, access });
    }

    /// Does what the request asks, all its bytes being here; the reply is ready at `ready`. `far` is the sectors fetched for it.
    fn finish(
        &mut self,
        way: WayId,
        request: MemRequest,
        (mut ready, mut far): (u64, u8),
        sim: &Context<L2Stats>,
        counts: &L2Counts,
    ) {
        let MemRequest { line, tag, client, label, access } = request;
        let result = match access {
            MemAccess::Read(mask) => {
                counts.reads.add(1);
                MemResult::Line(mask, self.cache.data(way).into())
            }
            MemAccess::Write(mask, data) => {
                counts.writes.add(1);
                self.write(way, label, (line, mask, &*data), sim);
                far += sectors(mask) as u8;
                MemResult::Written(sectors(mask) as u8)
            }
            MemAccess::Atomic(lanes) => {
                far += sectors(AtomicLane::bytes(&lanes)) as u8;
                counts.atomics.add(1);
                let mut data: Line = *self.cache.data(way);
                let old = atomic::execute(&mut data, &lanes);
                self.write(way, label, (line, AtomicLane::bytes(&lanes), &data), sim);
                if let Some(unit) = &mut self.atomics {
                    let cycle = sim.cycle();
                    let through = unit.take(line, &lanes, cycle);
                    // A lane that is through in its first cycle is as fast as a read.
                    ready += through - cycle - 1;
                    counts.atomic_cycles.add(through - cycle);
                }
                MemResult::Old(old)
            }
        };
        self.replies.push_back((ready, MemReply { line, tag, client, result, far }));
    }

    /// Takes what DRAM answered.
    fn fill(&mut self, reply: MemReply, cycle: u64, sim: &Context<L2Stats>) {
        let MemResult::Line(mask, data) = reply.result else { return };
        sim.trace(|| format!("fill {:#x}", reply.line));
        let (way, mut list) = self.cache.end_miss(reply.tag.0, mask, &data);
        let way = way.expect("L2 lines stay while they wait");
        let mut waiting = list.drain(..);
        // The first one asked for what has come.
        let mut far = sectors(mask) as u8;
        for request in waiting.by_ref() {
            if self.wanted(&request.access) & !self.cache.valid(way) == 0 {
                let counts = sim.stats.by_label.of(request.label);
                self.finish(way, request, (cycle + 1, std::mem::take(&mut far)), sim, &counts);
                continue;
            }
            // It joined for other sectors of the line: fetch those, with everyone behind it.
            self.fetch(way, request);
            break;
        }
        for request in waiting {
            let joined = self.cache.join_miss(way, request);
            assert!(joined.is_ok(), "fewer wait than before");
        }
        self.cache.give_back(list);
    }

    /// Initialises the slice from the resources of the run. Returns the memory that is loaded before the run.
    fn begin(&mut self, sim: &Context<L2Stats>) -> Result<Option<Arc<Preloaded>>, Fault> {
        let preloaded = sim.resource::<Preloaded>();
        self.cold &= preloaded.is_some();
        self.log = sim.resource();
        sim.stats.by_label.begin(sim.resource(), sim.path());
        self.rule = Some(self.tags.build(sim)?).filter(|rule| !rule.is_idle());
        Ok(preloaded)
    }

    /// Executes a cycle: a fill, a flush, a request, and the messages that have credit.
    fn step(&mut self, io: &mut L2Ports, preloaded: Option<&Preloaded>, sim: &Context<L2Stats>) -> Pause {
        let cycle = sim.cycle();
        if let Some(reply) = io.memory.rx.try_recv() {
            self.fill(reply, cycle, sim);
        }
        if self.rule.is_some() {
            self.mark();
        }
        if !self.flushing.is_empty() && self.to_memory.len() < OUTGOING {
            self.flush(sim);
        }
        let (first_time, mut refused) = (self.held.is_none(), false);
        if self.free <= cycle
            && self.replies.len() < OUTGOING
            && self.to_memory.len() < OUTGOING
            && let Some(request) = self.held.take().or_else(|| io.requests.rx.try_recv())
        {
            if self.cold
                && let Some(preloaded) = preloaded
            {
                // The buffers have their places when the first request comes, which tells what slice this is.
                self.warm_up(request.line, preloaded, sim.path());
            }
            let sectors = u64::from(request.sectors().0);
            let counts = sim.stats.by_label.of(request.label);
            if first_time {
                counts.accesses.add(sectors);
            }
            self.held = self.handle(request, cycle, sim, &counts);
            refused = self.held.is_some();
            if !refused {
                self.free = cycle + sectors;
            }
            counts.reservation_fails.add(u64::from(refused));
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
        // A request that was refused can go on once a fill has freed something. One that was not tried, because what
        // leaves the slice had piled up, goes on now that it has left.
        let untried = self.held.is_some() && !refused && room;
        let leaving = !self.replies.is_empty() || !self.to_memory.is_empty();
        let flushing = !self.flushing.is_empty() && self.to_memory.len() < OUTGOING;
        sim.set_busy(self.held.is_some() || leaving || flushing || self.cache.has_misses());
        // While the slice is occupied a request wakes it only if it comes later than the slice is free.
        let free = sim.cycles_from_now(self.free.max(cycle + 1) - cycle);
        let waiting = occupied && accepting && io.requests.rx.due().is_some_and(|due| due <= free);
        // One that the unit of atomics has no room for goes on when it has.
        let full = refused && self.free > cycle;
        let again = untried || full || waiting;
        let deadline = match (flushing, again) {
            (true, _) => sim.cycles_from_now(1),
            (false, true) => free,
            (false, false) => SimTime::MAX,
        };
        Pause { deadline, accepts: accepting && !again }
    }
}

/// Conditions beside answers and credit for which a slice waits.
struct Pause {
    deadline: SimTime,
    /// Whether the slice takes the next request when it comes.
    accepts: bool,
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

/// Whole sectors of `sector` bytes around the given bytes.
fn whole(mask: ByteMask, sector: u32) -> ByteMask {
    let all = if sector >= 128 { ByteMask::MAX } else { (1 << sector) - 1 };
    let each = (0..LINE_BYTES as u32).step_by(sector as usize).map(|start| all << start);
    each.filter(|sector| sector & mask != 0).fold(0, |sum, sector| sum | sector)
}

impl Component for L2Slice {
    const KIND: &'static str = "memory/l2-slice";
    const DOC: &'static str =
        "One slice of the L2 cache: write-back, write-allocate, sectored; atomics are executed here.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 60;
    type Params = L2Params;
    type Ports = L2Ports;
    type Stats = L2Stats;

    fn new(params: L2Params) -> Result<Self, Invalid> {
        let sector = params.sector.get();
        if !sector.is_power_of_two() {
            return Err("sector must be a power of two".into());
        }
        let mut cache = Cache::new(&params.cache)?;
        cache.protect_at_most(params.protected_ways);
        Ok(L2Slice(Rc::new(RefCell::new(Slice {
            writers: vec![Label::default(); cache.lines()],
            cache,
            map: AddressMap::new(&params.map)?,
            sector: sector as u32,
            write_miss: params.write_miss,
            tags: params.tags,
            rule: None,
            flushing: VecDeque::new(),
            hit_latency: params.hit_latency.get(),
            atomics: AtomicUnit::new(&params.atomics),
            cold: params.warm_on_copy,
            log: None,
            free: 0,
            held: None,
            to_memory: VecDeque::new(),
            replies: VecDeque::new(),
        }))))
    }

    #[expect(clippy::await_holding_refcell_ref, reason = "the report of a run that hangs only reads")]
    async fn run(&mut self, io: &mut L2Ports, sim: &Context<L2Stats>) -> Result<(), Fault> {
        sim.set_acts(false);
        let slice = Rc::clone(&self.0);
        sim.recall(move |address| slice.borrow().recall(address));
        let preloaded = self.0.borrow_mut().begin(sim)?;
        loop {
            let Pause { deadline, accepts } = self.0.borrow_mut().step(io, preloaded.as_deref(), sim);
            let slice = self.0.borrow();
            let sources = [
                io.memory.rx.when(true),
                io.requests.rx.when(accepts),
                io.requests.tx.when(!slice.replies.is_empty()),
                io.memory.tx.when(!slice.to_memory.is_empty()),
            ];
            match &slice.rule {
                Some(rule) => sim.wait(deadline, sources.into_iter().chain(rule.awaits())).await,
                None => sim.wait(deadline, sources).await,
            }
        }
    }
}
