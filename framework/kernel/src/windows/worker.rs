//! A share of a machine: the islands that run on a thread together, and their execution window by window.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::island::{Ending, Island};
use super::parallel::Report;
use super::plan::{Plan, ShareResult, Verdict};
use crate::channel::ends::Endpoint;
use crate::channel::remote::{Flush, Incoming, Post, batch_number};
use crate::channel::wiring::{Crossing, Ends, Ports, Wiring};
use crate::machine::{ProcessSpec, Sampler, Viewer};
use crate::observe::inspect::{InspectionPart, Level};
use crate::observe::livelock::LivelockGuard;
use crate::observe::samples::Samples;
use crate::observe::snapshot::Recorder;
use crate::observe::standstill::{LinkState, Standstill, Unfinished};
use crate::process::fault::Fault;
use crate::process::island_state::{Agenda, IslandState};
use crate::process::local::Local;
use crate::process::queue::{NEVER, Queue};
use crate::process::state::Process;
use crate::time::{Clock, SimTime};

/// A share of the machine. Another thread may take it over, between windows and as a whole
/// ([`worker_pool`](super::worker_pool)).
pub(crate) struct Worker<'a> {
    plan: &'a Plan,
    /// The share's number.
    thread: usize,
    /// The numbers of those that a link joins to this one.
    others: Vec<usize>,
    islands: Vec<Island>,
    agenda: Rc<Agenda>,
    processes: BTreeMap<usize, Rc<Process>>,
    finish: Vec<(usize, Finish)>,
    samplers: BTreeMap<usize, Sampler>,
    viewers: BTreeMap<usize, Viewer>,
    /// Per link its ends, where they are here.
    ends: Vec<Ends>,
    incoming: Vec<Option<Box<dyn Incoming>>>,
    outgoing: Vec<Option<Rc<dyn Flush>>>,
    /// Per other thread what goes there; one's own place stays empty.
    posts: Vec<Rc<Post>>,
    own: Report,
    stop_at: u64,
    failure: Option<(u64, u32, Fault)>,
    endings: Vec<Ending>,
    dirty: Vec<u32>,
    recorder: Recorder,
    samples: Samples,
    guard: LivelockGuard,
    /// Looks for time in which nobody acts by itself.
    stir: LivelockGuard,
    /// Reason for the end of the run, and its time.
    end: (Verdict, u64),
}

/// The time without an acting component that makes a livelock. Messages under way arrive much sooner.
fn stir_after(livelock_after: SimTime) -> SimTime {
    if livelock_after == SimTime::MAX {
        livelock_after
    } else {
        SimTime::from_ps(livelock_after.as_ps() / 40_000)
    }
}

type Finish = Box<dyn FnOnce() -> Box<dyn Any + Send>>;

/// Result of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Other windows follow.
    On,
    /// No event is left before the time of the hold.
    Held,
    Over,
}

impl<'a> Worker<'a> {
    /// Starts the processes of a share and connects them.
    pub(crate) fn start(plan: &'a Plan, thread: usize, share: Vec<(usize, ProcessSpec)>) -> Self {
        let mut islands: BTreeMap<usize, Vec<(usize, ProcessSpec)>> = BTreeMap::new();
        let live = share.iter().filter(|(_, process)| !process.daemon).count() as u64;
        for (index, process) in share {
            islands.entry(plan.partition.island[index]).or_default().push((index, process));
        }
        let crossing = if plan.partition.threads > 1 { plan.links.len() } else { 0 };
        let mut ports = Ports::default();
        let options = &plan.options;
        let mut worker = Worker {
            plan,
            thread,
            others: plan.linked(thread),
            islands: Vec::new(),
            agenda: Rc::new(Local::new(Queue::new(islands.len()))),
            processes: BTreeMap::new(),
            finish: Vec::new(),
            samplers: BTreeMap::new(),
            viewers: BTreeMap::new(),
            ends: Vec::new(),
            incoming: (0..2 * crossing).map(|_| None).collect(),
            outgoing: vec![None; 2 * crossing],
            posts: (0..plan.partition.threads).map(|_| Rc::default()).collect(),
            own: Report { live, ..Report::default() },
            stop_at: options.stop_at.map_or(NEVER, SimTime::as_ps),
            failure: None,
            endings: Vec::new(),
            dirty: Vec::new(),
            recorder: Recorder::new(options.snapshots),
            samples: Samples::new(options.samples, plan.paths.len()),
            guard: LivelockGuard::new(options.livelock_after),
            stir: LivelockGuard::new(stir_after(options.livelock_after)),
            end: (Verdict::Interrupted, 0),
        };
        let mut connected: BTreeMap<usize, Vec<(String, Option<u32>)>> = BTreeMap::new();
        for link in &plan.links {
            for end in [&link.from, &link.to] {
                connected.entry(end.process).or_default().push((end.port.clone(), end.index));
            }
        }
        for processes in islands.into_values() {
            worker.start_island(processes, &connected, &mut ports);
        }
        worker.connect(&ports);
        plan.pulses[thread]
            .begin(worker.islands.iter().map(|island| island.processes().into_boxed_slice()).collect());
        worker
    }

