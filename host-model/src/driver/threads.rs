//! Threads of the host beside the one that executes the steps: each moves pages between files and memory, computes them, or computes
//! something else, in a fixed order; the host's parameters limit the pages under way. A thread that needs a page which the device has not
//! sent yet faults and waits for it.

use std::collections::{BTreeMap, VecDeque};

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_framework::time::{SimTime, Wire};
use counterpoint_protocols::bus::{Copy, Work};
use counterpoint_protocols::extra::Note;
use counterpoint_protocols::host::HostAccess;
use counterpoint_protocols::memory::Tag;

use super::overlap::ASIDE;
use super::{Driver, Page};
use crate::program::{HostStep, Transfer};

/// A page that a thread moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// File and buffer of the page.
    pub transfer: Transfer,
    /// Offset of the page in the transfer.
    offset: u64,
    /// Address of the page in memory, taken early: names may refer to other buffers by the time that the page is moved.
    address: u64,
    bytes: u32,
}

/// A piece of a thread's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A page from a file, or from the CPU that computes it, to memory.
    Fill(Move),
    /// A page from memory to a file, when it is valid.
    Drain(Move),
    /// The CPU is busy for a time, after the pages before have arrived.
    Busy(SimTime),
    /// Like `Busy`, after the devices have also sent all their results: it is unknown which of them the CPU needs.
    BusyWithResults(SimTime),
}

/// A thread.
pub struct Thread {
    pieces: VecDeque<Piece>,
    /// Pages under way, in its slots.
    under_way: usize,
    /// Whether the page at which it waits has been counted as a fault.
    has_faulted: bool,
    /// Time at which the thread will have computed its next page, or will no longer be busy.
    ready: Option<SimTime>,
    cpu: Wire,
    span: SpanId,
    bytes: u64,
    /// For the CTA schedulers of the devices when it is done.
    last: Option<Note>,
    is_done: bool,
}

impl Thread {
    /// A thread that has not begun, whose work is recorded in a span.
    pub fn new(pieces: impl IntoIterator<Item = Piece>, span: SpanId, last: Option<Note>) -> Self {
        Thread {
            pieces: pieces.into_iter().collect(),
            under_way: 0,
            has_faulted: false,
            ready: None,
            cpu: Wire::default(),
            span,
            bytes: 0,
            last,
            is_done: false,
        }
    }
}

/// Bytes of pages that a device is to send and has not sent, by the address of the page: those whose valid bit is clear.
#[derive(Default)]
pub(super) struct Invalid(BTreeMap<u64, u64>);

impl Invalid {
    /// Expects bytes of a page from a device.
    pub(super) fn expect(&mut self, page: u64, bytes: u64) {
        *self.0.entry(page).or_default() += bytes;
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, page: u64) -> bool {
        self.0.contains_key(&page)
    }

    /// Bytes of a page have arrived.
    fn arrived(&mut self, page: u64, bytes: u64) {
        if let Some(missing) = self.0.get_mut(&page) {
            *missing = missing.saturating_sub(bytes);
            if *missing == 0 {
                self.0.remove(&page);
            }
        }
    }
}

