//! The MMU's authority over pages: grants them to kernels whose pages are tracked, when these are ready and no older kernel needs them.

mod counts;
pub mod ownership;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use counterpoint::component::{Counter, Distribution, Equipped, Params, Ports, Registry, Site, Stats};
use counterpoint::gpu::Table;
use counterpoint::gpu::mmu::{Authority, Outbox, Tables};
use counterpoint::kernel::{Fault, Out, Source};
use counterpoint::messages::launch::LaunchId;
use counterpoint::messages::memory::{ByteMask, LINE_BYTES, MemAccess, Values};
use counterpoint::messages::pages::{PageCommand, PageEvent, PageServer};
use counterpoint::messages::translation::{MmuReply, RangeClaim};
use counterpoint::time::{Bytes, SimTime};

use crate::messages::{Irregular, PageMoved, Progress};
use counts::Counts;
use ownership::{Available, Consequence, EarlyRelease, Ownership, Tally};

pub(crate) fn register(registry: &mut Registry) {
    registry.equipped::<dyn Authority, Owners>();
}

/// Parameters.
#[derive(Clone, Debug, Params)]
pub(super) struct OwnersParams {
    /// Bytes of device memory, behind the page tables, for the lists of reference counts.
    #[param(default = "4 MiB", min = "64 B")]
    counts: Bytes,
    /// Lines of counts that the MMU keeps at hand.
    #[param(default = "64", min = "1", max = "4096")]
    count_lines: u32,
    /// Lines of counts of one range that it changes in a cycle. The paper gives no figure; its effect on
    /// results is measured in DEVIATIONS.md.
    #[param(default = "8", min = "1", max = "1024")]
    count_rate: u32,
    /// Which counts change when a block ends that may have accessed a page of an older kernel. Anything but `table` is wrong,
    /// for experiments.
    #[param(default = "table")]
    early_release: EarlyRelease,
    /// When pages into which the host copies nothing count as available to the CTA scheduler, which the paper leaves open.
    #[param(default = "handed-over")]
    available: Available,
}

/// Its ports.
#[derive(Ports)]
pub(super) struct OwnersPorts {
    /// The command processor.
    control: Option<PageServer>,
    /// The CTA scheduler: the owners of the available pages.
    owners: Option<Out<PageMoved>>,
}

/// Its statistics.
#[derive(Default, Stats)]
pub(super) struct OwnersStats {
    /// Blocks counted before they ran, once for each page.
    counts_set: Counter,
    /// Blocks counted off, likewise.
    counts_released: Counter,
    /// Blocks counted off while an older kernel owned the page.
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
    /// Lines of counts that had to be read from memory.
    #[stat(unit = "lines")]
    count_misses: Counter,
    /// Lines of counts that were written back to make room.
    #[stat(unit = "lines")]
    count_write_backs: Counter,
    /// Cycles from the change of a range's counts to its acknowledgement.
    #[stat(unit = "cycles")]
    count_latency: Distribution,
}

/// A change of counts that waits for lines.
struct Counting {
    sm: usize,
    tag: u32,
    missing: usize,
    since: u64,
}

/// The number of all writes of counts, for whose answers nobody waits.
const WRITE_BACK: u32 = u32::MAX - (1 << 16);

/// The authority `owners`.
struct Owners {
    params: OwnersParams,
    ports: OwnersPorts,
    stats: Rc<OwnersStats>,
    latency: u64,
    /// Shared with the report of a run that hangs.
    ownership: Rc<RefCell<Ownership>>,
    counts: Counts,
    /// Claims on their way to the tables.
    to_count: VecDeque<(u64, usize, RangeClaim)>,
    /// Claims that wait for lines, by the number of their requests.
    counting: Table<Counting>,
    /// The cycle in which the next change can be made.
    counts_free: u64,
    /// Changes that are made in a cycle, without a line missing.
    counted: VecDeque<(u64, usize, u32)>,
    /// The part of the ownership's tally that is in the statistics.
    told: Tally,
    moved: VecDeque<PageMoved>,
    events: VecDeque<PageEvent>,
}

impl Equipped<dyn Authority> for Owners {
    const NAME: &'static str = "owners";
    const DOC: &'static str =
        "A page belongs to the oldest kernel with blocks that may access it, counted block by block (CRCS).";
    type Params = OwnersParams;
    type Ports = OwnersPorts;
    type Stats = OwnersStats;

    fn build(
        params: &OwnersParams,
        site: Site<'_, OwnersPorts, OwnersStats>,
    ) -> Result<Box<dyn Authority>, Fault> {
        let ownership = Ownership::new(0, params.early_release, params.available);
        Ok(Box::new(Owners {
            params: params.clone(),
            ports: site.ports,
            stats: site.stats,
            latency: 0,
            ownership: Rc::new(RefCell::new(ownership)),
            counts: Counts::new(0, (0, 0), 0),
            to_count: VecDeque::new(),
            counting: Table::default(),
            counts_free: 0,
            counted: VecDeque::new(),
            told: Tally::default(),
            moved: VecDeque::new(),
            events: VecDeque::new(),
        }))
    }
}

