//! CRCS: the owner of each page, found by counting the blocks of each kernel that may access the page.
//!
//! A page belongs to the oldest kernel with blocks that have not ended and may access it, for reading or for writing. Before a
//! kernel runs, its pre-profiler adds each of its blocks to the list of every page in the block's ranges; when a block has
//! ended it is taken off again. When an owner has no blocks left, the page passes to the next kernel in its list, and behind the
//! last one to the host, if it is to go there (Kim et al., "Automatically Exploiting Implicit Pipeline Parallelism from Multiple
//! Dependent Kernels for GPUs", PACT 2016, section 4.1).
//!
//! Open in the paper, and decided here: entries without blocks are skipped as often as they follow each
//! other; a page never passes a kernel whose pre-profiler is not done, nor to the host before the last kernel
//! has been launched; pages that hold no input of the host are ready from the start. Pure: no time, no
//! messages.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use counterpoint::component::Choice;
use counterpoint::messages::bus::{Copy, Direction};
use counterpoint::messages::launch::LaunchId;
use counterpoint::messages::translation::{Change, RangeClaim};

use crate::messages::PageMoved;

/// The effect of a block's end on a page that an older kernel still owns.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyRelease {
    /// It changes the block's own kernel's entry in the list, as it must.
    Table,
    /// It changes the owner's count: a machine without this rule, to see what goes wrong.
    Owner,
}

/// When a page into which the host copies nothing counts as available.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Available {
    /// When its first owner has handed it over: before, nobody waits for what it holds.
    HandedOver,
    /// From the start.
    Always,
}

/// Consequences of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// An SM that waits for a page may access it.
    Grant {
        /// The SM.
        sm: usize,
        /// The page's number.
        page: u64,
        /// Launch for which the page waits.
        launch: LaunchId,
    },
    /// An available page has another owner.
    Moved(PageMoved),
    /// The copy to be made to the host.
    Leave(Copy),
}

/// Blocks of a kernel that may access a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    kernel: LaunchId,
    reads: u32,
    writes: u32,
}

#[derive(Clone, Debug, Default)]
struct Page {
    /// Bytes that the host copies here and that have not come: the ready bit, counted.
    missing: u64,
    /// The host copies something here.
    is_input: bool,
    /// The D2H bit: some bytes of the page are copied to the host.
    is_output: bool,
    has_left: bool,
    has_been_handed_over: bool,
    /// The scheduler counts it.
    is_available: bool,
    owner: Option<Entry>,
    /// The kernels behind the owner, oldest first.
    list: VecDeque<Entry>,
    /// SMs that wait for the page, each with its launch.
    waiting: Vec<(usize, LaunchId)>,
}

/// Number of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blocks counted, once for each page.
    pub set: u64,
    /// Blocks that have ended, likewise.
    pub released: u64,
    /// Early releases among `released`: an older kernel owned the page.
    pub early: u64,
    /// Changes of owners.
    pub handovers: u64,
    /// Pages that their owner has given up, because none of its blocks was left.
    pub given_up: u64,
    /// Entries without blocks that were passed by.
    pub skipped: u64,
}

/// The owners of all pages.
pub struct Ownership {
    shift: u32,
    early: EarlyRelease,
    available: Available,
    pages: Vec<Page>,
    /// Kernels whose pre-profiler is not done.
    unprofiled: BTreeSet<LaunchId>,
    /// Kernels that may touch any page and have not ended.
    irregular: BTreeSet<LaunchId>,
    kernels: BTreeSet<LaunchId>,
    /// More may come.
    is_open: bool,
    /// Copies to the host that go page by page.
    outputs: Vec<Copy>,
    /// Questions for pages that have not been granted.
    waiting: usize,
    /// Counts of events.
    pub tally: Tally,
}

