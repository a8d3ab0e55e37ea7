//! The MMU: translates pages for the TLBs of the SMs, with a TLB of its own and walkers that read page tables in device
//! memory. An authority decides which launch may access a page (`authority.rs`).
//!
//! Device memory is mapped one to one, so that the tables' entries need no contents; the model gives the time at which a
//! translation is known. A table has 512 entries of 8 bytes; the number of levels is the smallest with one table at the
//! root (the CPU's radix tables, which NVIDIA's GPUs have had since Pascal: "Pascal MMU Format Changes", NVIDIA open GPU
//! documentation).

pub mod authority;

use std::collections::{BTreeMap, VecDeque};

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, Params, Ports, Slot, Stats, Variant,
};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::memory::{MemAccess, MemoryClient, Tag, fresh_at, line_of};
use counterpoint_protocols::translation::{MmuReply, MmuRequest, TranslationServer};

use super::pages::Pages;
use authority::{Any, Authority, OWN_TAGS, Outbox, Tables};

/// Entries of a table, and bytes of an entry.
const TABLE: u64 = 512;
const ENTRY: u64 = 8;

/// Parameters of an MMU.
#[derive(Clone, Debug, Params)]
pub struct MmuParams {
    /// Bytes of a page; equal to the page size of the SMs' TLBs.
    #[param(default = "4 KiB", min = "4 KiB", max = "2 MiB")]
    page: Bytes,
    /// Device memory with translated pages; the page tables follow it in the address space.
    #[param(default = "1 GiB", min = "4 KiB")]
    memory: Bytes,
    /// Pages that the MMU's own TLB holds.
    #[param(default = "512", min = "1", max = "65536")]
    entries: u32,
    /// Latency from a request of an SM to the reply on a hit in the MMU's TLB, or to the start of the walk on a miss.
    #[param(default = "10 cycles", min = "1 cycle")]
    latency: Cycles,
    /// Page walks in flight at a time.
    #[param(default = "8", min = "1", max = "1024")]
    walkers: u32,
    /// From a page's grant or its translation to the message to the SM.
    #[param(default = "0 cycles")]
    notification: Cycles,
    /// Authority that decides which launch may access a page.
    #[param(default = <Any as Variant<dyn Authority>>::NAME)]
    authority: Slot<dyn Authority>,
}

/// The ports of an MMU.
#[derive(Ports)]
pub struct MmuPorts {
    /// The TLBs of the SMs.
    sms: Vec<TranslationServer>,
    /// The memory network, for the tables.
    memory: MemoryClient,
}

/// Statistics of an MMU.
#[derive(Default, Stats)]
pub struct MmuStats {
    /// Page requests of the SMs' TLBs.
    #[stat(unit = "requests")]
    accesses: Counter,
    /// Lookups that missed in the MMU's TLB.
    #[stat(unit = "requests")]
    misses: Counter,
    /// Page walks; a walk serves all requests for its page.
    #[stat(unit = "walks")]
    walks: Counter,
    /// Cycles from the request that causes a walk to the end of the walk.
    #[stat(unit = "cycles")]
    walk_latency: Distribution,
    /// Requests that the authority did not grant at once.
    held: Counter,
}

/// A level of the tables: where its entries begin, and how many pages one of them covers, as a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    base: u64,
    shift: u32,
}

/// A page on its way through the tables.
struct Walk {
    page: u64,
    level: usize,
}

/// Requests that wait for a page, and since when.
struct Waiting {
    asked: Vec<(usize, LaunchId)>,
    since: u64,
}

/// The MMU.
pub struct Mmu {
    params: MmuParams,
}

/// The MMU as it runs.
struct Running {
    levels: Vec<Level>,
    pages: Pages,
    /// Questions on their way to the lookup.
    asked: VecDeque<(u64, usize, (u64, LaunchId))>,
    waiting: BTreeMap<u64, Waiting>,
    /// Pages that no walker has taken.
    queue: VecDeque<u64>,
    walkers: Vec<Option<Walk>>,
    authority: Box<dyn Authority>,
    outbox: Outbox,
}

