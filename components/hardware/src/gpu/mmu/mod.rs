//! The MMU: translates pages for the TLBs of the SMs, with a TLB of its own and walkers that read page tables in device
//! memory; and grants them to launches that track their pages, when these are ready and nobody older needs them (CRCS).
//!
//! Device memory is mapped one to one, so that the tables' entries need no contents; what is modelled is when a page is
//! known. A table has 512 entries of 8 bytes; as many levels as it takes for one table at the root (the CPU's radix tables,
//! which NVIDIA's GPUs have had since Pascal: "Pascal MMU Format Changes", NVIDIA open GPU documentation).

mod counts;
pub mod ownership;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use counterpoint_framework::kernel::{Fault, Out, Source};
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, Params, Ports, Stats,
};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, MemAccess, MemRequest, MemoryClient, Tag, line_of,
};
use counterpoint_protocols::pages::{PageCommand, PageEvent, PageMoved, PageServer};
use counterpoint_protocols::translation::{MmuReply, MmuRequest, RangeCount, TranslationServer};

use super::pages::Pages;
use crate::memory::table::Table;
use counts::Counts;
use ownership::{Available, Consequence, EarlyRelease, Ownership, Tally};

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
    /// Bytes of device memory, behind the page tables, for the lists of reference counts.
    #[param(default = "4 MiB", min = "64 B")]
    counts: Bytes,
    /// Lines of counts that the MMU keeps at hand.
    #[param(default = "64", min = "1", max = "4096")]
    count_lines: u32,
    /// Lines of counts of one range that it changes in a cycle. The paper gives no figure; what it does to results is measured in
    /// DEVIATIONS.md.
    #[param(default = "8", min = "1", max = "1024")]
    count_rate: u32,
    /// From a change of a page's owner until it is on its way to the SMs that wait and to the CTA scheduler.
    #[param(default = "0 cycles")]
    notification: Cycles,
    /// Which counts change when a block ends that may have accessed a page of an older kernel. Anything but `table` is wrong,
    /// for experiments.
    #[param(default = "table")]
    early_release: EarlyRelease,
    /// When pages into which the host copies nothing count as available to the CTA scheduler, which the paper leaves open.
    #[param(default = "handed-over")]
    available: Available,
}

/// The ports of an MMU.
#[derive(Ports)]
pub struct MmuPorts {
    /// The TLBs of the SMs.
    sms: Vec<TranslationServer>,
    /// The memory network, for the tables.
    memory: MemoryClient,
    /// The command processor, if pages are to be tracked.
    control: Option<PageServer>,
    /// The CTA scheduler: whose the available pages are.
    owners: Option<Out<PageMoved>>,
}

