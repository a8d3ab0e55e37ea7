//! A clock domain: the processes of one clock in one island.
//!
//! The processes of a domain share the clock's position, and their wake-ups are kept in cycles. An edge at which at
//! least one process wakes is one event of the island, however many wake. Times of the island, in picoseconds, are
//! computed for this edge alone.

use std::cell::Cell;
use std::rc::Rc;

use super::island_state::IslandState;
use super::queue::{NEVER, Slot};
use super::sleepers::{Sleepers, Woken};
use crate::time::{Clock, Edge, SimTime};

/// The part of a clock domain that its processes reach, in 192 bytes.
#[repr(C)]
pub(crate) struct Domain {
    /// The edge at which a process of the domain wakes next, exact between two batches. During a batch it is edge zero, after which the
    /// next one is found.
    alarm: Cell<Edge>,
    /// The edge at which its processes run now, or last ran.
    edge: Cell<Edge>,
    pub(crate) island: Rc<IslandState>,
    /// Position of the first process of the domain in the island.
    pub(crate) first: u32,
    /// Number in the island.
    number: u32,
    next: Cell<Edge>,
    pub(crate) clock: Clock,
    /// Time at which a process that acts by itself last took a message or reported progress.
    pub(crate) acted: Cell<u64>,
    /// Time at which a process that does not act by itself last took a message or reported progress.
    pub(crate) moved: Cell<u64>,
    /// Time at which a process last declared that it acts.
    pub(crate) declared: Cell<u64>,
    sleepers: Sleepers,
}

impl Domain {
    pub(crate) fn new(
        island: Rc<IslandState>,
        clock: Clock,
        number: u32,
        first: u32,
        processes: usize,
    ) -> Rc<Self> {
        Rc::new(Domain {
            island,
            edge: Cell::default(),
            next: Cell::new(clock.next(Edge::default())),
            alarm: Cell::new(Edge::NEVER),
            sleepers: Sleepers::new(processes),
            moved: Cell::new(0),
            acted: Cell::new(0),
            declared: Cell::new(0),
            clock,
            first,
            number,
        })
    }

    /// The edge at which the domain's processes run now, or last ran.
    #[inline(always)]
    pub(crate) fn edge(&self) -> Edge {
        self.edge.get()
    }