/// The levels of tables for this number of pages, the root first, and the end of the tables.
fn levels(pages: u64, base: u64) -> (Vec<Level>, u64) {
    let mut entries = vec![pages];
    while entries.last().is_some_and(|&entries| entries > TABLE) {
        entries.extend(entries.last().map(|entries| entries.div_ceil(TABLE)));
    }
    let (mut next, mut levels) = (base, Vec::new());
    for (height, entries) in entries.iter().enumerate().rev() {
        levels.push(Level { base: next, shift: height as u32 * TABLE.trailing_zeros() });
        next += entries * ENTRY;
    }
    (levels, next)
}

impl Running {
    /// Looks up the requests that have reached the MMU's TLB.
    fn look_up(&mut self, cycle: u64, sim: &Context<MmuStats>) {
        let stats = &sim.stats;
        while let Some(&(ready, sm, (page, launch))) = self.asked.front()
            && ready <= cycle
        {
            self.asked.pop_front();
            stats.accesses.add(1);
            if self.pages.find(page, 0) {
                self.answer(sm, (page, launch), stats);
                continue;
            }
            stats.misses.add(1);
            sim.trace(|| format!("miss on page {page:#x} for SM {sm}: walks the table"));
            let waiting = self.waiting.entry(page).or_insert_with(|| {
                self.queue.push_back(page);
                Waiting { asked: Vec::new(), since: cycle }
            });
            waiting.asked.push((sm, launch));
        }
    }

    /// Answers a question for a page that is known.
    fn answer(&mut self, sm: usize, (page, launch): (u64, LaunchId), stats: &MmuStats) {
        let granted = self.authority.ask(page, launch, sm);
        stats.held.add(u64::from(!granted));
        self.outbox.answer(sm, MmuReply::Page { page, launch, granted });
    }

    /// Lets free walkers begin.
    fn begin(&mut self, stats: &MmuStats) {
        while let Some(walker) = self.walkers.iter().position(Option::is_none)
            && let Some(page) = self.queue.pop_front()
        {
            stats.walks.add(1);
            self.walkers[walker] = Some(Walk { page, level: 0 });
            self.read(walker);
        }
    }

    /// Asks for the entry that a walker needs next.
    fn read(&mut self, walker: usize) {
        let Some(Walk { page, level }) = &self.walkers[walker] else { return };
        let Level { base, shift } = self.levels[*level];
        let address = base + (page >> shift) * ENTRY;
        let line = line_of(address);
        let access = MemAccess::Read(((1 << ENTRY) - 1) << (address - line));
        self.outbox.ask(line, Tag(walker as u32), access);
    }

    /// An entry of the tables has arrived, or the answer to a request of the authority.
    fn take(&mut self, Tag(tag): Tag, cycle: u64, stats: &MmuStats) -> Result<(), Fault> {
        if let Some(own) = tag.checked_sub(OWN_TAGS) {
            self.authority.answered(own, cycle, &mut self.outbox);
            return Ok(());
        }
        let walker = tag as usize;
        let walk = self.walkers.get_mut(walker).and_then(Option::as_mut);
        let walk = walk.ok_or_else(|| Fault::new(format!("an answer to walker {walker}, which rests")))?;
        walk.level += 1;
        if walk.level < self.levels.len() {
            self.read(walker);
            return Ok(());
        }
        let page = walk.page;
        self.walkers[walker] = None;
        self.pages.insert(page, 0);
        if let Some(Waiting { asked, since }) = self.waiting.remove(&page) {
            stats.walk_latency.record(cycle - since);
            for (sm, launch) in asked {
                self.answer(sm, (page, launch), stats);
            }
        }
        Ok(())
    }
}

impl Component for Mmu {
    const KIND: &'static str = "gpu/mmu";
    const DOC: &'static str = "Translates pages for the SMs: a TLB, and walkers that read page tables in device memory. An \
                               authority decides which launch may access a page.";
    const DAEMON: bool = true;
    type Params = MmuParams;
    type Ports = MmuPorts;
    type Stats = MmuStats;

