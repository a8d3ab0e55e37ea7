//! The threads of a run: each runs its share window by window, or the first runs all while the others sleep.
//!
//! The first thread decides which thread runs which shares, in wall-clock time ([`pace`](super::pace)), and
//! announces it with its report, so that all change in the same window. A share changes threads between two
//! windows, through a hand-off slot under a mutex.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::options::Sharing;
use super::pace::{Mode, PERIOD, Pace};
use super::parallel::{Exchange, Report};
use super::plan::{Plan, ShareResult};
use super::run_control::RunControl;
use super::worker::{Passed, Worker};

/// Windows after which [`Sharing::InTurns`] changes.
const TURN: u32 = 5;

/// A share on its way between threads.
struct MovedShare<'a>(Worker<'a>);

// SAFETY: a share is not `Send` because its processes, ports and islands refer to each other by `Rc` and
// cells. All of these were made on the share's first thread by `Worker::start`, from closures that are
// `Send`; shares refer to each other through `Arc` and mutexes alone, and nobody but the share keeps a part
// of it. So the whole graph moves at once, between two polls, and the mutex of the slot orders what the two
// threads do to it. There remains the state of a process itself: nothing in it belongs to its thread, which
// `kernel::Start` demands.
unsafe impl Send for MovedShare<'_> {}

/// Content of a hand-off slot.
#[derive(Default)]
enum Stage<'a> {
    /// Nobody has left anything.
    #[default]
    Empty,
    /// For the first thread.
    Given(Box<MovedShare<'a>>),
    Returned(Box<MovedShare<'a>>),
    /// The run is over, or the first thread died.
    Over,
}

#[derive(Default)]
struct HandoffSlot<'a> {
    stage: Mutex<Stage<'a>>,
    changed: Condvar,
}

impl<'a> HandoffSlot<'a> {
    fn lock(&self) -> MutexGuard<'_, Stage<'a>> {
        // Nothing panics while it holds the lock.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, stage: Stage<'a>) {
        *self.lock() = stage;
        self.changed.notify_all();
    }

    /// Waits until there is what `take` wants, and takes it.
    fn wait<T>(&self, take: impl Fn(Stage<'a>) -> Result<T, Stage<'a>>) -> T {
        let mut stage = self.lock();
        loop {
            match take(std::mem::take(&mut *stage)) {
                Ok(taken) => return taken,
                Err(other) => *stage = other,
            }
            stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Hand-off slots for the shares of all threads but the first.
pub(crate) struct HandoffSlots<'a>(Vec<HandoffSlot<'a>>);

impl HandoffSlots<'_> {
    pub(crate) fn new(threads: usize) -> Self {
        HandoffSlots((1..threads).map(|_| HandoffSlot::default()).collect())
    }
}

/// Ends the sleep of all others when the first thread is done, however it is.
struct Dismissal<'b, 'a>(&'b HandoffSlots<'a>);

impl Drop for Dismissal<'_, '_> {
    fn drop(&mut self) {
        self.0.0.iter().for_each(|slot| slot.leave(Stage::Over));
    }
}

/// Runs a share on any thread but the first to the end of the run. Nothing is left if the first thread ran it last.
pub(crate) fn follow<'a>(
    mut worker: Worker<'a>,
    mut exchange: Exchange,
    slots: &HandoffSlots<'a>,
    number: usize,
) -> Option<ShareResult> {
    let slot = &slots.0[number - 1];
    let mut meter = Meter::new();
    let mut asked = false;
    loop {
        let mut own = worker.report();
        if asked {
            own.spent = meter.spent(&mut exchange).as_nanos() as u64;
        }
        let all = exchange.swap(own);
        asked = all.account;
        if all.gather {
            slot.leave(Stage::Given(Box::new(MovedShare(worker))));
            let back = slot.wait(|stage| match stage {
                Stage::Returned(share) => Ok(Some(share)),
                Stage::Over => Ok(None),
                other => Err(other),
            });
            worker = back?.0;
            meter.spent(&mut exchange);
        } else if worker.window(&all) == Passed::Over {
            return Some(worker.finish());
        }
    }
}

/// Runs the first share to the end of the run, as far as the run control lets it, and decides which threads run the other shares. Returns
/// the results of the shares that this thread ran last, and the wall-clock time for which it ran all shares.
pub(crate) fn lead<'a>(
    plan: &Plan,
    worker: Worker<'a>,
    mut exchange: Exchange,
    slots: &HandoffSlots<'a>,
    run_control: &mut RunControl,
) -> (Vec<ShareResult>, Duration) {
    let _dismissal = Dismissal(slots);
    let mut lead = Lead::new(plan.options.sharing, plan.partition.threads);
    let mut workers = vec![worker];
    loop {
        let mut all = workers.iter_mut().map(Worker::report).fold(Report::default(), Report::join);
        run_control.sign(&mut all);
        if workers.len() == 1 {
            lead.sign(&mut all, &mut exchange);
            all = exchange.swap(all);
            lead.hear(&all);
        }
        let work = all.work;
        if all.gather {
            workers.extend(slots.0.iter().map(|slot| {
                let given = slot.wait(|stage| match stage {
                    Stage::Given(share) => Ok(share),
                    other => Err(other),
                });
                given.0
            }));
            lead.takes(&mut exchange, all.work);
        }
        // Every share must run its window, and all windows have the same result.
        let mut passed = Passed::On;
        for worker in &mut workers {
            passed = worker.window(&all);
        }
        match passed {
            Passed::Over => return (workers.into_iter().map(Worker::finish).collect(), lead.alone()),
            Passed::Held => lead.paused(run_control.wait()),
            Passed::On => {}
        }
        if workers.len() > 1 && lead.returns(&mut exchange, work) {
            for (slot, worker) in slots.0.iter().zip(workers.drain(1..)) {
                slot.leave(Stage::Returned(Box::new(MovedShare(worker))));
            }
        }
    }
}