    /// Time at which a process of the domain wakes next.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.alarm.get().time().as_ps()
    }

    /// The cycle of the first edge at or after `time`, the current one if that has passed.
    #[inline]
    fn cycle_at_or_after(&self, time: u64) -> u64 {
        let next = self.next.get();
        match () {
            () if time > next.time().as_ps() => {
                next.index() + self.clock.cycles_until(next, SimTime::from_ps(time))
            }
            () if time > self.edge.get().time().as_ps() => next.index(),
            () => self.edge.get().index(),
        }
    }

    /// The first edge at or after `time`, the current one if that has passed.
    pub(crate) fn edge_at_or_after(&self, time: u64) -> Edge {
        self.edge_of(self.cycle_at_or_after(time))
    }

    /// The edge of a cycle that has not passed.
    #[inline]
    fn edge_of(&self, cycle: u64) -> Edge {
        let next = self.next.get();
        if cycle == next.index() {
            return next;
        }
        let edge = self.edge.get();
        self.clock.after(edge, self.clock.cycles(cycle - edge.index()))
    }

    /// Wakes a process in a cycle that has not passed.
    #[inline(always)]
    pub(crate) fn schedule(&self, slot: Slot, cycle: u64) {
        self.sleepers.schedule(slot, cycle);
        if cycle < self.alarm.get().index() {
            self.note(cycle);
        }
    }

    /// Wakes a process at the first edge at or after `time`.
    #[inline]
    pub(crate) fn schedule_at(&self, slot: Slot, time: u64) {
        self.schedule(slot, self.cycle_at_or_after(time));
    }

    /// Whether a process is to wake at a time that is known.
    pub(crate) fn is_scheduled(&self, slot: Slot) -> bool {
        self.sleepers.is_scheduled(slot)
    }

    /// Withdraws every wake-up of the running process.
    #[cold]
    pub(crate) fn withdraw(&self, slot: Slot) {
        self.sleepers.cancel(slot);
        self.island.hold();
        if !self.in_batch() {
            self.settle();
        }
    }

    /// Wakes a process at the current edge: every process starts like this.
    pub(crate) fn schedule_start(&self, slot: Slot) {
        self.schedule(slot, self.edge.get().index());
    }

    #[inline]
    fn note(&self, cycle: u64) {
        let edge = self.edge_of(cycle);
        self.alarm.set(edge);
        self.island.note(edge.time().as_ps(), self.number);
    }

    /// Whether processes that wake at the edge begun have not been taken.
    #[inline(always)]
    fn in_batch(&self) -> bool {
        self.alarm.get().index() == 0
    }

    /// Advances the running process to `edge` if nothing else happens before then inside the window.
    #[inline(always)]
    pub(crate) fn try_advance(&self, edge: Edge) -> bool {
        let free = self.island.try_advance(edge.time().as_ps());
        if free {
            self.arrive(edge);
        }
        free
    }

    /// Advances the running process to the next edge if nothing else happens before; otherwise schedules its wake-up there
    /// and returns false.
    #[inline(always)]
    pub(crate) fn advance_or_sleep_to_next(&self, slot: Slot) -> bool {
        // The usual case among many: others have something to do before.
        if self.in_batch() {
            self.sleepers.keep(slot);
            return false;
        }
        self.advance_or_schedule_next(slot)
    }

    /// Out of line, so that the state machines of components need few registers.
    #[inline(never)]
    fn advance_or_schedule_next(&self, slot: Slot) -> bool {
        let next = self.next.get();
        let advanced = self.try_advance(next);
        if !advanced {
            self.schedule(slot, next.index());
        }
        advanced
    }

    /// Like [`Domain::advance_or_sleep_to_next`], at the first edge at or after `time`, which may have passed.
    #[inline(always)]
    pub(crate) fn advance_or_sleep(&self, slot: Slot, time: u64) -> bool {
        if time > self.next.get().time().as_ps() {
            return self.advance_or_sleep_far(slot, time);
        }
        // Most messages come for the next edge.
        time <= self.edge.get().time().as_ps() || self.advance_or_sleep_to_next(slot)
    }

    #[inline(never)]
    fn advance_or_sleep_far(&self, slot: Slot, time: u64) -> bool {
        if time == NEVER {
            return false;
        }
        // The edge at or after a time is never earlier than the time.
        let advanced = self.island.try_advance(time)
            && self.try_advance(self.clock.at_or_after(self.next.get(), SimTime::from_ps(time)));
        if !advanced {
            self.schedule_at(slot, time);
        }
        advanced
    }

    #[inline(always)]
    fn arrive(&self, edge: Edge) {
        self.edge.set(edge);
        self.next.set(self.clock.next(edge));
    }

    /// Goes to the edge at which the next processes wake.
    #[inline]
    pub(crate) fn begin(&self) {
        let edge = self.alarm.replace(Edge::default());
        if edge.index() != self.edge.get().index() {
            self.arrive(edge);
        }
        self.sleepers.begin(edge.index());
    }

    /// Processes that wake at the edge begun and have not been taken.
    #[inline(always)]
    pub(crate) fn woken(&self) -> Option<Woken<'_>> {
        self.sleepers.woken()
    }

    /// All processes that wake at the edge begun have been taken: the next edge at which a process wakes is found.
    #[inline]
    pub(crate) fn settle(&self) {
        self.alarm.set(match self.sleepers.earliest() {
            NEVER => Edge::NEVER,
            cycle => self.edge_of(cycle),
        });
    }
}
