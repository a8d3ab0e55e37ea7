//! Running a machine: one thread's part of it, window by window.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use super::domain::Domain;
use super::island::{Agenda, Ending, Island, IslandState};
use super::local::Local;
use super::machine::{Endpoint, LinkSpec, Machine, ProcessSpec};
use super::outcome::{Blocked, Fault, Hang, Outcome, Waiting};
use super::parallel::{Exchange, Report};
use super::partition::{Islands, Partition};
use super::process::Process;
use super::queue::Queue;
use super::remote::{Flush, Incoming, Notice, Post, batch_number};
use super::snapshot::{Recorder, Snapshot, SnapshotTimes, combine};
use super::watchdog::{Pulse, Watchdog, watch};
use super::wiring::{Crossing, Crossings, Ends, Figures, Ports, Wiring};
use crate::time::{Clock, SimTime};

/// How to run a machine. None of this changes what it does, `stop_at` apart.
#[derive(Clone)]
pub struct RunOptions {
    /// Threads to use at most; no more than there are islands.
    pub threads: usize,
    /// How to cut the machine.
    pub islands: Islands,
    /// What the processes weigh, in the machine's order; without it they weigh what they say.
    pub weights: Option<Arc<[u32]>>,
    /// Measure what the processes cost, which slows them.
    pub measure: bool,
    /// Leave out everything at or after this time.
    pub stop_at: Option<SimTime>,
    /// Compute the hash of all events.
    pub hash: bool,
    /// Note the hashes of the processes at these times.
    pub snapshots: Option<SnapshotTimes>,
    /// End with a report when no message has been taken for this long.
    pub livelock_after: SimTime,
    /// Set by someone else to end the run.
    pub interrupt: Arc<AtomicBool>,
    /// The simulated time reached, in picoseconds, for someone who watches.
    pub clock: Arc<AtomicU64>,
    /// Names components that do not give their thread back.
    pub watchdog: Watchdog,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            threads: 1,
            islands: Islands::Auto,
            weights: None,
            measure: false,
            stop_at: None,
            hash: false,
            snapshots: None,
            livelock_after: SimTime::from_ns(1_000_000_000),
            interrupt: Arc::default(),
            clock: Arc::default(),
            watchdog: Watchdog::default(),
        }
    }
}

/// What a run leaves.
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Per process what its `finish` gave, in the machine's order.
    pub results: Vec<Box<dyn Any + Send>>,
    /// The hash of all events, if asked for.
    pub hash: Option<u64>,
    /// The snapshots asked for, by time and process.
    pub snapshots: Vec<Snapshot>,
    /// Nanoseconds of computing per process, in the machine's order, if they were measured.
    pub costs: Vec<u64>,
    /// Islands into which the machine was cut.
    pub islands: usize,
    /// The lookahead between them: no message from one to another takes less.
    pub lookahead: SimTime,
}

