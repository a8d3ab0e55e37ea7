//! One island: processes that run together through a window of simulated time, on one thread.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::machine::Body;
use crate::observe::watchdog::Pulse;
use crate::process::domain::Domain;
use crate::process::fault::Fault;
use crate::process::island_state::IslandState;
use crate::process::queue::NEVER;
use crate::process::state::Process;
use crate::time::Clock;

/// A process beside its body.
struct Task {
    process: Rc<Process>,
    daemon: bool,
    ended: bool,
    cost: Cost,
}

/// Cost of a process since it started, if that is measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Nanoseconds of computing.
    pub(crate) nanos: u64,
    /// Spans of [`SPAN`] in which the process was polled.
    pub(crate) spans: u64,
    last: u64,
    started: bool,
}

/// Picoseconds of a span: short beside the phases of a program, and many cycles.
pub(crate) const SPAN: u64 = 1 << 17;

impl Cost {
    #[cold]
    #[inline(never)]
    fn measure<R>(&mut self, process: &Process, poll: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let polled = poll();
        self.add(process.ps(), begun.elapsed().as_nanos() as u64);
        polled
    }

    /// Adds a poll of a process that took `nanos`. The first poll starts the process and is not counted.
    fn add(&mut self, time: u64, nanos: u64) {
        if !std::mem::replace(&mut self.started, true) {
            return;
        }
        self.nanos += nanos;
        let span = time / SPAN;
        if self.spans == 0 || span != self.last {
            (self.spans, self.last) = (self.spans + 1, span);
        }
    }
}

pub(crate) struct Ending {
    pub(crate) time: u64,
    /// The process's position in the machine.
    pub(crate) process: u32,
    pub(crate) result: Result<(), Fault>,
    pub(crate) daemon: bool,
}

pub(crate) struct Island {
    pub(crate) state: Rc<IslandState>,
    domains: Vec<Rc<Domain>>,
    /// The bodies of the processes, those of a domain one after another. One that has returned waits for ever.
    bodies: Vec<Body>,
    tasks: Vec<Task>,
    /// The domain whose processes are being called upon.
    batch: Option<usize>,
    /// Pulse that shows the process being polled.
    pulse: Arc<Pulse>,
    /// Measure what each process costs.
    measure: bool,
}

impl Island {
    pub(crate) fn new(state: Rc<IslandState>, processes: usize, pulse: Arc<Pulse>, measure: bool) -> Self {
        // Exact: a machine may have thousands of islands, most of them of a single process.
        let (bodies, tasks) = (Vec::with_capacity(processes), Vec::with_capacity(processes));
        Island { state, domains: Vec::new(), bodies, tasks, batch: None, pulse, measure }
    }

    /// Adds a clock domain: the next `processes` processes are its own.
    pub(crate) fn add_domain(&mut self, clock: Clock, processes: usize) -> Rc<Domain> {
        let (number, first) = (self.domains.len() as u32, self.tasks.len() as u32);
        let domain = Domain::new(Rc::clone(&self.state), clock, number, first, processes);
        self.domains.reserve_exact(1);
        self.domains.push(Rc::clone(&domain));
        domain
    }

    /// Adds a process, which starts at time zero.
    pub(crate) fn add(&mut self, process: Rc<Process>, body: Body, daemon: bool) {
        debug_assert_eq!(process.place as usize, self.tasks.len());
        process.domain.schedule_start(process.slot);
        self.bodies.push(body);
        self.tasks.push(Task { process, daemon, ended: false, cost: Cost::default() });
    }