    fn start_island(
        &mut self,
        processes: Vec<(usize, ProcessSpec)>,
        connected: &BTreeMap<usize, Vec<(String, Option<u32>)>>,
        ports: &mut Ports,
    ) {
        let state = IslandState::new(
            Rc::clone(&self.agenda),
            self.islands.len() as u32,
            Arc::clone(&self.plan.places),
        );
        let mut clocks: BTreeMap<Clock, Vec<(usize, ProcessSpec)>> = BTreeMap::new();
        let count = processes.len();
        for (index, spec) in processes {
            clocks.entry(spec.clock).or_default().push((index, spec));
        }
        let pulse = Arc::clone(&self.plan.pulses[self.thread]);
        let mut island = Island::new(Rc::clone(&state), count, pulse, self.plan.options.measure);
        let hashing = self.plan.options.hash || self.plan.options.snapshots.is_some();
        for (clock, processes) in clocks {
            let domain = island.add_domain(clock, processes.len());
            for ((index, spec), slot) in processes.into_iter().zip(0..) {
                let process = Process::new(Rc::clone(&domain), slot, index as u32, hashing);
                self.processes.insert(index, Rc::clone(&process));
                let mut wiring = Wiring {
                    ports: &mut *ports,
                    process: Rc::clone(&process),
                    connected: connected.get(&index).map_or(&[], Vec::as_slice),
                    next_port: 0,
                };
                let started = (spec.start)(&mut wiring);
                self.finish.push((index, started.finish));
                self.samplers.extend(started.sampler.map(|sampler| (index, sampler)));
                self.viewers.extend(started.viewer.map(|viewer| (index, viewer)));
                island.add(process, started.body, spec.daemon);
            }
        }
        self.islands.push(island);
    }

    /// Connects every link that has an end here. Senders of an input register in the order of their index.
    fn connect(&mut self, ports: &Ports) {
        let plan = self.plan;
        self.ends = plan.links.iter().map(|link| ports.ends(link)).collect();
        let mut order: Vec<usize> = (0..plan.links.len()).collect();
        order.sort_by(|&a, &b| {
            let key = |number: usize| (&plan.links[number].to, plan.links[number].sender);
            key(a).cmp(&key(b))
        });
        for number in order {
            let link = &plan.links[number];
            let (from, to) = (plan.thread_of(link.from.process), plan.thread_of(link.to.process));
            let figures = plan.figures[number];
            let here = self.thread;
            let post = &self.posts[if from == here { to } else { from }];
            let crossing = Crossing { crossings: &plan.crossings, number, post };
            let (outlet, inbox) = self.ends[number].clone();
            let missing = |end: &Endpoint| -> ! { panic!("no port {end:?}") };
            match (from == here, to == here) {
                (true, true) => {
                    let inbox = inbox.unwrap_or_else(|| missing(&link.to));
                    let outlet = outlet.unwrap_or_else(|| missing(&link.from));
                    outlet.connect_local(link, figures, &inbox);
                }
                (true, false) => {
                    let outlet = outlet.unwrap_or_else(|| missing(&link.from));
                    let side = outlet.connect_remote(link, figures, &crossing);
                    self.outgoing[batch_number(number, false)] = Some(side.outgoing);
                    self.incoming[batch_number(number, true)] = Some(side.incoming);
                }
                (false, true) => {
                    let inbox = inbox.unwrap_or_else(|| missing(&link.to));
                    let side = inbox.connect_remote(figures, &crossing);
                    self.outgoing[batch_number(number, true)] = Some(side.outgoing);
                    self.incoming[batch_number(number, false)] = Some(side.incoming);
                }
                (false, false) => {}
            }
        }
    }

