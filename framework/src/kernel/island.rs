//! One island: processes that run together through a window of simulated time, on one thread.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::local::Local;
use super::outcome::Fault;
use super::process::Process;
use super::queue::{Queue, Slot};

/// What a process's body returns.
pub type Body = Pin<Box<dyn Future<Output = Result<(), Fault>>>>;

/// The part of an island that its processes and ports reach.
pub(crate) struct IslandState {
    now: Cell<u64>,
    /// End of the current window: nothing here may happen at or after it.
    limit: Cell<u64>,
    /// A time before which no other process of the island wakes.
    next: Cell<u64>,
    queue: Local<Queue>,
    running: Cell<Slot>,
    /// When a message was last taken here: the sign of life that the livelock guard looks for.
    pub(crate) moved: Cell<u64>,
}

impl IslandState {
    pub(crate) fn new(processes: usize) -> Rc<Self> {
        Rc::new(IslandState {
            now: Cell::new(0),
            limit: Cell::new(0),
            next: Cell::new(0),
            queue: Local::new(Queue::new(processes)),
            running: Cell::new(0),
            moved: Cell::new(0),
        })
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }

    #[inline]
    pub(crate) fn schedule(&self, slot: Slot, time: u64) {
        self.queue.with(|queue| queue.schedule(slot, time));
        if time < self.next.get() {
            self.next.set(time);
        }
    }

    /// Keeps the running process from going ahead of the executor until its next poll.
    pub(crate) fn hold(&self) {
        self.next.set(0);
    }

    /// Lets the running process go on at `time` if nothing else happens before then inside the window.
    ///
    /// Whatever happens *at* `time` may come later: processes cannot affect each other within an instant.
    #[inline]
    pub(crate) fn try_advance(&self, time: u64) -> bool {
        let free = time <= self.next.get() && time < self.limit.get();
        if free {
            self.now.set(time);
        }
        free
    }
}

/// A process that has not returned yet.
struct Task {
    body: Option<Body>,
    process: Rc<Process>,
    daemon: bool,
}

/// How a process ended.
pub(crate) struct Ending {
    pub(crate) time: u64,
    /// The process's position in the machine.
    pub(crate) process: u32,
    pub(crate) result: Result<(), Fault>,
    pub(crate) daemon: bool,
}

/// An island with its processes.
pub(crate) struct Island {
    pub(crate) state: Rc<IslandState>,
    tasks: Vec<Task>,
    alone: Option<Alone>,
}

/// See [`Island::run`].
#[derive(Clone, Copy)]
pub(crate) struct Alone {
    /// How long the machine goes on after its end, so that the end does not depend on windows.
    pub(crate) grace: u64,
}

impl Island {
    pub(crate) fn new(state: Rc<IslandState>) -> Self {
        Island { state, tasks: Vec::new(), alone: None }
    }

    /// Adds a process, which starts at time zero. Slots are given out in the order of the calls.
    pub(crate) fn add(&mut self, process: Rc<Process>, body: Body, daemon: bool) {
        debug_assert_eq!(process.slot as usize, self.tasks.len());
        self.state.schedule(process.slot, 0);
        self.tasks.push(Task { body: Some(body), process, daemon });
    }

    /// When something happens here next.
    pub(crate) fn earliest(&self) -> u64 {
        self.state.queue.with(|queue| queue.earliest())
    }

    /// Whether nothing can happen before `limit`, told without looking closely.
    #[inline]
    pub(crate) fn idle_before(&self, limit: u64) -> bool {
        self.state.queue.with(|queue| queue.bound()) >= limit
    }

    /// Runs everything that happens before `limit`, and notes the processes that end.
    ///
    /// `alone` is given when this island is the whole machine: the run then goes on for `alone.grace` only after the
    /// last process that counts has returned, or after a failure.
    pub(crate) fn run(&mut self, limit: u64, alone: Option<Alone>, endings: &mut Vec<Ending>) {
        self.state.limit.set(limit);
        self.alone = alone;
        loop {
            let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_until_panic(endings))) else {
                return;
            };
            let text = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".into());
            let running = self.state.running.get();
            self.end(running, Err(Fault::panic(text)), endings);
        }
    }

    fn run_until_panic(&mut self, endings: &mut Vec<Ending>) {
        let mut context = Context::from_waker(Waker::noop());
        while let Some(time) = self.state.queue.with(|queue| queue.begin(self.state.limit.get())) {
            while let Some(slot) = self.state.queue.with(|queue| queue.next(time)) {
                let task = &mut self.tasks[slot as usize];
                let Some(body) = &mut task.body else { continue };
                self.state.now.set(time);
                self.state.running.set(slot);
                self.state.next.set(self.state.queue.with(|queue| queue.bound()));
                task.process.enter(time);
                if let Poll::Ready(result) = body.as_mut().poll(&mut context) {
                    self.end(slot, result, endings);
                }
            }
        }
    }

    fn end(&mut self, slot: Slot, result: Result<(), Fault>, endings: &mut Vec<Ending>) {
        let task = &mut self.tasks[slot as usize];
        task.body = None;
        let (time, process) = (self.state.now.get(), task.process.index);
        let failed = result.is_err();
        endings.push(Ending { time, process, result, daemon: task.daemon });
        let last = !self.tasks.iter().any(|task| task.body.is_some() && !task.daemon);
        if let Some(alone) = self.alone
            && (failed || last)
        {
            self.state.limit.set(self.state.limit.get().min(time.saturating_add(alone.grace)));
        }
    }

    /// The processes that have not returned, and whether each is a daemon.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&Rc<Process>, bool)> {
        self.tasks.iter().filter(|task| task.body.is_some()).map(|task| (&task.process, task.daemon))
    }
}