impl Owners {
    /// Changes the counts of the next range, when the lines of the last one have been changed.
    fn count(&mut self, cycle: u64, outbox: &mut Outbox) -> Result<(), String> {
        while self.counts_free <= cycle
            && let Some(&(ready, sm, count)) = self.to_count.front()
            && ready <= cycle
        {
            self.to_count.pop_front();
            let mut ownership = self.ownership.borrow_mut();
            let owned = |page| ownership.is_owner(page, count.kernel);
            let pages = ownership.pages_of(count.start, count.end);
            let cost = self.counts.change(pages, &count, owned)?;
            let mut consequences = Vec::new();
            ownership.count(&count, &mut consequences)?;
            drop(ownership);
            self.follow(consequences, outbox);
            let stats = &self.stats;
            stats.count_lines.add(cost.lines);
            stats.count_misses.add(cost.reads.len() as u64);
            stats.count_write_backs.add(cost.writes.len() as u64);
            self.counts_free = cycle + cost.lines.div_ceil(self.params.count_rate.into());
            for line in cost.writes {
                outbox.request(line, WRITE_BACK, MemAccess::Write(ByteMask::MAX, Values::zero()));
            }
            if cost.reads.is_empty() {
                stats.count_latency.record(self.counts_free - cycle);
                self.counted.push_back((self.counts_free, sm, count.tag));
                continue;
            }
            let counting = Counting { sm, tag: count.tag, missing: cost.reads.len(), since: cycle };
            let number = self.counting.insert(counting);
            cost.reads
                .into_iter()
                .for_each(|line| outbox.request(line, number, MemAccess::Read(ByteMask::MAX)));
        }
        Ok(())
    }

    /// Sends the messages that follow from a change of pages.
    fn follow(&mut self, consequences: Vec<Consequence>, outbox: &mut Outbox) {
        let stats = &self.stats;
        for consequence in consequences {
            match consequence {
                Consequence::Grant { sm, page, launch } => {
                    outbox.answer(sm, MmuReply::Page { page, launch, granted: true });
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

    fn obey(&mut self, command: PageCommand, outbox: &mut Outbox) -> Result<(), String> {
        let (mut ownership, mut out) = (self.ownership.borrow_mut(), Vec::new());
        match command {
            PageCommand::Overlap(copy) => ownership.overlap(copy),
            PageCommand::Arrived(copy) => ownership.arrived(copy, &mut out)?,
            PageCommand::Launched(launch) => {
                ownership.launched(launch.id, Irregular::is(&launch));
                self.events.push_back(PageEvent::Known(launch.id));
            }
            PageCommand::HelperEnded(launch) => ownership.profiled(launch, &mut out),
            PageCommand::Ended(launch) => ownership.ended(launch, &mut out),
            PageCommand::Note(note) if note.get() == Some(&Progress::EndOfLaunches) => {
                ownership.end_of_launches(&mut out);
            }
            PageCommand::Note(_) => {}
        }
        drop(ownership);
        self.follow(out, outbox);
        Ok(())
    }
}

impl Authority for Owners {
    fn begin(&mut self, tables: Tables) {
        let OwnersParams { counts, count_lines, early_release, available, .. } = self.params;
        let pool = (tables.end.next_multiple_of(LINE_BYTES), counts.get());
        self.counts = Counts::new(tables.entries, pool, count_lines as usize);
        *self.ownership.borrow_mut() = Ownership::new(tables.page.trailing_zeros(), early_release, available);
        self.latency = tables.latency;
    }

    fn claim(&mut self, cycle: u64, sm: usize, claim: RangeClaim) -> Result<(), String> {
        self.to_count.push_back((cycle + self.latency, sm, claim));
        Ok(())
    }

    fn hear(&mut self, outbox: &mut Outbox) -> Result<(), String> {
        match self.ports.control.as_mut().and_then(|control| control.rx.try_recv()) {
            Some(command) => self.obey(command, outbox),
            None => Ok(()),
        }
    }

    fn answered(&mut self, number: u32, cycle: u64, outbox: &mut Outbox) {
        if number == WRITE_BACK {
            return;
        }
        let counting = self.counting.get(number);
        counting.missing -= 1;
        if counting.missing == 0 {
            let Counting { sm, tag, since, .. } = self.counting.take(number);
            self.stats.count_latency.record(cycle - since);
            outbox.answer(sm, MmuReply::Claimed { tag });
        }
    }

    fn ask(&mut self, page: u64, launch: LaunchId, sm: usize) -> bool {
        self.ownership.borrow_mut().ask(page, launch, sm)
    }

    fn work(&mut self, cycle: u64, outbox: &mut Outbox) -> Result<(), String> {
        while let Some(&(done, sm, tag)) = self.counted.front()
            && done <= cycle
        {
            self.counted.pop_front();
            outbox.answer(sm, MmuReply::Claimed { tag });
        }
        self.count(cycle, outbox)
    }

    fn send(&mut self, notification: SimTime) {
        if let Some(owners) = &mut self.ports.owners
            && !self.moved.is_empty()
            && let Some(permit) = owners.try_reserve()
            && let Some(moved) = self.moved.pop_front()
        {
            permit.send_after(notification, moved);
        }
        if let Some(control) = &mut self.ports.control
            && !self.events.is_empty()
            && let Some(permit) = control.tx.try_reserve()
            && let Some(event) = self.events.pop_front()
        {
            permit.send(event);
        }
    }

    fn due(&self) -> Option<u64> {
        let counts = self.to_count.front().map(|(ready, ..)| (*ready).max(self.counts_free));
        let counted = self.counted.front().map(|(done, ..)| *done);
        counts.into_iter().chain(counted).min()
    }

    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        let OwnersPorts { control, owners } = &self.ports;
        let control = control.iter();
        let control =
            control.flat_map(|control| [control.rx.when(true), control.tx.when(!self.events.is_empty())]);
        let owners = owners.iter().map(|owners| owners.when(!self.moved.is_empty()));
        control.chain(owners).collect()
    }

    fn is_busy(&self) -> bool {
        self.ownership.borrow().is_waited_for() || !self.to_count.is_empty()
    }

    fn reasons(&self) -> Box<dyn Fn() -> Vec<String>> {
        let ownership = Rc::clone(&self.ownership);
        Box::new(move || ownership.borrow().reasons())
    }
}
