//! A clock domain: the processes of one clock in one island.
//!
//! They share the clock's position and a queue of wake-ups that is kept in cycles. An edge at which any of them wakes is
//! one event of the island, however many wake.

use std::cell::Cell;
use std::rc::Rc;

use super::island::IslandState;
use super::local::Local;
use super::queue::{NEVER, Queue, Slot};
use crate::time::{Clock, Edge};

/// The part of a clock domain that its processes reach.
pub(crate) struct Domain {
    pub(crate) island: Rc<IslandState>,
    pub(crate) clock: Clock,
    /// The place of the first process in the island.
    pub(crate) first: u32,
    /// The edge at which its processes run now, or last ran.
    edge: Cell<Edge>,
    /// The edge after that.
    next: Cell<Edge>,
    /// When a process of the domain wakes next, [`NEVER`] if none does; exact between two batches.
    due: Cell<u64>,
    /// The edge to which `due` belongs.
    due_edge: Cell<Edge>,
    /// The running process wakes at the next edge again.
    again: Cell<bool>,
    queue: Local<Queue>,
    /// Per process the edge at which it wakes, unless that was the edge after the current one when it was asked for.
    wakes: Box<[Cell<Edge>]>,
}

impl Domain {
    pub(crate) fn new(island: Rc<IslandState>, clock: Clock, first: u32, processes: usize) -> Rc<Self> {
        Rc::new(Domain {
            island,
            clock,
            first,
            edge: Cell::default(),
            next: Cell::new(clock.next(Edge::default())),
            due: Cell::new(NEVER),
            due_edge: Cell::default(),
            again: Cell::new(false),
            queue: Local::new(Queue::new(processes)),
            wakes: vec![Cell::default(); processes].into_boxed_slice(),
        })
    }

    /// The edge at which the domain's processes run now, or last ran.
    #[inline(always)]
    pub(crate) fn edge(&self) -> Edge {
        self.edge.get()
    }

    /// When a process of the domain wakes next.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due.get()
    }

    /// Wakes a process at an edge after the current one.
    #[inline]
    pub(crate) fn schedule(&self, slot: Slot, edge: Edge) {
        if edge.index() == self.next.get().index() {
            self.schedule_next(slot);
        } else {
            self.schedule_later(slot, edge);
        }
    }

    #[inline(never)]
    fn schedule_later(&self, slot: Slot, edge: Edge) {
        if self.queue.with(|queue| queue.schedule(slot, edge.index())) {
            self.wakes[slot as usize].set(edge);
            self.note(edge);
        }
    }

    /// Wakes a process at the edge after the current one.
    #[inline(always)]
    pub(crate) fn schedule_next(&self, slot: Slot) {
        let next = self.next.get();
        self.queue.with(|queue| queue.schedule_soon(slot, next.index()));
        self.note(next);
    }

    /// Wakes the running process at the edge after the current one, once it has been polled.
    #[inline(always)]
    pub(crate) fn schedule_again(&self) {
        self.again.set(true);
    }

    /// Does what [`Domain::schedule_again`] has asked for; `last` if the process was the last one of its batch.
    #[inline(always)]
    pub(crate) fn polled(&self, slot: Slot, last: bool) {
        if self.again.replace(false) {
            if last {
                self.schedule_next(slot);
            } else {
                self.queue.with(|queue| queue.keep(slot));
            }
        }
    }

    /// Whether a process is to wake at a time that is known.
    pub(crate) fn is_scheduled(&self, slot: Slot) -> bool {
        self.queue.with(|queue| queue.is_scheduled(slot))
    }

    /// Withdraws every wake-up that the running process has asked for.
    #[cold]
    pub(crate) fn withdraw(&self, slot: Slot) {
        self.again.set(false);
        self.queue.with(|queue| queue.cancel(slot));
        self.settle();
    }

    /// Wakes a process at the current edge: every process starts like this.
    pub(crate) fn schedule_start(&self, slot: Slot) {
        self.schedule_later(slot, self.edge.get());
    }

    #[inline(always)]
    fn note(&self, edge: Edge) {
        let time = edge.time().as_ps();
        if time < self.due.get() {
            self.set_due(edge);
            self.island.note(time);
        }
    }

    #[inline(always)]
    fn set_due(&self, edge: Edge) {
        self.due.set(edge.time().as_ps());
        self.due_edge.set(edge);
    }

    /// Whether something else in the island comes before the next edge.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        self.island.next() < self.next.get().time().as_ps()
    }

    /// Lets the running process go on at `edge` if nothing else happens before then inside the window.
    #[inline(always)]
    pub(crate) fn try_advance(&self, edge: Edge) -> bool {
        let free = self.island.try_advance(edge.time().as_ps());
        if free {
            self.arrive(edge);
        }
        free
    }

    #[inline(always)]
    fn arrive(&self, edge: Edge) {
        self.edge.set(edge);
        self.next.set(self.clock.next(edge));
    }

    /// Goes to the edge at which the next processes wake.
    #[inline]
    pub(crate) fn begin(&self) {
        let edge = self.due_edge.get();
        if edge.index() != self.edge.get().index() {
            self.arrive(edge);
        }
        self.queue.with(|queue| queue.begin(edge.index()));
    }

    /// The next process that wakes at the edge begun, and whether it is the last one: then the next edge at which a
    /// process wakes is known.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<(Slot, bool)> {
        let taken = self.queue.with(Queue::take);
        if let Some((_, true)) = taken {
            self.settle();
        }
        taken
    }

    fn settle(&self) {
        let (key, slot) = self.queue.with(|queue| queue.earliest());
        if key == NEVER {
            self.due.set(NEVER);
            return;
        }
        let next = self.next.get();
        let edge = match key {
            _ if key == next.index() => next,
            // The process that ran last went ahead to an edge at which others wake too.
            _ if key == self.edge.get().index() => self.edge.get(),
            _ => self.wakes[slot as usize].get(),
        };
        self.set_due(edge);
    }
}
