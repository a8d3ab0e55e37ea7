//! A process as the kernel sees it, and the waits that concern time alone.
//!
//! [`Process`] is the hub that a component's ports and context share: its island, its clock, and its wake-ups. A
//! process runs at edges of its own clock only; every wake-up is rounded up to one.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::hash::Hasher;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::domain::Domain;
use super::hang_reasons::{HangReason, Known, Recall};
use super::hash::EventHasher;
use super::island_state::IslandState;
use super::queue::{NEVER, Slot};
use super::tried::{Tries, WaitTried};
use crate::time::{Clock, Edge, SimTime};

/// Something that a process can wait for besides time: a message on an input, a credit on an output.
pub trait Source {
    /// Time at which the source will have something, as far as is known now.
    fn due(&self) -> Option<SimTime>;
    /// Asks for a wake-up should the source become due, or due earlier.
    fn arm(&self);
    /// Withdraws that request.
    fn disarm(&self);

    /// Arms the source, and gives the time of [`Source::due`].
    fn arm_due(&self) -> Option<SimTime> {
        self.arm();
        self.due()
    }

    /// The source, if it is to be waited for at all.
    fn when(&self, condition: bool) -> Option<&dyn Source>
    where
        Self: Sized,
    {
        condition.then_some(self)
    }
}

/// A process's own state within the kernel, in 64 bytes. One thread's `Rc`s hold it.
#[repr(C)]
pub struct Process {
    pub(crate) domain: Rc<Domain>,
    pub(crate) island: Rc<IslandState>,
    /// Number of its wait, from 1: sources that were armed for an earlier one wake nobody.
    wait_number: Cell<u64>,
    /// Position in the domain.
    pub(crate) slot: Slot,
    /// Whether the process is inside [`Process::concurrently`].
    pub(super) concurrent: Cell<bool>,
    pub(crate) watches: Cell<bool>,
    /// See [`Process::set_acts`].
    pub(crate) acts: Cell<bool>,
    /// See [`Process::set_busy`].
    pub(crate) busy: Cell<bool>,
    hashing: bool,
    hash: Cell<EventHasher>,
    /// Position in the island.
    pub(crate) place: u32,
    /// Position in the machine, the same however it is cut.
    pub(crate) index: u32,
    /// Explanations of the process for a run that hangs.
    words: Cell<Option<Box<Words>>>,
}

/// See [`Process::explain`] and [`Process::recall`].
#[derive(Default)]
struct Words {
    reasons: Option<Box<dyn Fn() -> Vec<HangReason>>>,
    recall: Option<Box<dyn Fn(u64) -> Option<Recall>>>,
}

impl Process {
    pub(crate) fn new(domain: Rc<Domain>, slot: Slot, index: u32, hashing: bool) -> Rc<Self> {
        Rc::new(Process {
            island: Rc::clone(&domain.island),
            place: domain.first + slot,
            domain,
            slot,
            index,
            wait_number: Cell::new(1),
            concurrent: Cell::new(false),
            watches: Cell::new(false),
            hashing,
            hash: Cell::default(),
            busy: Cell::new(false),
            acts: Cell::new(true),
            words: Cell::new(None),
        })
    }

    /// Declares whether the component has begun work that it has not finished. A server that waits for the answer to a
    /// request of its own looks like an idle one; the report of a deadlock names those that are busy. (Those that wait for a
    /// credit are named anyhow.)
    #[inline]
    pub fn set_busy(&self, busy: bool) {
        self.busy.set(busy);
    }

    /// Declares whether the component acts: whether it starts anything that others can see. By default every component does. A server,
    /// which only answers requests, does not act and declares that at its start. Nor does a client act that repeats one request and
    /// ignores the answer while it stays the same. A machine in which no component acts for long, though messages flow, is in a
    /// livelock.
    pub fn set_acts(&self, acts: bool) {
        self.acts.set(acts);
        if acts {
            self.domain.declared.set(self.ps());
        }
    }

    /// Reports work for which no message is taken, so that time does not pass in vain: a process that
    /// computes for long calls this from time to time, or it looks like a livelock.
    pub fn progress(&self) {
        self.goes_on();
    }

    /// Notes progress of the process, for the livelock guard.
    #[inline(always)]
    pub(crate) fn goes_on(&self) {
        let Domain { moved, acted, .. } = &*self.domain;
        if self.acts.get() { acted } else { moved }.set(self.ps());
    }

    /// Sets the explanation for a run that hangs: the processes that this one lets wait for something that
    /// its ports do not show, and the reasons, a line for each. Called when nothing happens any more.
    pub fn explain<R: Into<HangReason>>(&self, reasons: impl Fn() -> Vec<R> + 'static) {
        let reasons = move || reasons().into_iter().map(Into::into).collect();
        self.change_words(|words| words.reasons = Some(Box::new(reasons)));
    }

    /// Registers an address (`place`) on whose contents a reason depends ([`HangReason::about`]), before the run hangs.
    pub fn ask(&self, place: u64) {
        self.island.places.add(place);
    }