impl Machine {
    /// Runs the machine to its end.
    ///
    /// # Panics
    /// If a link names a port that its process has not taken, or joins ports of different message types. A process that
    /// panics while it runs ends the run with [`Outcome::Failed`] instead.
    pub fn run(mut self, options: &RunOptions) -> Finished {
        self.weigh(options.weights.as_deref());
        let partition = Partition::new(&self, options.threads, options.islands);
        let grace = self.grace();
        let plan = Plan {
            figures: self.links.iter().map(|link| Figures::new(&self, link)).collect(),
            paths: self.processes.iter().map(|process| process.path.clone()).collect(),
            links: self.links,
            window: partition.lookahead,
            grace,
            notices: (0..partition.threads * partition.threads).map(|_| Notice::default()).collect(),
            crossings: Crossings::default(),
            pulses: (0..partition.threads).map(|_| Arc::default()).collect(),
            partition,
            options: options.clone(),
        };
        let mut shares: Vec<Vec<(usize, ProcessSpec)>> =
            (0..plan.partition.threads).map(|_| Vec::new()).collect();
        for (index, process) in self.processes.into_iter().enumerate() {
            shares[plan.thread_of(index)].push((index, process));
        }
        let mut exchanges = Exchange::all(plan.partition.threads).into_iter();
        let mut parts: Vec<Part> = std::thread::scope(|scope| {
            let mut shares = shares.into_iter().enumerate();
            let own = shares.next().zip(exchanges.next());
            let plan = &plan;
            // The watchdog ends when this end of the channel is dropped, also if a worker panics.
            let (_running, ended) = mpsc::channel();
            scope.spawn(move || watch(&plan.options.watchdog, &plan.pulses, &plan.paths, &ended));
            let others: Vec<_> = shares
                .zip(exchanges)
                .map(|((thread, share), exchange)| {
                    scope.spawn(move || Worker::start(plan, thread, share, exchange).run())
                })
                .collect();
            let own =
                own.map(|((thread, share), exchange)| Worker::start(plan, thread, share, exchange).run());
            let others = others.into_iter().map(|thread| match thread.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            own.into_iter().chain(others).collect()
        });
        plan.combine(&mut parts)
    }
}

/// What all threads know of the run.
struct Plan {
    links: Vec<LinkSpec>,
    figures: Vec<Figures>,
    paths: Vec<String>,
    partition: Partition,
    /// Length of a window.
    window: u64,
    /// See [`Machine::grace`].
    grace: u64,
    /// From thread i to thread j at i·threads + j.
    notices: Vec<Notice>,
    crossings: Crossings,
    /// By thread.
    pulses: Vec<Arc<Pulse>>,
    options: RunOptions,
}

/// How the windows ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    Stopped,
    Interrupted,
    Deadlock,
    Livelock,
}

/// What one thread leaves.
struct Part {
    verdict: Verdict,
    time: u64,
    failure: Option<(u64, u32, Fault)>,
    results: Vec<(usize, Box<dyn Any + Send>)>,
    hashes: Vec<(usize, u64)>,
    costs: Vec<(u32, u64)>,
    snapshots: Vec<Snapshot>,
    blocked: Vec<Blocked>,
}

impl Plan {
    fn thread_of(&self, process: usize) -> usize {
        self.partition.thread[self.partition.island[process]]
    }

    fn notice(&self, from: usize, to: usize) -> &Notice {
        &self.notices[from * self.partition.threads + to]
    }

    fn combine(&self, parts: &mut [Part]) -> Finished {
        let failure = parts.iter_mut().filter_map(|part| part.failure.take()).min_by_key(|f| (f.0, f.1));
        let verdict = parts[0].verdict;
        let time = SimTime::from_ps(parts.iter().map(|part| part.time).max().unwrap_or(0));
        let mut results: Vec<(usize, Box<dyn Any + Send>)> = Vec::new();
        let mut hashes: Vec<(usize, u64)> = Vec::new();
        let mut snapshots: Vec<Snapshot> = Vec::new();
        let mut costs: Vec<(u32, u64)> = Vec::new();
        let mut blocked = Vec::new();
        for part in parts {
            results.append(&mut part.results);
            hashes.append(&mut part.hashes);
            costs.append(&mut part.costs);
            snapshots.append(&mut part.snapshots);
            blocked.append(&mut part.blocked);
        }
        results.sort_by_key(|(index, _)| *index);
        hashes.sort_unstable();
        costs.sort_unstable();
        snapshots.sort_unstable();
        let outcome = match (failure, verdict) {
            (Some((time, process, fault)), _) => Outcome::Failed {
                time: SimTime::from_ps(time),
                path: self.paths[process as usize].clone(),
                fault,
            },
            (None, Verdict::Done) => Outcome::Finished(time),
            (None, Verdict::Stopped) => Outcome::Stopped(time),
            (None, Verdict::Interrupted) => Outcome::Interrupted(time),
            (None, Verdict::Deadlock) => Outcome::Deadlock(Hang::new(time, blocked, false)),
            (None, Verdict::Livelock) => Outcome::Livelock(Hang::new(time, blocked, true)),
        };
        let hashes = hashes.iter().map(|&(index, hash)| (self.paths[index].as_str(), hash));
        let hash = self.options.hash.then(|| combine(hashes));
        Finished {
            outcome,
            results: results.into_iter().map(|(_, result)| result).collect(),
            hash,
            snapshots,
            costs: costs.into_iter().map(|(_, cost)| cost).collect(),
            islands: self.partition.thread.len(),
            lookahead: SimTime::from_ps(self.partition.lookahead),
        }
    }
}