impl Ownership {
    /// A table of pages of `1 << shift` bytes, none of which has an owner.
    pub fn new(shift: u32, early: EarlyRelease, available: Available) -> Self {
        Ownership {
            shift,
            early,
            available,
            pages: Vec::new(),
            unprofiled: BTreeSet::new(),
            irregular: BTreeSet::new(),
            kernels: BTreeSet::new(),
            is_open: true,
            outputs: Vec::new(),
            waiting: 0,
            tally: Tally::default(),
        }
    }

    /// The pages of a range of addresses; there is at least one, for the range has a byte.
    pub fn pages_of(&self, start: u64, end: u64) -> RangeInclusive<u64> {
        start >> self.shift..=end.saturating_sub(1).max(start) >> self.shift
    }

    fn page(&mut self, number: u64) -> &mut Page {
        let index = number as usize;
        if index >= self.pages.len() {
            self.pages.resize_with(index + 1, Page::default);
        }
        &mut self.pages[index]
    }

    /// The bytes of a page that are part of a range.
    fn bytes_within(&self, page: u64, start: u64, end: u64) -> (u64, u64) {
        ((page << self.shift).max(start), ((page + 1) << self.shift).min(end))
    }

    /// A copy will go page by page.
    pub fn overlap(&mut self, copy: Copy) {
        let (start, end) = (copy.device, copy.device + copy.bytes);
        if copy.bytes == 0 {
            return;
        }
        for page in self.pages_of(start, end) {
            let (from, to) = self.bytes_within(page, start, end);
            let page = self.page(page);
            match copy.direction {
                Direction::HostToDevice => {
                    page.missing += to - from;
                    page.is_input = true;
                }
                Direction::DeviceToHost => page.is_output = true,
            }
        }
        if copy.direction == Direction::DeviceToHost {
            self.outputs.push(copy);
        }
    }

    /// Part of a copy to the device has come.
    ///
    /// # Errors
    /// If it was not to come.
    pub fn arrived(&mut self, copy: Copy, out: &mut Vec<Consequence>) -> Result<(), String> {
        let (start, end) = (copy.device, copy.device + copy.bytes);
        for number in self.pages_of(start, end) {
            let (from, to) = self.bytes_within(number, start, end);
            let page = self.page(number);
            let left = page.missing.checked_sub(to - from);
            page.missing =
                left.ok_or_else(|| format!("more bytes came for page {number:#x} than were to"))?;
            if page.missing == 0 {
                self.grant(number, out);
                self.count_in(number, out);
                self.leave(number, out);
            }
        }
        Ok(())
    }

    /// A kernel has been launched.
    pub fn launched(&mut self, kernel: LaunchId, irregular: bool) {
        self.kernels.insert(kernel);
        if irregular { &mut self.irregular } else { &mut self.unprofiled }.insert(kernel);
    }

    /// Notes that all blocks of a kernel have been counted.
    pub fn profiled(&mut self, kernel: LaunchId, out: &mut Vec<Consequence>) {
        self.unprofiled.remove(&kernel);
        self.look_again(out);
    }

    /// Notes that all blocks of a kernel have ended.
    pub fn ended(&mut self, kernel: LaunchId, out: &mut Vec<Consequence>) {
        if self.irregular.remove(&kernel) {
            self.look_again(out);
        }
    }

    /// No kernel will be launched any more.
    pub fn end_of_launches(&mut self, out: &mut Vec<Consequence>) {
        self.is_open = false;
        self.look_again(out);
    }

    /// Pages that had to wait for a kernel to be known pass on.
    fn look_again(&mut self, out: &mut Vec<Consequence>) {
        for page in 0..self.pages.len() as u64 {
            if self.pages[page as usize].owner.is_none() {
                self.pass_on(page, out);
            }
        }
    }

    /// Whether a launch may access a page now; if not, the SM gets a message when it may.
    pub fn ask(&mut self, page: u64, launch: LaunchId, sm: usize) -> bool {
        let granted = self.is_granted(page, launch);
        if !granted {
            self.page(page).waiting.push((sm, launch));
            self.waiting += 1;
        }
        granted
    }

