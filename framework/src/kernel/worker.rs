//! One thread's part of a machine: its islands, and its way through the windows.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::island::{Agenda, Ending, Island, IslandState};
use super::livelock::LivelockGuard;
use super::local::Local;
use super::machine::{Endpoint, ProcessSpec};
use super::outcome::Fault;
use super::parallel::{Exchange, Report};
use super::process::Process;
use super::queue::{NEVER, Queue};
use super::remote::{Flush, Incoming, Post, batch_number};
use super::samples::{Sampler, Samples};
use super::simulation::{Part, Plan, Verdict};
use super::snapshot::Recorder;
use super::standstill::{LinkState, Standstill, Unfinished};
use super::wiring::{Crossing, Ends, Ports, Wiring};
use crate::time::{Clock, SimTime};

/// One thread's part of the machine.
pub(super) struct Worker<'a> {
    plan: &'a Plan,
    thread: usize,
    islands: Vec<Island>,
    agenda: Rc<Agenda>,
    processes: BTreeMap<usize, Rc<Process>>,
    finish: Vec<(usize, Finish)>,
    samplers: BTreeMap<usize, Sampler>,
    /// Per link its ends, where they are here.
    ends: Vec<Ends>,
    incoming: Vec<Option<Box<dyn Incoming>>>,
    outgoing: Vec<Option<Rc<dyn Flush>>>,
    /// Per other thread what goes there; one's own place stays empty.
    posts: Vec<Rc<Post>>,
    exchange: Exchange,
    live: u64,
}

type Finish = Box<dyn FnOnce() -> Box<dyn Any + Send>>;