    /// Sets the function that gives the contents of an address, if the process holds them. The kernel calls it when no event is left.
    pub fn recall(&self, answer: impl Fn(u64) -> Option<Recall> + 'static) {
        self.change_words(|words| words.recall = Some(Box::new(answer)));
    }

    fn change_words<T>(&self, change: impl FnOnce(&mut Words) -> T) -> T {
        let mut words = self.words.take().unwrap_or_default();
        let changed = change(&mut words);
        self.words.set(Some(words));
        changed
    }

    /// Reasons of the process in a run that hangs.
    pub(crate) fn reasons(&self) -> Vec<HangReason> {
        self.change_words(|words| words.reasons.as_ref().map_or_else(Vec::new, |reasons| reasons()))
    }

    /// Contents of addresses that the process holds.
    pub(crate) fn recalled(&self, places: &[u64]) -> Vec<Known> {
        self.change_words(|words| {
            let Some(recall) = &words.recall else { return Vec::new() };
            let known = places.iter().filter_map(|&place| Some((self.index as usize, place, recall(place)?)));
            known.collect()
        })
    }

    /// The current simulated time.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.edge().time()
    }

    /// The current simulated time in picoseconds.
    #[inline]
    pub(crate) fn ps(&self) -> u64 {
        self.edge().time().as_ps()
    }

    /// Position in the machine: the index into [`ProcessNetwork::processes`](crate::ProcessNetwork::processes).
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The process's clock.
    pub fn clock(&self) -> Clock {
        self.domain.clock
    }

    /// The clock, by reference.
    #[inline(always)]
    pub(crate) fn clock_ref(&self) -> &Clock {
        &self.domain.clock
    }

    /// The edge at which the process runs now.
    #[inline]
    pub fn edge(&self) -> Edge {
        self.domain.edge()
    }

    /// The index of that edge: how many cycles have passed.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.edge().index()
    }

    /// The time `cycles` after the current edge.
    #[inline]
    pub fn cycles_from_now(&self, cycles: u64) -> SimTime {
        self.edge_after(cycles).time()
    }

    /// The duration of `cycles` from the current edge: what to send a message after.
    #[inline]
    pub fn span(&self, cycles: u64) -> SimTime {
        self.cycles_from_now(cycles) - self.edge().time()
    }

    #[inline]
    fn edge_after(&self, cycles: u64) -> Edge {
        let clock = &self.domain.clock;
        clock.after(self.edge(), clock.cycles(cycles))
    }

    /// Wakes the process at its first edge at or after `time`.
    #[inline]
    pub(crate) fn wake_at(&self, time: u64) {
        if time != NEVER {
            self.domain.schedule_at(self.slot, time);
        }
    }

    /// Goes on at `edge` at once if nothing else happens in the island before it; otherwise asks to be woken there and returns
    /// false.
    #[inline(always)]
    fn advance_or_sleep_until(&self, edge: Edge) -> bool {
        let advanced = self.domain.try_advance(edge);
        if !advanced {
            self.domain.schedule(self.slot, edge.index());
        }
        advanced
    }

    /// Like `advance_or_sleep_until`, at the first edge at or after `time`; the process never wakes if `time` is `NEVER`.
    #[inline(always)]
    pub(crate) fn advance_or_sleep(&self, time: u64) -> bool {
        self.domain.advance_or_sleep(self.slot, time)
    }

    /// Waits for the next edge of the process's clock.
    #[inline]
    pub fn tick(&self) -> Tick<'_> {
        Tick { process: self, target: self.cycle() + 1 }
    }

    /// Waits for `cycles` edges of the process's clock; zero does not wait.
    #[inline]
    pub fn cycles(&self, cycles: u64) -> UntilEdge<'_> {
        UntilEdge { process: self, edge: self.edge_after(cycles) }
    }

    /// Waits until the first edge at or after `time`; a time that has passed does not wait.
    pub fn until(&self, time: SimTime) -> UntilEdge<'_> {
        UntilEdge { process: self, edge: self.domain.edge_at_or_after(time.as_ps()) }
    }

    /// Waits for a duration from now, rounded up to the next edge; a duration of zero does not wait.
    pub fn sleep(&self, duration: SimTime) -> UntilEdge<'_> {
        self.until(self.now().saturating_add(duration))
    }

    /// Waits for the next edge at which `deadline` has passed or one of `sources` is due.
    ///
    /// At least one cycle passes: a component that has done all it can in this cycle checks again in the next. Several
    /// sources may be due then. `SimTime::MAX` waits for sources alone; `None` among the sources is passed over, which
    /// with [`Source::when`] states conditions.
    #[inline]
    pub fn wait<'a, I>(&'a self, deadline: SimTime, sources: I) -> Wait<'a, I>
    where
        I: IntoIterator<Item = Option<&'a dyn Source>> + Clone,
    {
        Wait { process: self, deadline: deadline.as_ps(), earliest: self.ps() + 1, sources, armed: false }
    }

    /// Waits for the next edge at which `deadline` has passed or a port has something that the component tried since its last wait: a message on
    /// an input from which it took one or that was empty, a credit on an output from which it requested one. A message that it saw and left
    /// where it is does not end the wait.
    ///
    /// At least one cycle passes. It must not be awaited inside [`Process::concurrently`].
    #[inline]
    pub fn wait_tried<'a, T: Tries>(&'a self, deadline: SimTime, ports: &'a T) -> WaitTried<'a, T> {
        WaitTried::new(self, deadline.as_ps(), ports)
    }

    /// Polls `body`, which awaits several operations at once, so that none of them runs ahead of the others.
    ///
    /// Combinators such as `join!` and `select!` poll their branches one after another within an instant. A branch
    /// must not move time forward while another one still has something to do now.
    pub fn concurrently<F: Future>(&self, body: F) -> impl Future<Output = F::Output> {
        let mut body = Box::pin(body);
        poll_fn(move |context| {
            let outer = self.concurrent.replace(true);
            self.island.hold();
            let polled = body.as_mut().poll(context);
            self.concurrent.set(outer);
            if polled.is_ready() && !outer {
                // Branches that were given up must not wake anybody.
                self.domain.withdraw(self.slot);
            }
            polled
        })
    }

    /// Ends the wait by advancing the wait number: registrations for this wait are void.
    #[inline(always)]
    pub(super) fn end_wait(&self) {
        self.wait_number.set(self.wait_number.get() + 1);
    }

    #[inline(always)]
    pub(crate) fn wait_number(&self) -> u64 {
        self.wait_number.get()
    }

    /// Adds an event to the process's hash. The port's number is read only for that.
    #[inline(always)]
    pub(crate) fn record(&self, port: &u32, event: impl FnOnce(&mut EventHasher)) {
        if self.hashing {
            let mut hasher = self.hash.get();
            hasher.write_u64(self.ps());
            hasher.write_u32(*port);
            event(&mut hasher);
            self.hash.set(hasher);
        }
    }

    /// The hash of all events so far, if there is one.
    pub(crate) fn hash(&self) -> Option<u64> {
        self.hashing.then(|| self.hash.get().finish())
    }
}