/// What an MMU counts.
#[derive(Default, Stats)]
pub struct MmuStats {
    /// Pages that TLBs of SMs asked for.
    #[stat(unit = "requests")]
    accesses: Counter,
    /// Those that were not in the MMU's TLB.
    #[stat(unit = "requests")]
    misses: Counter,
    /// Walks, which serve all that wait for their page.
    #[stat(unit = "walks")]
    walks: Counter,
    /// Cycles from the question that makes a walk necessary to its end.
    #[stat(unit = "cycles")]
    walk_latency: Distribution,
    /// Questions of launches that had to wait for a page's values or its owner.
    held: Counter,
    /// Blocks counted before they ran, once for each page.
    counts_set: Counter,
    /// Blocks counted off, likewise.
    counts_released: Counter,
    /// Of these, while an older kernel owned the page.
    early_releases: Counter,
    /// Pages that have passed to a kernel.
    #[stat(unit = "pages")]
    handovers: Counter,
    /// Pages that their kernel has given up, because none of its blocks was left: in the end as many as have passed to kernels.
    given_up: Counter,
    /// Kernels without blocks left that pages have passed by.
    skipped: Counter,
    /// Pages, or parts of them, sent to the host when nobody needed them.
    #[stat(unit = "pages")]
    pages_out: Counter,
    /// Lines of counts changed.
    #[stat(unit = "lines")]
    count_lines: Counter,
    /// Those that had to be read from memory.
    #[stat(unit = "lines")]
    count_misses: Counter,
    /// Those that were written back to make room.
    #[stat(unit = "lines")]
    count_write_backs: Counter,
    /// Cycles from the change of a range's counts to its acknowledgement.
    #[stat(unit = "cycles")]
    count_latency: Distribution,
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

/// Who waits for a page, and since when.
struct Waiting {
    asked: Vec<(usize, LaunchId)>,
    since: u64,
}

/// A change of counts that waits for lines.
struct Counting {
    sm: usize,
    tag: u32,
    missing: usize,
    since: u64,
}

/// Tags of reads of counts begin here; those of walkers are below.
const COUNT_TAGS: u32 = 1 << 16;
/// The tag of all writes of counts, for whose answers nobody waits.
const WRITE_BACK: u32 = u32::MAX;

/// The MMU.
pub struct Mmu {
    /// Bytes of a page.
    page: u64,
    levels: Vec<Level>,
    pages: Pages,
    latency: u64,
    /// Questions on their way to the lookup.
    asked: VecDeque<(u64, usize, (u64, LaunchId))>,
    waiting: BTreeMap<u64, Waiting>,
    /// Pages that no walker has taken.
    queue: VecDeque<u64>,
    walkers: Vec<Option<Walk>>,
    requests: VecDeque<MemRequest>,
    answers: Vec<VecDeque<MmuReply>>,
    /// Shared with what is said of a run that hangs.
    ownership: Rc<RefCell<Ownership>>,
    counts: Counts,
    /// Changes of counts on their way to the tables.
    to_count: VecDeque<(u64, usize, RangeCount)>,
    counting: Table<Counting>,
    /// Lines of a change that are changed in a cycle.
    count_rate: u64,
    /// The cycle in which the next change can be made.
    counts_free: u64,
    /// Changes that are made in a cycle, without a line missing.
    counted: VecDeque<(u64, usize, u32)>,
    notification: u64,
    /// What has been told of the ownership's tally.
    told: Tally,
    moved: VecDeque<PageMoved>,
    events: VecDeque<PageEvent>,
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
            let waiting = self.waiting.entry(page).or_insert_with(|| {
                self.queue.push_back(page);
                Waiting { asked: Vec::new(), since: cycle }
            });
            waiting.asked.push((sm, launch));
        }
    }

    /// Answers a question for a page that is known.
    fn answer(&mut self, sm: usize, (page, launch): (u64, LaunchId), stats: &MmuStats) {
        let granted = self.ownership.borrow_mut().ask(page, launch, sm);
        stats.held.add(u64::from(!granted));
        self.answers[sm].push_back(MmuReply::Page { page, launch, granted });
    }

    /// Changes the counts of the next range, when the lines of the last one have been changed.
    fn count(&mut self, cycle: u64, stats: &MmuStats) -> Result<(), Fault> {
        while let Some(&(done, sm, tag)) = self.counted.front()
            && done <= cycle
        {
            self.counted.pop_front();
            self.answers[sm].push_back(MmuReply::Counted { tag });
        }
        while self.counts_free <= cycle
            && let Some(&(ready, sm, count)) = self.to_count.front()
            && ready <= cycle
        {
            self.to_count.pop_front();
            let mut ownership = self.ownership.borrow_mut();
            let owned = |page| ownership.is_owner(page, count.kernel);
            let pages = ownership.pages_of(count.start, count.end);
            let cost = self.counts.change(pages, &count, owned).map_err(Fault::new)?;
            let mut consequences = Vec::new();
            ownership.count(&count, &mut consequences).map_err(Fault::new)?;
            drop(ownership);
            self.follow(consequences, stats);
            stats.count_lines.add(cost.lines);
            stats.count_misses.add(cost.reads.len() as u64);
            stats.count_write_backs.add(cost.writes.len() as u64);
            self.counts_free = cycle + cost.lines.div_ceil(self.count_rate);
            let mut ask = |line, tag, access| {
                self.requests.push_back(MemRequest { line, tag, client: 0, label: Label::default(), access });
            };
            for line in cost.writes {
                ask(line, Tag(WRITE_BACK), MemAccess::Write(ByteMask::MAX, [0; LINE_BYTES as usize]));
            }
            if cost.reads.is_empty() {
                stats.count_latency.record(self.counts_free - cycle);
                self.counted.push_back((self.counts_free, sm, count.tag));
                continue;
            }
            let counting = Counting { sm, tag: count.tag, missing: cost.reads.len(), since: cycle };
            let tag = Tag(COUNT_TAGS + self.counting.insert(counting));
            cost.reads.into_iter().for_each(|line| ask(line, tag, MemAccess::Read(ByteMask::MAX)));
        }
        Ok(())
    }

    /// Sends on what follows from a change of pages.
    fn follow(&mut self, consequences: Vec<Consequence>, stats: &MmuStats) {
        for consequence in consequences {
            match consequence {
                Consequence::Grant { sm, page, launch } => {
                    self.answers[sm].push_back(MmuReply::Page { page, launch, granted: true });
                }
                Consequence::Moved(moved) => self.moved.push_back(moved),
                Consequence::Leave(copy) => {
                    stats.pages_out.add(1);
                    self.events.push_back(PageEvent::Copy(copy));
                }
            }
        }
        let now = self.ownership.borrow().tally;
        let told = std::mem::replace(&mut self.told, now);
        stats.counts_set.add(now.set - told.set);
        stats.counts_released.add(now.released - told.released);
        stats.early_releases.add(now.early - told.early);
        stats.handovers.add(now.handovers - told.handovers);
        stats.given_up.add(now.given_up - told.given_up);
        stats.skipped.add(now.skipped - told.skipped);
    }

    /// Does what the command processor says.
    fn obey(&mut self, command: PageCommand, stats: &MmuStats) -> Result<(), Fault> {
        let (mut ownership, mut out) = (self.ownership.borrow_mut(), Vec::new());
        match command {
            PageCommand::Overlap(copy) => ownership.overlap(copy),
            PageCommand::Arrived(copy) => ownership.arrived(copy, &mut out).map_err(Fault::new)?,
            PageCommand::Launched { launch, irregular } => {
                ownership.launched(launch, irregular);
                self.events.push_back(PageEvent::Known(launch));
            }
            PageCommand::Profiled(launch) => ownership.profiled(launch, &mut out),
            PageCommand::Ended(launch) => ownership.ended(launch, &mut out),
            PageCommand::EndOfLaunches => ownership.end_of_launches(&mut out),
        }
        drop(ownership);
        self.follow(out, stats);
        Ok(())
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

    /// An entry has come, or a line of counts.
    fn take(&mut self, Tag(tag): Tag, cycle: u64, stats: &MmuStats) -> Result<(), Fault> {
        if tag == WRITE_BACK {
            return Ok(());
        }
        if let Some(index) = tag.checked_sub(COUNT_TAGS) {
            let counting = self.counting.get(index);
            counting.missing -= 1;
            if counting.missing == 0 {
                let Counting { sm, tag, since, .. } = self.counting.take(index);
                stats.count_latency.record(cycle - since);
                self.answers[sm].push_back(MmuReply::Counted { tag });
            }
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
    const DOC: &'static str = "Translates pages for the SMs: a TLB, and walkers that read page tables in device memory; \
                               grants them to kernels whose dependences are tracked (CRCS).";
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
        let (levels, end) = levels(memory.div_ceil(page), memory);
        let entries = levels.last().map_or(0, |level| level.base);
        Ok(Mmu {
            page,
            ownership: Rc::new(RefCell::new(Ownership::new(
                page.trailing_zeros(),
                params.early_release,
                params.available,
            ))),
            counts: Counts::new(
                entries,
                (end.next_multiple_of(LINE_BYTES), params.counts.get()),
                params.count_lines as usize,
            ),
            to_count: VecDeque::new(),
            counting: Table::default(),
            count_rate: params.count_rate.into(),
            counts_free: 0,
            counted: VecDeque::new(),
            notification: params.notification.get(),
            told: Tally::default(),
            moved: VecDeque::new(),
            events: VecDeque::new(),
            levels,
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
        let ownership = Rc::clone(&self.ownership);
        sim.explain(move || ownership.borrow().reasons());
        loop {
            let (cycle, stats) = (sim.cycle(), &sim.stats);
            for (sm, socket) in io.sms.iter_mut().enumerate() {
                match socket.rx.try_recv() {
                    Some(MmuRequest::Page { page, bytes, launch }) => {
                        if bytes != self.page {
                            return Err(Fault::new(format!(
                                "SM {sm} asks for a page of {bytes} bytes, and pages of this MMU have {}: `page` of the MMU \
                                 and `tlb.page` of the SMs must be equal",
                                self.page
                            )));
                        }
                        self.asked.push_back((cycle + self.latency, sm, (page, launch)));
                    }
                    Some(MmuRequest::Count(count)) => {
                        self.to_count.push_back((cycle + self.latency, sm, count));
                    }
                    None => {}
                }
            }
            if let Some(control) = &mut io.control
                && let Some(command) = control.rx.try_recv()
            {
                self.obey(command, stats)?;
            }
            if let Some(reply) = io.memory.rx.try_recv() {
                self.take(reply.tag, cycle, stats)?;
            }
            self.look_up(cycle, stats);
            self.begin(stats);
            self.count(cycle, stats)?;
            if !self.requests.is_empty()
                && let Some(permit) = io.memory.tx.try_reserve()
                && let Some(request) = self.requests.pop_front()
            {
                permit.send(request);
            }
            for (answers, socket) in self.answers.iter_mut().zip(&mut io.sms) {
                if !answers.is_empty()
                    && let Some(permit) = socket.tx.try_reserve()
                    && let Some(answer) = answers.pop_front()
                {
                    permit.send_after(sim.span(self.notification), answer);
                }
            }
            if let Some(owners) = &mut io.owners
                && !self.moved.is_empty()
                && let Some(permit) = owners.try_reserve()
                && let Some(moved) = self.moved.pop_front()
            {
                permit.send_after(sim.span(self.notification), moved);
            }
            if let Some(control) = &mut io.control
                && !self.events.is_empty()
                && let Some(permit) = control.tx.try_reserve()
                && let Some(event) = self.events.pop_front()
            {
                permit.send(event);
            }
            let asked = self.asked.front().map(|(ready, ..)| *ready);
            let counts = self.to_count.front().map(|(ready, ..)| (*ready).max(self.counts_free));
            let counted = self.counted.front().map(|(done, ..)| *done);
            let ready = asked.into_iter().chain(counts).chain(counted).min();
            let deadline = ready.map(|ready| sim.cycles_from_now(ready.saturating_sub(cycle).max(1)));
            let answers = &self.answers;
            let sms = io.sms.iter().zip(answers);
            let sources = sms.flat_map(|(sm, answers)| [sm.rx.when(true), sm.tx.when(!answers.is_empty())]);
            let memory = [io.memory.rx.when(true), io.memory.tx.when(!self.requests.is_empty())];
            let control = io.control.iter();
            let control =
                control.flat_map(|control| [control.rx.when(true), control.tx.when(!self.events.is_empty())]);
            let owners = io.owners.iter().map(|owners| owners.when(!self.moved.is_empty()));
            let waited_for = self.ownership.borrow().is_waited_for();
            sim.set_busy(
                waited_for || !self.waiting.is_empty() || !self.asked.is_empty() || !self.to_count.is_empty(),
            );
            let all = sources.chain(memory).chain(control).chain(owners);
            sim.wait(deadline.unwrap_or(SimTime::MAX), all).await;
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