/// State of the first thread between reports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadState {
    /// The period continues.
    Run,
    /// All threads are to account for it in their next report.
    Ask,
    /// All shares are to move to this thread.
    Gather,
}

/// State of the first thread for its decisions on how to continue the run.
struct Lead {
    sharing: Sharing,
    pace: Pace,
    meter: Meter,
    step: LeadState,
    /// Time at which the period began, and windows of the turn.
    begun: Instant,
    windows: u32,
    /// The work that was done when the period began.
    done: u64,
    /// Time from which all shares are on this thread, and the time that they were on it before.
    taken: Option<Instant>,
    before: Duration,
}

impl Lead {
    fn new(sharing: Sharing, threads: usize) -> Self {
        let meter = Meter::new();
        let sharing = match sharing {
            Sharing::WhereFaster if meter.last.is_none() => Sharing::Always,
            _ if threads == 1 => Sharing::Always,
            sharing => sharing,
        };
        let begun = Instant::now();
        let (step, before) = (LeadState::Run, Duration::ZERO);
        Lead { sharing, pace: Pace::new(), meter, step, begun, windows: 0, done: 0, taken: None, before }
    }

    /// Adds the commands for the other threads to a report.
    fn sign(&mut self, own: &mut Report, exchange: &mut Exchange) {
        match (self.sharing, self.step) {
            (Sharing::Always, _) => {}
            (_, LeadState::Gather) => own.gather = true,
            (Sharing::InTurns, _) => own.gather = self.turns(),
            (Sharing::WhereFaster, LeadState::Ask) => {
                own.spent = self.meter.spent(exchange).as_nanos() as u64
            }
            (Sharing::WhereFaster, LeadState::Run) => own.account = self.begun.elapsed() >= PERIOD,
        }
    }

    /// Learns what all reported.
    fn hear(&mut self, all: &Report) {
        if all.account {
            self.step = LeadState::Ask;
        } else if self.step == LeadState::Ask {
            let apart = self.judge(Duration::from_nanos(all.spent), all.work) == Mode::Apart;
            self.step = if apart { LeadState::Run } else { LeadState::Gather };
        }
    }

    /// All shares are here.
    fn takes(&mut self, exchange: &mut Exchange, work: u64) {
        self.done = work;
        self.step = LeadState::Run;
        self.meter.spent(exchange);
        self.begun = Instant::now();
        self.taken = Some(self.begun);
    }

    /// Whether the shares of the others go back to them after this window.
    fn returns(&mut self, exchange: &mut Exchange, work: u64) -> bool {
        let returns = match self.sharing {
            Sharing::WhereFaster if self.begun.elapsed() < PERIOD => false,
            Sharing::WhereFaster => {
                let spent = self.meter.spent(exchange);
                self.judge(spent, work) == Mode::Apart
            }
            _ => self.turns(),
        };
        if returns {
            self.before = self.alone();
            self.taken = None;
        }
        returns
    }

    /// The run was held for this long: that was no time in which a thread had no core.
    fn paused(&mut self, pause: Duration) {
        self.begun += pause;
        self.taken = self.taken.map(|taken| taken + pause);
    }

    /// Time for which all shares have been on this thread.
    fn alone(&self) -> Duration {
        self.before + self.taken.map_or(Duration::ZERO, |taken| taken.elapsed())
    }

    fn judge(&mut self, spent: Duration, work: u64) -> Mode {
        let period = self.begun.elapsed();
        self.begun = Instant::now();
        let done = work - std::mem::replace(&mut self.done, work);
        self.pace.judge(period, spent, done)
    }

    fn turns(&mut self) -> bool {
        self.windows = (self.windows + 1) % TURN;
        self.windows == 0
    }
}

/// Meter of the computing time of the thread.
struct Meter {
    /// Computing time at the last call; `None` if the host does not report it.
    last: Option<Duration>,
}

impl Meter {
    fn new() -> Self {
        Meter { last: computed() }
    }

    /// Time of computing since the last call, without what went into looking for reports.
    fn spent(&mut self, exchange: &mut Exchange) -> Duration {
        let before = std::mem::replace(&mut self.last, computed());
        let spent = self.last.zip(before).map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before));
        spent.saturating_sub(exchange.looked())
    }
}

/// Processor time of this thread so far.
#[cfg(unix)]
fn computed() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// Nobody knows.
#[cfg(not(unix))]
fn computed() -> Option<Duration> {
    None
}