    /// Hands over messages and credits to other shares, and returns the report of this share at the end of a window.
    pub(crate) fn report(&mut self) -> Report {
        let plan = self.plan;
        self.own.next = self.agenda.with(|agenda| agenda.earliest());
        self.own.mail = false;
        for &other in &self.others {
            let earliest = self.posts[other].flush(plan.notice(self.thread, other), &self.outgoing);
            self.own.next = self.own.next.min(earliest);
            self.own.mail |= earliest != NEVER;
        }
        // All shares have come so far where something is judged.
        let judged = self.own.next >= self.stir.limit();
        self.own.will_act = judged && self.islands.iter().any(Island::will_act);
        self.own.interrupted = self.thread == 0 && plan.options.interrupt.load(Ordering::Relaxed);
        self.own
    }

    /// Runs the next window, unless the reports of all shares say that the run is over or held.
    pub(crate) fn window(&mut self, all: &Report) -> Passed {
        let plan = self.plan;
        for &other in &self.others {
            plan.notice(other, self.thread).take(&mut self.dirty);
            for number in self.dirty.drain(..) {
                if let Some(incoming) = &self.incoming[number as usize] {
                    incoming.fetch();
                }
            }
        }
        if all.inspect
            && let Some(inspections) = &plan.inspections
        {
            // The receiver may have gone.
            let _ = inspections.send(self.inspect(all.hold));
        }
        if all.mail && all.next >= self.judgement().min(self.stop_at).min(all.hold) {
            // Whether that wakes anybody must be known before anything is judged.
            return Passed::On;
        }
        self.own.ran = false;
        // Every share sees the same reports, so every share decides the same.
        let ended = all.failed.min(if all.live == 0 { all.ended } else { NEVER });
        let found = self.guard.note(all.next, all.ran, all.moved);
        let acted = if all.will_act { NEVER } else { all.acted };
        let in_vain = self.stir.note(all.next, all.ran, acted);
        let verdict = if found.is_some() { Verdict::Livelock } else { Verdict::InVain };
        let found = found.or(in_vain);
        let found = found.filter(|&time| ended == NEVER && time < self.stop_at && all.next != NEVER);
        let horizon = found.unwrap_or(self.stop_at.min(ended.saturating_add(plan.grace)));
        self.recorder.note(all.next, horizon, &self.processes);
        self.samples.note(all.next, horizon, &self.samplers);
        if all.next >= horizon {
            self.end = match ended {
                NEVER if found.is_some() => (verdict, horizon),
                NEVER if all.next == NEVER => (Verdict::Deadlock, self.latest()),
                NEVER => (Verdict::Stopped, self.stop_at),
                _ => (Verdict::Done, ended),
            };
            return Passed::Over;
        }
        if all.interrupted {
            self.end = (Verdict::Interrupted, all.next);
            return Passed::Over;
        }
        // If no event is left, or all processes that count have returned, the run continues to its end: its time is known
        // already.
        let hold = if all.next == NEVER || ended < all.hold { NEVER } else { all.hold };
        if all.next >= hold {
            return Passed::Held;
        }
        if self.thread == 0 {
            plan.options.clock.store(all.next, Ordering::Relaxed);
        }
        let limit = all.next.saturating_add(plan.partition.meeting);
        let recorded = self.recorder.limit().min(self.samples.limit());
        self.run_islands(limit.min(horizon).min(recorded).min(self.judgement()).min(hold));
        Passed::On
    }

    /// The next time at which the run is checked for a livelock.
    fn judgement(&self) -> u64 {
        self.guard.limit().min(self.stir.limit())
    }