impl Driver<'_> {
    /// Starts a thread, in the slot of a finished thread if there is one; returns its number. The thread advances whenever the host waits.
    pub fn start(&mut self, thread: Thread) -> usize {
        if let Some(number) = self.threads.iter().position(|thread| thread.is_done) {
            self.threads[number] = thread;
            return number;
        }
        self.threads.push(thread);
        let slots = (self.threads.len() + 1) * self.depth;
        self.pages.resize_with(slots, || None);
        self.threads.len() - 1
    }

    /// Starts a thread that does a step of the host.
    pub(crate) fn start_step(&mut self, step: &HostStep, parent: Option<SpanId>) -> usize {
        let (verb, pieces): (&str, Vec<Piece>) = match *step {
            HostStep::Read(transfer) => ("fill", self.pages_of(transfer).map(Piece::Fill).collect()),
            HostStep::Write(transfer) => ("write", self.pages_of(transfer).map(Piece::Drain).collect()),
            HostStep::Busy(time) => ("compute on the host", vec![Piece::Busy(time)]),
        };
        let buffer = step.transfer().map(|transfer| self.place(transfer.part.buffer));
        let name = buffer.map(|place| format!("{verb} {}", self.application.buffers[place].name));
        let span = self.begin(parent, Level::Kernels, name.unwrap_or_else(|| verb.to_owned()));
        self.start(Thread::new(pieces, span, None))
    }

    /// Whether a thread is done.
    pub(crate) fn is_thread_done(&self, thread: usize) -> bool {
        self.threads[thread].is_done
    }

    /// Waits until all threads are done, and all pages that devices are to send have arrived.
    pub async fn join(&mut self) -> Result<(), Fault> {
        while self.threads.iter().any(|thread| !thread.is_done) || !self.invalid.is_empty() {
            self.event().await?;
        }
        Ok(())
    }

    /// The pages of a transfer.
    pub fn pages_of(&self, transfer: Transfer) -> impl Iterator<Item = Move> + use<> {
        let (place, page) = (self.place(transfer.part.buffer), self.page);
        let (size, start) = (transfer.part.bytes, self.host_address[place] + transfer.part.offset);
        (0..size).step_by(page as usize).map(move |offset| Move {
            transfer,
            offset,
            address: start + offset,
            bytes: page.min(size - offset) as u32,
        })
    }

    /// A page of a thread, or of the thread that executes the steps, has reached its end.
    pub(super) fn end_of_page(&mut self, Tag(slot): Tag, bytes: u32) {
        if let Some(thread) = (slot as usize / self.depth).checked_sub(1) {
            let thread = &mut self.threads[thread];
            thread.under_way -= 1;
            thread.bytes += u64::from(bytes);
        }
    }

    /// Part of a buffer has arrived from a device: each of its pages is valid when all its bytes have arrived.
    pub(super) fn page_came(&mut self, copy: Copy) {
        let (mut at, end) = (copy.host, copy.host + copy.bytes);
        while at < end {
            let page = at / self.page * self.page;
            let stop = (page + self.page).min(end);
            self.invalid.arrived(page, stop - at);
            at = stop;
        }
        self.journal.moved(copy.bytes);
    }

    /// Advances every thread as far as possible; false if none could advance.
    pub(super) async fn run_threads(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.threads.len() {
            while let Some((tag, next)) = self.next_page(index) {
                any = true;
                self.threads[index].under_way += 1;
                match next {
                    Next::Fill(Move { transfer, offset, address, bytes }) => {
                        if self.application.copy_in.contains(&transfer.part.buffer) {
                            // The copy of the page follows by itself, without a message to the host.
                            self.journal.moved(bytes.into());
                        }
                        self.pages[tag.0 as usize] = Some(Page::Fill { address, bytes });
                        self.fill_page(tag, transfer, offset, (address, bytes)).await;
                    }
                    Next::Drain(Move { transfer, offset, address, bytes }) => {
                        self.pages[tag.0 as usize] = Some(Page::Drain { transfer, offset, bytes });
                        self.io.memory.tx.send(HostAccess::Read { tag, address, bytes }).await;
                    }
                }
            }
            let thread = &mut self.threads[index];
            if thread.pieces.is_empty() && thread.under_way == 0 && !thread.is_done {
                (any, thread.is_done) = (true, true);
                let (span, bytes, last) = (thread.span, thread.bytes, thread.last.take());
                self.end_transfer(span, bytes);
                if let Some(last) = last {
                    for device in self.application.devices() {
                        let work = Work::Note { note: last.clone(), pages: false };
                        self.command(device, ASIDE, work, None, 0).await;
                    }
                }
            }
        }
        any
    }

    /// Earliest time at which a thread finishes a computation.
    pub(super) fn next_computed(&self) -> SimTime {
        self.threads.iter().filter_map(|thread| thread.ready).min().unwrap_or(SimTime::MAX)
    }

    /// A thread's next page and a free slot for it, if the thread can continue.
    fn next_page(&mut self, index: usize) -> Option<(Tag, Next)> {
        let mut slots = (index + 1) * self.depth..(index + 2) * self.depth;
        let slot = slots.find(|&slot| self.pages[slot].is_none())?;
        let now = self.sim.now();
        let next = loop {
            let thread = &mut self.threads[index];
            match *thread.pieces.front()? {
                Piece::Fill(next) => {
                    if let Some(computed) = self.application.computed.get(&next.transfer.file) {
                        let cpu = &mut thread.cpu;
                        let make = || computed.ready(cpu, now, next.offset, next.bytes.into());
                        if !passed(&mut thread.ready, now, make) {
                            return None;
                        }
                    }
                    break Next::Fill(next);
                }
                Piece::Drain(next) => {
                    if self.invalid.has(next.address) {
                        self.sim.stats.page_faults.add(u64::from(!thread.has_faulted));
                        thread.has_faulted = true;
                        return None;
                    }
                    thread.has_faulted = false;
                    break Next::Drain(next);
                }
                Piece::Busy(time) | Piece::BusyWithResults(time) => {
                    let waits = matches!(thread.pieces.front(), Some(Piece::BusyWithResults(_)));
                    if thread.under_way > 0 || waits && !self.invalid.is_empty() {
                        return None;
                    }
                    if !passed(&mut thread.ready, now, || now + time) {
                        return None;
                    }
                    thread.pieces.pop_front();
                }
            }
        };
        self.threads[index].pieces.pop_front();
        Some((Tag(slot as u32), next))
    }
}

/// A page that a thread moves next.
enum Next {
    Fill(Move),
    Drain(Move),
}

/// Whether a time has passed, which `settle` sets on the first call.
fn passed(ready: &mut Option<SimTime>, now: SimTime, settle: impl FnOnce() -> SimTime) -> bool {
    let passed = now >= *ready.get_or_insert_with(settle);
    if passed {
        *ready = None;
    }
    passed
}
