//! The part of an island that its processes and ports reach: its window, and the time at which it runs next.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::hang_reasons::Places;
use super::local::Local;
use super::queue::{NEVER, Queue, Slot};

/// Times at which the islands of one thread run next.
pub(crate) type Agenda = Local<Queue>;

/// The part of an island that its processes and ports reach.
pub(crate) struct IslandState {
    /// End of the current window: nothing here may happen at or after it.
    limit: Cell<u64>,
    /// The time before which no other process of the island wakes; zero while it is not known.
    next: Cell<u64>,
    /// The number of the domain of that process.
    next_domain: Cell<u32>,
    agenda: Rc<Agenda>,
    /// The island's number in the agenda.
    number: Slot,
    /// Time at which the agenda runs this island next; zero while the island runs.
    called: Cell<u64>,
    pub(crate) places: Arc<Places>,
}

impl IslandState {
    pub(crate) fn new(agenda: Rc<Agenda>, number: Slot, places: Arc<Places>) -> Rc<Self> {
        Rc::new(IslandState {
            limit: Cell::new(0),
            next: Cell::new(0),
            next_domain: Cell::new(0),
            agenda,
            number,
            called: Cell::new(NEVER),
            places,
        })
    }

    /// A process of a domain wakes at `time`.
    #[inline]
    pub(crate) fn note(&self, time: u64, domain: u32) {
        if (time, domain) < (self.next.get(), self.next_domain.get()) {
            self.set_next((time, domain));
        }
        if time < self.called.get() {
            self.call(time);
        }
    }

    /// A window begins that ends at `limit`.
    #[inline]
    pub(crate) fn begin_window(&self, limit: u64) {
        self.limit.set(limit);
        self.called.set(0);
    }

    /// The window is over; the next process of the island wakes at `due`.
    #[inline]
    pub(crate) fn end_window(&self, due: u64) {
        self.called.set(NEVER);
        if due != NEVER {
            self.call(due);
        }
    }

    /// End of the current window.
    #[inline(always)]
    pub(crate) fn limit(&self) -> u64 {
        self.limit.get()
    }

    /// The earliest time at which a process wakes and the number of its domain, the lowest of several; `None` if it is not known.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<(u64, u32)> {
        let time = self.next.get();
        (time != 0).then(|| (time, self.next_domain.get()))
    }

    /// Sets the time until which the running process may advance, at which another process wakes, and the number of its domain.
    #[inline(always)]
    pub(crate) fn set_next(&self, (time, domain): (u64, u32)) {
        self.next.set(time);
        self.next_domain.set(domain);
    }

    fn call(&self, time: u64) {
        self.called.set(time);
        self.agenda.with(|agenda| agenda.schedule(self.number, time));
    }

    /// Keeps the running process from going ahead of the executor until its next poll, and forgets when a process wakes next.
    #[inline(always)]
    pub(crate) fn hold(&self) {
        self.next.set(0);
    }

    /// Advances the running process to `time` if nothing else happens before then inside the window.
    ///
    /// Other events *at* `time` may run later: processes cannot affect each other within an instant.
    #[inline]
    pub(crate) fn try_advance(&self, time: u64) -> bool {
        time <= self.next.get() && time < self.limit.get()
    }
}
