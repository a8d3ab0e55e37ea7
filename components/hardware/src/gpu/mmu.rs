//! The MMU: translates pages for the TLBs of the SMs, with a TLB of its own and walkers that read page tables in device
//! memory.
//!
//! Device memory is mapped one to one, so that the tables' entries need no contents; what is modelled is when a page is
//! known. A table has 512 entries of 8 bytes; as many levels as it takes for one table at the root (the CPU's radix tables,
//! which NVIDIA's GPUs have had since Pascal: "Pascal MMU Format Changes", NVIDIA open GPU documentation).

use std::collections::{BTreeMap, VecDeque};

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, Params, Ports, Stats,
};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::memory::{Label, MemAccess, MemRequest, MemoryClient, Tag, line_of};
use counterpoint_protocols::translation::{Translate, Translated, TranslationServer};

use super::pages::Pages;

/// Entries of a table, and bytes of an entry.
const TABLE: u64 = 512;
const ENTRY: u64 = 8;

/// What can be set of an MMU.
#[derive(Clone, Debug, Params)]
pub struct MmuParams {
    /// Bytes of a page; those of the SMs' TLBs.
    #[param(default = "4 KiB", min = "4 KiB", max = "2 MiB")]
    page: Bytes,
    /// Device memory whose pages are translated; the tables lie behind it.
    #[param(default = "1 GiB", min = "4 KiB")]
    memory: Bytes,
    /// Pages that the MMU's own TLB holds.
    #[param(default = "512", min = "1", max = "65536")]
    entries: u32,
    /// From a question of an SM to the answer, if the page is in the MMU's TLB; to the beginning of a walk, if not.
    #[param(default = "10 cycles", min = "1 cycle")]
    latency: Cycles,
    /// Pages that are looked for in the tables at a time.
    #[param(default = "8", min = "1", max = "1024")]
    walkers: u32,
}

/// The ports of an MMU.
#[derive(Ports)]
pub struct MmuPorts {
    /// The TLBs of the SMs.
    sms: Vec<TranslationServer>,
    /// The memory network, for the tables.
    memory: MemoryClient,
}

/// What an MMU counts.
#[derive(Default, Stats)]
pub struct MmuStats {
    /// Pages that TLBs of SMs asked for.
    accesses: Counter,
    /// Those that were not in the MMU's TLB.
    misses: Counter,
    /// Walks, which serve all that wait for their page.
    walks: Counter,
    /// Cycles from the question that makes a walk necessary to its end.
    #[stat(unit = "cycles")]
    walk_latency: Distribution,
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

/// SMs that wait for a page, and since when.
struct Waiting {
    sms: Vec<usize>,
    since: u64,
}

/// The MMU.
pub struct Mmu {
    levels: Vec<Level>,
    pages: Pages,
    latency: u64,
    /// Questions on their way to the lookup.
    asked: VecDeque<(u64, usize, u64)>,
    waiting: BTreeMap<u64, Waiting>,
    /// Pages that no walker has taken.
    queue: VecDeque<u64>,
    walkers: Vec<Option<Walk>>,
    requests: VecDeque<MemRequest>,
    answers: Vec<VecDeque<u64>>,
}

/// The levels of tables for so many pages, the root first, and where the tables end.
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

impl Mmu {
    /// Looks up what has reached the MMU's TLB.
    fn look_up(&mut self, cycle: u64, stats: &MmuStats) {
        while let Some(&(ready, sm, page)) = self.asked.front()
            && ready <= cycle
        {
            self.asked.pop_front();
            stats.accesses.add(1);
            if self.pages.find(page) {
                self.answers[sm].push_back(page);
                continue;
            }
            stats.misses.add(1);
            let waiting = self.waiting.entry(page).or_insert_with(|| {
                self.queue.push_back(page);
                Waiting { sms: Vec::new(), since: cycle }
            });
            waiting.sms.push(sm);
        }
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
        let (tag, label) = (Tag(walker as u32), Label::default());
        self.requests.push_back(MemRequest { line, tag, client: 0, label, access });
    }

    /// An entry has come.
    fn take(&mut self, Tag(walker): Tag, cycle: u64, stats: &MmuStats) -> Result<(), Fault> {
        let walker = walker as usize;
        let walk = self.walkers.get_mut(walker).and_then(Option::as_mut);
        let walk = walk.ok_or_else(|| Fault::new(format!("an answer to walker {walker}, which rests")))?;
        walk.level += 1;
        if walk.level < self.levels.len() {
            self.read(walker);
            return Ok(());
        }
        let page = walk.page;
        self.walkers[walker] = None;
        self.pages.insert(page);
        if let Some(Waiting { sms, since }) = self.waiting.remove(&page) {
            stats.walk_latency.record(cycle - since);
            for sm in sms {
                self.answers[sm].push_back(page);
            }
        }
        Ok(())
    }
}

impl Component for Mmu {
    const KIND: &'static str = "gpu/mmu";
    const DOC: &'static str =
        "Translates pages for the SMs: a TLB, and walkers that read page tables in device memory.";
    const DAEMON: bool = true;
    type Params = MmuParams;
    type Ports = MmuPorts;
    type Stats = MmuStats;

    fn new(params: MmuParams) -> Result<Self, Invalid> {
        let page = params.page.get();
        if !page.is_power_of_two() {
            return Err("page must be a power of two".into());
        }
        let memory = params.memory.get();
        Ok(Mmu {
            levels: levels(memory.div_ceil(page), memory).0,
            pages: Pages::new(params.entries),
            latency: params.latency.get(),
            asked: VecDeque::new(),
            waiting: BTreeMap::new(),
            queue: VecDeque::new(),
            walkers: (0..params.walkers).map(|_| None).collect(),
            requests: VecDeque::new(),
            answers: Vec::new(),
        })
    }

    async fn run(&mut self, io: &mut MmuPorts, sim: &Context<MmuStats>) -> Result<(), Fault> {
        self.answers = vec![VecDeque::new(); io.sms.len()];
        loop {
            let (cycle, stats) = (sim.cycle(), &sim.stats);
            for (sm, socket) in io.sms.iter_mut().enumerate() {
                if let Some(Translate { page }) = socket.rx.try_recv() {
                    self.asked.push_back((cycle + self.latency, sm, page));
                }
            }
            if let Some(reply) = io.memory.rx.try_recv() {
                self.take(reply.tag, cycle, stats)?;
            }
            self.look_up(cycle, stats);
            self.begin(stats);
            if !self.requests.is_empty()
                && let Some(permit) = io.memory.tx.try_reserve()
                && let Some(request) = self.requests.pop_front()
            {
                permit.send(request);
            }
            for (answers, socket) in self.answers.iter_mut().zip(&mut io.sms) {
                if !answers.is_empty()
                    && let Some(permit) = socket.tx.try_reserve()
                    && let Some(page) = answers.pop_front()
                {
                    permit.send(Translated { page });
                }
            }
            let deadline = self.asked.front().map(|(ready, ..)| sim.cycles_from_now(ready - cycle));
            let answers = &self.answers;
            let sms = io.sms.iter().zip(answers);
            let sources = sms.flat_map(|(sm, answers)| [sm.rx.when(true), sm.tx.when(!answers.is_empty())]);
            let memory = [io.memory.rx.when(true), io.memory.tx.when(!self.requests.is_empty())];
            sim.set_busy(!self.waiting.is_empty() || !self.asked.is_empty());
            sim.wait(deadline.unwrap_or(SimTime::MAX), sources.chain(memory)).await;
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