    /// Runs the islands up to `limit`, in windows that are as short as the links between them.
    fn run_islands(&mut self, limit: u64) {
        let pulse = &*self.plan.pulses[self.thread];
        let step = self.plan.partition.step[self.thread];
        let mut endings = std::mem::take(&mut self.endings);
        pulse.beat();
        // Islands without an event are not visited.
        let mut next = self.agenda.with(|agenda| agenda.earliest());
        while next < limit {
            let until = limit.min(next.saturating_add(step));
            while next < until {
                self.agenda.with(|agenda| agenda.begin(next));
                while let Some(number) = self.agenda.with(Queue::take) {
                    let island = &mut self.islands[number as usize];
                    pulse.set_island(number as usize);
                    island.run(until, &mut endings);
                    let (moved, acted) = island.went_on();
                    self.own.moved = self.own.moved.max(moved);
                    self.own.acted = self.own.acted.max(acted);
                    self.own.ran = true;
                    self.own.work += 1;
                }
                next = self.agenda.with(|agenda| agenda.earliest());
            }
        }
        pulse.beat();
        for ending in endings.drain(..) {
            if !ending.daemon {
                self.own.live -= 1;
                self.own.ended = self.own.ended.max(ending.time);
            }
            if let Err(fault) = ending.result
                && self
                    .failure
                    .as_ref()
                    .is_none_or(|known| (ending.time, ending.process) < (known.0, known.1))
            {
                self.own.failed = self.own.failed.min(ending.time);
                self.failure = Some((ending.time, ending.process, fault));
            }
        }
        self.endings = endings;
    }

    /// Results of the share.
    pub(crate) fn finish(mut self) -> ShareResult {
        let (verdict, time) = self.end;
        let hangs = matches!(verdict, Verdict::Deadlock | Verdict::Livelock | Verdict::InVain);
        let standstill = hangs.then(|| self.standstill());
        let hashes = self.processes.iter();
        let hashes = hashes.filter_map(|(index, process)| Some((*index, process.hash()?))).collect();
        let costs = self.islands.iter().flat_map(Island::costs).collect();
        let results =
            std::mem::take(&mut self.finish).into_iter().map(|(index, finish)| (index, finish())).collect();
        let snapshots = std::mem::take(&mut self.recorder.snapshots);
        let every = self.samples.every();
        let samples = std::mem::take(&mut self.samples.taken);
        let failure = self.failure.take();
        ShareResult { verdict, time, failure, results, hashes, costs, snapshots, every, samples, standstill }
    }

    /// A view of this share when the run is held.
    fn inspect(&self, time: u64) -> InspectionPart {
        let levels = self.ends.iter().zip(&self.plan.links).map(|((outlet, inbox), link)| Level {
            messages: inbox.as_ref().map(|inbox| inbox.level(link.sender, time)),
            credits: outlet.as_ref().map(|outlet| outlet.credits(time)),
        });
        let levels: Vec<Level> = levels.collect();
        let mut standstill = self.standstill();
        for (state, level) in standstill.links.iter_mut().zip(&levels) {
            // Messages on their way are known at once on one thread, and after a window on another: whether
            // they were waited for before must not show.
            state.idle = state.idle.filter(|(queued, _)| *queued == 0);
            let (credits, travelling, _) = level.credits.unwrap_or_default();
            state.starved = state.starved.filter(|_| credits + travelling == 0);
        }
        InspectionPart {
            of: self.plan.partition.threads,
            time,
            shown: self.viewers.iter().map(|(&index, viewer)| (index, viewer())).collect(),
            levels,
            standstill,
        }
    }

    /// Time of the last event in this share.
    fn latest(&self) -> u64 {
        self.processes.values().map(|process| process.ps()).max().unwrap_or(0)
    }

    /// Waits of this thread's processes, for the report of a hang.
    fn standstill(&self) -> Standstill {
        let unfinished = self.islands.iter().flat_map(Island::unfinished);
        let unfinished = unfinished.map(|(process, daemon)| Unfinished {
            process: process.index as usize,
            daemon,
            busy: process.busy.get(),
            reasons: process.reasons(),
        });
        let ends = self.ends.iter().zip(&self.plan.links).map(|((outlet, inbox), link)| LinkState {
            starved: outlet.as_ref().and_then(|outlet| outlet.starved()),
            idle: inbox.as_ref().and_then(|inbox| inbox.idle()),
            backlog: inbox.as_ref().map(|inbox| inbox.backlog_of(link.sender)),
        });
        let places = self.plan.places.all();
        let known = self.processes.values().flat_map(|process| process.recalled(&places));
        Standstill { unfinished: unfinished.collect(), links: ends.collect(), known: known.collect() }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // A receiver and its senders know each other: neither would ever be freed.
        self.ends.iter().filter_map(|(_, inbox)| inbox.as_ref()).for_each(|inbox| inbox.disconnect());
    }
}