impl<'a> Worker<'a> {
    /// Starts the processes of a share and connects them.
    pub(super) fn start(
        plan: &'a Plan,
        thread: usize,
        share: Vec<(usize, ProcessSpec)>,
        exchange: Exchange,
    ) -> Self {
        let mut islands: BTreeMap<usize, Vec<(usize, ProcessSpec)>> = BTreeMap::new();
        let live = share.iter().filter(|(_, process)| !process.daemon).count() as u64;
        for (index, process) in share {
            islands.entry(plan.partition.island[index]).or_default().push((index, process));
        }
        let crossing = if plan.partition.threads > 1 { plan.links.len() } else { 0 };
        let mut ports = Ports::default();
        let mut worker = Worker {
            plan,
            thread,
            islands: Vec::new(),
            agenda: Rc::new(Local::new(Queue::new(islands.len()))),
            processes: BTreeMap::new(),
            finish: Vec::new(),
            samplers: BTreeMap::new(),
            ends: Vec::new(),
            incoming: (0..2 * crossing).map(|_| None).collect(),
            outgoing: vec![None; 2 * crossing],
            posts: (0..plan.partition.threads).map(|_| Rc::default()).collect(),
            exchange,
            live,
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
        let state = IslandState::new(Rc::clone(&self.agenda), self.islands.len() as u32);
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
                let process = Process::new(Rc::clone(&domain), slot, index as u32, spec.blocking, hashing);
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

    /// Runs the windows to the end of the run.
    pub(super) fn run(mut self) -> Part {
        let plan = self.plan;
        let others: Vec<usize> =
            (0..plan.partition.threads).filter(|&thread| thread != self.thread).collect();
        let stop_at = plan.options.stop_at.map_or(NEVER, SimTime::as_ps);
        let mut own = Report { live: self.live, ..Report::default() };
        let mut failure: Option<(u64, u32, Fault)> = None;
        let mut endings: Vec<Ending> = Vec::new();
        let mut dirty: Vec<u32> = Vec::new();
        let mut recorder = Recorder::new(plan.options.snapshots);
        let mut samples = Samples::new(plan.options.samples, plan.paths.len());
        let mut guard = LivelockGuard::new(plan.options.livelock_after);
        let pulse = &*plan.pulses[self.thread];
        let (verdict, time) = loop {
            own.next = self.agenda.with(|agenda| agenda.earliest()).0;
            own.mail = false;
            for &other in &others {
                let earliest = self.posts[other].flush(plan.notice(self.thread, other), &self.outgoing);
                own.next = own.next.min(earliest);
                own.mail |= earliest != NEVER;
            }
            own.interrupted = self.thread == 0 && plan.options.interrupt.load(Ordering::Relaxed);
            let all = self.exchange.swap(own);
            for &other in &others {
                plan.notice(other, self.thread).take(&mut dirty);
                for number in dirty.drain(..) {
                    if let Some(incoming) = &self.incoming[number as usize] {
                        incoming.fetch();
                    }
                }
            }
            if all.mail && all.next >= guard.limit().min(stop_at) {
                // Whether that wakes anybody must be known before anything is judged.
                continue;
            }
            own.ran = false;
            // Every thread sees the same reports, so every thread decides the same.
            let ended = all.failed.min(if all.live == 0 { all.ended } else { NEVER });
            let found = guard.note(all.next, all.ran, all.moved);
            let found = found.filter(|&time| ended == NEVER && time < stop_at && all.next != NEVER);
            let horizon = found.unwrap_or(stop_at.min(ended.saturating_add(plan.grace)));
            recorder.note(all.next, horizon, &self.processes);
            samples.note(all.next, horizon, &self.samplers);
            if all.next >= horizon {
                break match ended {
                    NEVER if found.is_some() => (Verdict::Livelock, horizon),
                    NEVER if all.next == NEVER => (Verdict::Deadlock, self.latest()),
                    NEVER => (Verdict::Stopped, stop_at),
                    _ => (Verdict::Done, ended),
                };
            }
            if all.interrupted {
                break (Verdict::Interrupted, all.next);
            }
            if self.thread == 0 {
                plan.options.clock.store(all.next, Ordering::Relaxed);
            }
            let limit = all.next.saturating_add(plan.window);
            let looks = recorder.limit().min(samples.limit());
            let limit = limit.min(horizon).min(looks).min(guard.limit());
            pulse.beat();
            while let Some(number) = self.next_island(limit) {
                let island = &mut self.islands[number];
                pulse.set_island(number);
                island.run(limit, &mut endings);
                own.moved = own.moved.max(island.state.moved.get());
                own.ran = true;
            }
            pulse.beat();
            for ending in endings.drain(..) {
                if !ending.daemon {
                    own.live -= 1;
                    own.ended = own.ended.max(ending.time);
                }
                if let Err(fault) = ending.result
                    && failure.as_ref().is_none_or(|known| (ending.time, ending.process) < (known.0, known.1))
                {
                    own.failed = own.failed.min(ending.time);
                    failure = Some((ending.time, ending.process, fault));
                }
            }
        };
        let hangs = matches!(verdict, Verdict::Deadlock | Verdict::Livelock);
        let standstill = hangs.then(|| self.standstill());
        let hashes = self.processes.iter();
        let hashes = hashes.filter_map(|(index, process)| Some((*index, process.hash()?))).collect();
        let costs = self.islands.iter().flat_map(Island::costs).collect();
        let results =
            std::mem::take(&mut self.finish).into_iter().map(|(index, finish)| (index, finish())).collect();
        let (snapshots, every, samples) = (recorder.snapshots, samples.every(), samples.taken);
        Part { verdict, time, failure, results, hashes, costs, snapshots, every, samples, standstill }
    }

    /// When anything last happened here.
    fn latest(&self) -> u64 {
        self.processes.values().map(|process| process.ps()).max().unwrap_or(0)
    }

    /// An island with something to do before `limit`. Islands without are not looked at.
    fn next_island(&self, limit: u64) -> Option<usize> {
        self.agenda.with(|agenda| {
            let (number, _) = agenda.take().or_else(|| {
                let (due, _) = agenda.earliest();
                if due >= limit {
                    return None;
                }
                agenda.begin(due);
                agenda.take()
            })?;
            Some(number as usize)
        })
    }

    /// What this thread knows of a run that hangs.
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
        Standstill { unfinished: unfinished.collect(), links: ends.collect() }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // A receiver and its senders know each other: neither would ever be freed.
        self.ends.iter().filter_map(|(_, inbox)| inbox.as_ref()).for_each(|inbox| inbox.disconnect());
    }
}