/// One thread's part of the machine.
struct Worker<'a> {
    plan: &'a Plan,
    thread: usize,
    islands: Vec<Island>,
    agenda: Rc<Agenda>,
    processes: BTreeMap<usize, Rc<Process>>,
    finish: Vec<(usize, Finish)>,
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
    fn start(plan: &'a Plan, thread: usize, share: Vec<(usize, ProcessSpec)>, exchange: Exchange) -> Self {
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
        plan.pulses[thread].begin(worker.islands.iter().map(Island::processes).collect());
        worker
    }

    fn start_island(
        &mut self,
        processes: Vec<(usize, ProcessSpec)>,
        connected: &BTreeMap<usize, Vec<(String, Option<u32>)>>,
        ports: &mut Ports,
    ) {
        let state = IslandState::new(Rc::clone(&self.agenda), self.islands.len() as u32);
        let mut sizes: BTreeMap<Clock, usize> = BTreeMap::new();
        for (_, spec) in &processes {
            *sizes.entry(spec.clock).or_default() += 1;
        }
        let pulse = Arc::clone(&self.plan.pulses[self.thread]);
        let mut island = Island::new(Rc::clone(&state), sizes.len(), pulse, self.plan.options.measure);
        let mut domains: BTreeMap<Clock, (usize, Rc<Domain>, u32)> = BTreeMap::new();
        for (clock, size) in sizes {
            let domain = Domain::new(Rc::clone(&state), clock, size);
            domains.insert(clock, (island.add_domain(Rc::clone(&domain), size), domain, 0));
        }
        for (index, spec) in processes {
            let (group, domain, slots) = domains.get_mut(&spec.clock).expect("every clock has its domain");
            let hashing = self.plan.options.hash || self.plan.options.snapshots.is_some();
            let process = Process::new(Rc::clone(domain), *slots, index as u32, spec.blocking, hashing);
            *slots += 1;
            self.processes.insert(index, Rc::clone(&process));
            let mut wiring = Wiring {
                ports: &mut *ports,
                process: Rc::clone(&process),
                connected: connected.get(&index).map_or(&[], Vec::as_slice),
                next_port: 0,
            };
            let started = (spec.start)(&mut wiring);
            self.finish.push((index, started.finish));
            island.add(*group, process, started.body, spec.daemon);
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

    fn run(mut self) -> Part {
        let plan = self.plan;
        let others: Vec<usize> =
            (0..plan.partition.threads).filter(|&thread| thread != self.thread).collect();
        let stop_at = plan.options.stop_at.map_or(u64::MAX, SimTime::as_ps);
        let mut own = Report { live: self.live, ..Report::default() };
        let mut failure: Option<(u64, u32, Fault)> = None;
        let mut endings: Vec<Ending> = Vec::new();
        let mut dirty: Vec<u32> = Vec::new();
        let mut recorder = Recorder::new(plan.options.snapshots);
        let (mut reached, mut quiet_since) = (0, 0);
        let pulse = &*plan.pulses[self.thread];
        let (verdict, time) = loop {
            own.next = self.agenda.with(|agenda| agenda.earliest()).0;
            for &other in &others {
                let earliest = self.posts[other].flush(plan.notice(self.thread, other), &self.outgoing);
                own.next = own.next.min(earliest);
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
            // Every thread sees the same reports, so every thread decides the same.
            let ended = all.failed.min(if all.live == 0 { all.ended } else { u64::MAX });
            let horizon =
                if ended == u64::MAX { stop_at } else { stop_at.min(ended.saturating_add(plan.grace)) };
            recorder.note(all.next, horizon, &self.processes);
            if all.next >= horizon {
                break match ended {
                    u64::MAX if stop_at == u64::MAX => (Verdict::Deadlock, self.latest()),
                    u64::MAX => (Verdict::Stopped, stop_at),
                    _ => (Verdict::Done, ended),
                };
            }
            if all.interrupted {
                break (Verdict::Interrupted, all.next);
            }
            let patience = plan.options.livelock_after.as_ps();
            if all.next.saturating_sub(reached) > patience / 4 {
                // Everybody slept: that is waiting, not running in circles.
                quiet_since = all.next;
            }
            if all.next.saturating_sub(quiet_since.max(all.moved)) > patience && ended == u64::MAX {
                break (Verdict::Livelock, all.next);
            }
            if self.thread == 0 {
                plan.options.clock.store(all.next, Ordering::Relaxed);
            }
            let limit = horizon.min(all.next.saturating_add(plan.window)).min(recorder.limit());
            reached = limit;
            pulse.beat();
            while let Some(number) = self.next_island(limit) {
                let island = &mut self.islands[number];
                pulse.set_island(number);
                island.run(limit, &mut endings);
                own.moved = own.moved.max(island.state.moved.get());
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
        let blocked = match verdict {
            Verdict::Deadlock | Verdict::Livelock => self.blocked(),
            _ => Vec::new(),
        };
        let hashes = self.processes.iter();
        let hashes = hashes.filter_map(|(index, process)| Some((*index, process.hash()?))).collect();
        let costs = self.islands.iter().flat_map(Island::costs).collect();
        let results =
            std::mem::take(&mut self.finish).into_iter().map(|(index, finish)| (index, finish())).collect();
        Part { verdict, time, failure, results, hashes, costs, snapshots: recorder.snapshots, blocked }
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

    /// The processes of this thread that have not returned, and what they wait for.
    fn blocked(&self) -> Vec<Blocked> {
        let unfinished = self.islands.iter().flat_map(Island::unfinished);
        unfinished
            .map(|(process, daemon)| {
                let index = process.index as usize;
                let mut waits = Vec::new();
                for (link, (outlet, inbox)) in self.plan.links.iter().zip(&self.ends) {
                    if link.from.process == index
                        && let Some(wait) = outlet.as_ref().and_then(|outlet| outlet.wait())
                    {
                        self.add_wait(&mut waits, &link.from, wait, link.to.process);
                    }
                    if link.to.process == index
                        && let Some(wait) = inbox.as_ref().and_then(|inbox| inbox.wait())
                    {
                        self.add_wait(&mut waits, &link.to, wait, link.from.process);
                    }
                }
                Blocked { path: self.plan.paths[index].clone(), daemon, busy: process.busy.get(), waits }
            })
            .collect()
    }

    fn add_wait(&self, waits: &mut Vec<Waiting>, end: &Endpoint, wait: super::outcome::Wait, peer: usize) {
        let port = match end.index {
            Some(index) => format!("{}[{index}]", end.port),
            None => end.port.clone(),
        };
        let peer = self.plan.paths[peer].clone();
        if let Some(known) = waits.iter_mut().find(|known| known.port == port && known.kind == wait.kind) {
            known.peers.push(peer);
            return;
        }
        waits.push(Waiting {
            port,
            kind: wait.kind,
            queued: wait.queued,
            capacity: wait.capacity,
            oldest: wait.oldest.map(SimTime::from_ps),
            peers: vec![peer],
        });
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // A receiver and its senders know each other: neither would ever be freed.
        self.ends.iter().filter_map(|(_, inbox)| inbox.as_ref()).for_each(|inbox| inbox.disconnect());
    }
}