/// Waits for the next edge; see [`Process::tick`].
#[must_use = "time passes only if this is awaited"]
pub struct Tick<'a> {
    process: &'a Process,
    target: u64,
}

// The waits that every component is made of are types of their own rather than `poll_fn`: their polls are inlined into
// the component's state machine, which a closure from another crate is not.
impl Future for Tick<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Process { domain, slot, .. } = self.process;
        if self.process.cycle() >= self.target || domain.advance_or_sleep_to_next(*slot) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// Waits for an edge; see [`Process::cycles`] and [`Process::until`].
#[must_use = "time passes only if this is awaited"]
pub struct UntilEdge<'a> {
    process: &'a Process,
    edge: Edge,
}

impl Future for UntilEdge<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.process.cycle() >= self.edge.index() || self.process.advance_or_sleep_until(self.edge) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// Waits for a time or for sources, whichever is first; see [`Process::wait`].
#[must_use = "time passes only if this is awaited"]
pub struct Wait<'a, I: IntoIterator<Item = Option<&'a dyn Source>> + Clone> {
    process: &'a Process,
    deadline: u64,
    /// The wait does not end before this time.
    earliest: u64,
    sources: I,
    armed: bool,
}

impl<'a, I: IntoIterator<Item = Option<&'a dyn Source>> + Clone> Wait<'a, I> {
    /// Calls `act` with each source. A loop over options takes half the instructions of a flattened iterator.
    #[inline(always)]
    fn each(&self, mut act: impl FnMut(&'a dyn Source)) {
        for source in self.sources.clone() {
            let Some(source) = source else { continue };
            act(source);
        }
    }

    /// Time at which the wait ends, as far as is known now. `due` is asked for the time of each source.
    #[inline(always)]
    fn end(&self, due: impl Fn(&'a dyn Source) -> Option<SimTime>) -> u64 {
        let mut end = self.deadline;
        self.each(|source| end = due(source).map_or(end, |due| end.min(due.as_ps())));
        end.max(self.earliest)
    }
}

/// No field is pinned.
impl<'a, I: IntoIterator<Item = Option<&'a dyn Source>> + Clone> Unpin for Wait<'a, I> {}

impl<'a, I: IntoIterator<Item = Option<&'a dyn Source>> + Clone> Future for Wait<'a, I> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let process = self.process;
        // A process that waits for this alone is woken for it alone.
        if self.armed && !process.concurrent.get() {
            debug_assert!(self.end(Source::due) <= process.ps(), "woken for nothing");
            return Poll::Ready(());
        }
        // Most waits sleep: one pass over the sources arms them, too.
        self.armed = true;
        let end = self.end(Source::arm_due);
        if end <= process.ps() || process.advance_or_sleep(end) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// Disarms the sources when a wait is over or is dropped half-way: they must wake nobody any more.
impl<'a, I: IntoIterator<Item = Option<&'a dyn Source>> + Clone> Drop for Wait<'a, I> {
    #[inline]
    fn drop(&mut self) {
        let process = self.process;
        match self.armed {
            true if process.concurrent.get() => self.each(Source::disarm),
            // This wait was the only one of the process.
            true => process.end_wait(),
            false => {}
        }
    }
}