    fn new(params: MmuParams) -> Result<Self, Invalid> {
        if !params.page.get().is_power_of_two() {
            return Err("page must be a power of two".into());
        }
        Ok(Mmu { params })
    }

    async fn run(&mut self, io: &mut MmuPorts, sim: &Context<MmuStats>) -> Result<(), Fault> {
        let MmuParams { authority, notification, .. } = &self.params;
        let (page_bytes, memory, latency) =
            (self.params.page.get(), self.params.memory.get(), self.params.latency.get());
        let (levels, end) = levels(memory.div_ceil(page_bytes), memory);
        let entries = levels.last().map_or(0, |level| level.base);
        let mut authority = authority.build(sim)?;
        authority.begin(Tables { page: page_bytes, entries, end, latency });
        sim.explain(authority.reasons());
        let mut mmu = Running {
            levels,
            pages: Pages::new(self.params.entries),
            asked: VecDeque::new(),
            waiting: BTreeMap::new(),
            queue: VecDeque::new(),
            walkers: (0..self.params.walkers).map(|_| None).collect(),
            authority,
            outbox: Outbox::new(io.sms.len()),
        };
        let notification = notification.get();
        loop {
            let (cycle, stats) = (sim.cycle(), &sim.stats);
            for (sm, socket) in io.sms.iter_mut().enumerate() {
                match socket.rx.try_recv() {
                    Some(MmuRequest::Page { page, bytes, launch }) => {
                        if bytes != page_bytes {
                            return Err(Fault::new(format!(
                                "SM {sm} asks for a page of {bytes} bytes, and pages of this MMU have {page_bytes}: `page` of \
                                 the MMU and `tlb.page` of the SMs must be equal",
                            )));
                        }
                        mmu.asked.push_back((cycle + latency, sm, (page, launch)));
                    }
                    Some(MmuRequest::Claim(claim)) => {
                        mmu.authority.claim(cycle, sm, claim).map_err(Fault::new)?;
                    }
                    None => {}
                }
            }
            mmu.authority.hear(&mut mmu.outbox).map_err(Fault::new)?;
            if let Some(reply) = io.memory.rx.try_recv() {
                mmu.take(reply.tag, cycle, stats)?;
            }
            mmu.look_up(cycle, sim);
            mmu.begin(stats);
            mmu.authority.work(cycle, &mut mmu.outbox).map_err(Fault::new)?;
            let Outbox { answers, requests } = &mut mmu.outbox;
            if let Some(request) = requests.front_mut() {
                request.fresh = fresh_at(sim.now());
            }
            io.memory.tx.send_front(requests, SimTime::ZERO);
            for (answers, socket) in answers.iter_mut().zip(&mut io.sms) {
                socket.tx.send_front(answers, sim.span(notification));
            }
            mmu.authority.send(sim.span(notification));
            let asked = mmu.asked.front().map(|(ready, ..)| *ready);
            let ready = asked.into_iter().chain(mmu.authority.due()).min();
            let deadline = ready.map(|ready| sim.cycles_from_now(ready.saturating_sub(cycle).max(1)));
            sim.set_busy(!mmu.waiting.is_empty() || !mmu.asked.is_empty() || mmu.authority.is_busy());
            sim.wait_tried(deadline.unwrap_or(SimTime::MAX), io).or(mmu.authority.awaits()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_lie_behind_each_other_the_root_first() {
        let (found, end) = levels(1 << 18, 1 << 30);
        let expected = [(1 << 30, 9), ((1 << 30) + 4096, 0)].map(|(base, shift)| Level { base, shift });
        assert_eq!((found.as_slice(), end), (&expected[..], (1 << 30) + 4096 + (2 << 20)));
        assert_eq!(levels(1 << 19, 0).0.iter().map(|level| level.shift).collect::<Vec<_>>(), [18, 9, 0]);
        assert_eq!(levels(512, 0), (vec![Level { base: 0, shift: 0 }], 4096));
    }
}