    /// Runs everything that happens before `limit`, and notes the processes that end.
    pub(crate) fn run(&mut self, limit: u64, endings: &mut Vec<Ending>) {
        self.state.begin_window(limit);
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_until_panic(endings))) {
            let text = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".into());
            let place = self.pulse.running();
            self.end(place, Err(Fault::panic(text)), endings);
        }
        self.state.end_window(self.next_event().0);
    }

    fn run_until_panic(&mut self, endings: &mut Vec<Ending>) {
        let run = if self.measure { Self::run_batches::<true> } else { Self::run_batches::<false> };
        while let Some((place, result)) = run(self) {
            self.end(place, result, endings);
        }
    }

    /// Calls upon the processes of a batch, and of the next ones, until the window is over or a process ends.
    #[inline(never)]
    fn run_batches<const MEASURE: bool>(&mut self) -> Option<(u32, Result<(), Fault>)> {
        let context = &mut Context::from_waker(Waker::noop());
        loop {
            let number = self.batch.or_else(|| self.begin())?;
            let domain = &*self.domains[number];
            let (first, pulse) = (domain.first, &*self.pulse);
            let bodies = &mut self.bodies[first as usize..];
            while let Some(mut woken) = domain.woken() {
                let base = woken.base();
                let bodies = &mut bodies[base as usize..];
                while let Some((place, last)) = woken.take() {
                    if last {
                        domain.settle();
                        self.state.set_next(earliest(&self.domains));
                    }
                    pulse.set_slot(base + place);
                    let body = &mut bodies[place as usize];
                    let polled = if MEASURE {
                        let task = &mut self.tasks[(first + base + place) as usize];
                        task.cost.measure(&task.process, || body.as_mut().poll(context))
                    } else {
                        body.as_mut().poll(context)
                    };
                    if let Poll::Ready(result) = polled {
                        return Some((first + base + place, result));
                    }
                }
                if woken.is_last() {
                    break;
                }
            }
            self.batch = None;
        }
    }

    /// Time of the next event, and number of its domain.
    #[inline(always)]
    fn next_event(&self) -> (u64, u32) {
        self.state.next().unwrap_or_else(|| earliest(&self.domains))
    }

    /// Goes to when something happens next, inside the window, and gives the domain in which it does.
    #[inline(always)]
    fn begin(&mut self) -> Option<usize> {
        let (time, number) = self.next_event();
        // Without a limit there would still be a last time.
        if time >= self.state.limit() {
            return None;
        }
        self.state.hold();
        let number = number as usize;
        let domain = &*self.domains[number];
        self.pulse.set_batch(time, domain.first);
        domain.begin();
        self.batch = Some(number);
        self.batch
    }

    #[cold]
    fn end(&mut self, place: u32, result: Result<(), Fault>, endings: &mut Vec<Ending>) {
        // Of no size: nothing is allocated.
        self.bodies[place as usize] = Box::pin(pending());
        let task = &mut self.tasks[place as usize];
        task.ended = true;
        task.process.domain.withdraw(task.process.slot);
        let Process { index, .. } = *task.process;
        endings.push(Ending { time: task.process.ps(), process: index, result, daemon: task.daemon });
    }

    /// Time at which a process of the island last took a message or reported progress, which is what the livelock guard looks
    /// for; and this time for the processes that act by themselves.
    pub(crate) fn went_on(&self) -> (u64, u64) {
        self.domains.iter().fold((0, 0), |(moved, acted), domain| {
            let Domain { moved: others, acted: acting, declared, .. } = &**domain;
            (moved.max(others.get()).max(acting.get()), acted.max(acting.get()).max(declared.get()))
        })
    }

    /// Whether a process that acts by itself is to wake at a time that is known.
    pub(crate) fn will_act(&self) -> bool {
        let mut unfinished = self.unfinished();
        unfinished.any(|(process, _)| process.acts.get() && process.domain.is_scheduled(process.slot))
    }

    /// Cost of each process, by its position in the machine.
    pub(crate) fn costs(&self) -> impl Iterator<Item = (u32, Cost)> {
        let tasks = self.tasks.iter().filter(|_| self.measure);
        tasks.map(|task| (task.process.index, task.cost))
    }

    /// The positions of the processes in the machine.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.tasks.iter().map(|task| task.process.index).collect()
    }

    /// The processes that have not returned, and whether each is a daemon.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&Rc<Process>, bool)> {
        let unfinished = self.tasks.iter().filter(|task| !task.ended);
        unfinished.map(|task| (&task.process, task.daemon))
    }
}

/// Time of the next event, and number of its domain.
#[inline]
fn earliest(domains: &[Rc<Domain>]) -> (u64, u32) {
    let mut best = (NEVER, 0);
    for (domain, number) in domains.iter().zip(0..) {
        if domain.due() < best.0 {
            best = (domain.due(), number);
        }
    }
    best
}