    /// Whether a page belongs to a kernel.
    pub fn is_owner(&self, page: u64, kernel: LaunchId) -> bool {
        let page = self.pages.get(page as usize);
        page.and_then(|page| page.owner).is_some_and(|owner| owner.kernel == kernel)
    }

    fn is_granted(&self, page: u64, launch: LaunchId) -> bool {
        if launch == LaunchId(0) {
            return true;
        }
        let any = self.irregular.contains(&launch);
        match self.pages.get(page as usize) {
            Some(page) => page.missing == 0 && (any || page.owner.is_some_and(|it| it.kernel == launch)),
            None => any,
        }
    }

    /// Notifies the waiters for a page that may access it now.
    fn grant(&mut self, number: u64, out: &mut Vec<Consequence>) {
        let waiting = std::mem::take(&mut self.pages[number as usize].waiting);
        let (granted, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|&(_, launch)| self.is_granted(number, launch));
        self.pages[number as usize].waiting = rest;
        self.waiting -= granted.len();
        out.extend(granted.into_iter().map(|(sm, launch)| Consequence::Grant { sm, page: number, launch }));
    }

    /// Changes the counts of the pages of a range.
    ///
    /// # Errors
    /// If more blocks end than were counted, or the kernel has not been launched.
    pub fn count(&mut self, count: &RangeClaim, out: &mut Vec<Consequence>) -> Result<(), String> {
        if !self.kernels.contains(&count.kernel) {
            return Err(format!("launch {} counts its blocks and does not track its pages", count.kernel.0));
        }
        for page in self.pages_of(count.start, count.end) {
            match count.change {
                Change::Claim => self.set(page, count),
                Change::Release => self.release(page, count, out)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, page: u64, count: &RangeClaim) {
        self.tally.set += 1;
        let list = &mut self.page(page).list;
        // Kernels come nearly in their order.
        let place = list.iter().rposition(|entry| entry.kernel <= count.kernel);
        let entry = match place {
            Some(place) if list[place].kernel == count.kernel => &mut list[place],
            place => {
                let at = place.map_or(0, |place| place + 1);
                list.insert(at, Entry { kernel: count.kernel, reads: 0, writes: 0 });
                &mut list[at]
            }
        };
        entry.reads += u32::from(count.reads);
        entry.writes += u32::from(count.writes);
    }

    fn release(&mut self, number: u64, count: &RangeClaim, out: &mut Vec<Consequence>) -> Result<(), String> {
        self.tally.released += 1;
        let early = self.early;
        let page = self.page(number);
        let owns = page.owner.is_some_and(|owner| owner.kernel == count.kernel);
        if owns || early == EarlyRelease::Owner {
            let Some(owner) = &mut page.owner else { return Ok(()) };
            let (reads, writes) = (u32::from(count.reads), u32::from(count.writes));
            if early == EarlyRelease::Table && (owner.reads < reads || owner.writes < writes) {
                return Err(too_many(number, count.kernel));
            }
            owner.reads = owner.reads.saturating_sub(reads);
            owner.writes = owner.writes.saturating_sub(writes);
            if owner.reads == 0 && owner.writes == 0 {
                self.pass_on(number, out);
            }
            return Ok(());
        }
        let entry = page.list.iter_mut().find(|entry| entry.kernel == count.kernel);
        let entry = entry.ok_or_else(|| too_many(number, count.kernel))?;
        let left =
            (entry.reads.checked_sub(count.reads.into()), entry.writes.checked_sub(count.writes.into()));
        let (Some(reads), Some(writes)) = left else { return Err(too_many(number, count.kernel)) };
        (entry.reads, entry.writes) = (reads, writes);
        self.tally.early += 1;
        Ok(())
    }

    /// Passes a page that its owner does not need any more to the next kernel that needs it, as far as that is known.
    fn pass_on(&mut self, number: u64, out: &mut Vec<Consequence>) {
        let first_unknown = self.unprofiled.first().copied();
        let page = &mut self.pages[number as usize];
        let from = page.owner.take().map(|owner| owner.kernel);
        page.has_been_handed_over |= from.is_some();
        self.tally.given_up += u64::from(from.is_some());
        while let Some(next) = page.list.front().copied()
            && first_unknown.is_none_or(|unknown| next.kernel < unknown)
        {
            page.list.pop_front();
            if next.reads > 0 || next.writes > 0 {
                page.owner = Some(next);
                self.tally.handovers += 1;
                break;
            }
            self.tally.skipped += 1;
        }
        let to = page.owner.map(|owner| owner.kernel);
        if to == from {
            self.leave(number, out);
            return;
        }
        if page.is_available {
            out.push(Consequence::Moved(PageMoved { from, to, appears: false }));
        } else {
            self.count_in(number, out);
        }
        if to.is_some() {
            self.grant(number, out);
        }
        self.leave(number, out);
    }

    /// Notifies the scheduler of a page that has become available.
    fn count_in(&mut self, number: u64, out: &mut Vec<Consequence>) {
        let always = self.available == Available::Always;
        let page = &mut self.pages[number as usize];
        let counts = page.is_input || page.has_been_handed_over || always && page.owner.is_some();
        if page.missing == 0 && counts && !page.is_available {
            page.is_available = true;
            let to = page.owner.map(|owner| owner.kernel);
            out.push(Consequence::Moved(PageMoved { from: None, to, appears: true }));
        }
    }

    /// Sends a page to the host that is to go there and that no kernel will touch any more.
    fn leave(&mut self, number: u64, out: &mut Vec<Consequence>) {
        let all_known = !self.is_open && self.unprofiled.is_empty() && self.irregular.is_empty();
        let page = &mut self.pages[number as usize];
        let done = page.owner.is_none() && page.list.is_empty() && page.missing == 0;
        if !(all_known && done && page.is_output) || page.has_left {
            return;
        }
        page.has_left = true;
        for output in &self.outputs {
            let (from, to) = self.bytes_within(number, output.device, output.device + output.bytes);
            if from < to {
                let host = output.host + (from - output.device);
                out.push(Consequence::Leave(Copy { host, device: from, bytes: to - from, ..*output }));
            }
        }
    }

    /// A page's owner, its remaining counts for reading and writing, and the entries behind it, for reports.
    pub fn describe(&self, page: u64) -> String {
        let of = |entry: &Entry| format!("launch {} (R {}, W {})", entry.kernel.0, entry.reads, entry.writes);
        let Some(page) = self.pages.get(page as usize) else { return "nobody".to_owned() };
        let owner = page.owner.as_ref().map_or_else(|| "nobody".to_owned(), of);
        let behind = page.list.iter().map(|entry| format!(", then {}", of(entry)));
        std::iter::once(owner).chain(behind).collect()
    }

    /// Reasons for which SMs wait for pages, with the pages' owners; SMs are given by number.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (number, page) in self.pages.iter().enumerate() {
            for (sm, launch) in &page.waiting {
                let of = match page.missing {
                    0 => format!("it belongs to {}", self.describe(number as u64)),
                    missing => format!("{missing} bytes of it have not come from the host"),
                };
                reasons.push(format!("SM {sm} waits for page {number:#x} for launch {}; {of}", launch.0));
            }
        }
        reasons
    }

    /// Whether an SM waits for a page.
    pub fn is_waited_for(&self) -> bool {
        self.waiting > 0
    }

    /// Whether every block that was counted has ended and nobody owns a page.
    pub fn is_done(&self) -> bool {
        self.tally.set == self.tally.released
            && self.pages.iter().all(|page| page.owner.is_none() && page.list.is_empty())
    }
}

fn too_many(page: u64, kernel: LaunchId) -> String {
    format!("more blocks of launch {} have ended for page {page:#x} than were counted", kernel.0)
}

#[cfg(test)]
mod tests;
