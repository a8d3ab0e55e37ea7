//! Running a machine: one thread's part of it, window by window.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::domain::Domain;
use super::island::{Agenda, Ending, Island, IslandState};
use super::local::Local;
use super::machine::{Endpoint, LinkSpec, Machine, ProcessSpec};
use super::outcome::{Blocked, Fault, Hang, Outcome, Waiting};
use super::parallel::{Exchange, Report};
use super::partition::{Islands, Partition};
use super::process::Process;
use super::queue::Queue;
use super::remote::{Incoming, Notice, batch_number};
use super::snapshot::{Recorder, Snapshot, SnapshotTimes, combine};
use super::wiring::{AnyInbox, AnyOutlet, Crossing, Crossings, Figures, Ports, Wiring};
use crate::time::{Clock, SimTime};

/// The machine goes on for at least this long after its end, in picoseconds, and a window is no longer: what happens
/// up to then does not depend on the cut.
const GRACE: u64 = 1 << 20;

/// How to run a machine. None of this changes what it does, `stop_at` apart.
#[derive(Clone)]
pub struct RunOptions {
    /// Threads to use at most; no more than there are islands.
    pub threads: usize,
    /// How to cut the machine.
    pub islands: Islands,
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
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            threads: 1,
            islands: Islands::Auto,
            stop_at: None,
            hash: false,
            snapshots: None,
            livelock_after: SimTime::from_ns(1_000_000_000),
            interrupt: Arc::default(),
            clock: Arc::default(),
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
    pub fn run(self, options: &RunOptions) -> Finished {
        let partition = Partition::new(&self, options.threads, options.islands);
        let longest = self.links.iter().map(|link| self.latency(link)).max().unwrap_or(1).max(1);
        let plan = Plan {
            figures: self.links.iter().map(|link| Figures::new(&self, link)).collect(),
            paths: self.processes.iter().map(|process| process.path.clone()).collect(),
            links: self.links,
            window: if partition.thread.len() == 1 { GRACE } else { partition.lookahead.min(longest) },
            grace: longest.max(GRACE),
            notices: (0..partition.threads * partition.threads).map(|_| Arc::default()).collect(),
            crossings: Crossings::default(),
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
    /// How long the machine goes on after its end: at least a window, and the same for every cut, so that what lies
    /// before the end of the run is the same too.
    grace: u64,
    /// From thread i to thread j at i·threads + j.
    notices: Vec<Arc<Notice>>,
    crossings: Crossings,
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
    snapshots: Vec<Snapshot>,
    blocked: Vec<Blocked>,
}

impl Plan {
    fn thread_of(&self, process: usize) -> usize {
        self.partition.thread[self.partition.island[process]]
    }

    fn notice(&self, from: usize, to: usize) -> &Arc<Notice> {
        &self.notices[from * self.partition.threads + to]
    }

    fn combine(&self, parts: &mut [Part]) -> Finished {
        let failure = parts.iter_mut().filter_map(|part| part.failure.take()).min_by_key(|f| (f.0, f.1));
        let verdict = parts[0].verdict;
        let time = SimTime::from_ps(parts.iter().map(|part| part.time).max().unwrap_or(0));
        let mut results: Vec<(usize, Box<dyn Any + Send>)> = Vec::new();
        let mut hashes: Vec<(usize, u64)> = Vec::new();
        let mut snapshots: Vec<Snapshot> = Vec::new();
        let mut blocked = Vec::new();
        for part in parts {
            results.append(&mut part.results);
            hashes.append(&mut part.hashes);
            snapshots.append(&mut part.snapshots);
            blocked.append(&mut part.blocked);
        }
        results.sort_by_key(|(index, _)| *index);
        hashes.sort_unstable();
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
            (None, Verdict::Deadlock) => Outcome::Deadlock(Hang::new(time, blocked)),
            (None, Verdict::Livelock) => Outcome::Livelock(Hang::new(time, blocked)),
        };
        let hashes = hashes.iter().map(|&(index, hash)| (self.paths[index].as_str(), hash));
        let hash = self.options.hash.then(|| combine(hashes));
        Finished {
            outcome,
            results: results.into_iter().map(|(_, result)| result).collect(),
            hash,
            snapshots,
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
    ports: Ports,
    incoming: Vec<Option<Box<dyn Incoming>>>,
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
        let mut worker = Worker {
            plan,
            thread,
            islands: Vec::new(),
            agenda: Rc::new(Local::new(Queue::new(islands.len()))),
            processes: BTreeMap::new(),
            finish: Vec::new(),
            ports: Ports::default(),
            incoming: (0..2 * plan.links.len()).map(|_| None).collect(),
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
            worker.start_island(processes, &connected);
        }
        worker.connect();
        worker
    }

    fn start_island(
        &mut self,
        processes: Vec<(usize, ProcessSpec)>,
        connected: &BTreeMap<usize, Vec<(String, Option<u32>)>>,
    ) {
        let state = IslandState::new(Rc::clone(&self.agenda), self.islands.len() as u32);
        let mut island = Island::new(Rc::clone(&state));
        let mut sizes: BTreeMap<Clock, usize> = BTreeMap::new();
        for (_, spec) in &processes {
            *sizes.entry(spec.clock).or_default() += 1;
        }
        let mut domains: BTreeMap<Clock, (usize, Rc<Domain>, u32)> = BTreeMap::new();
        for (clock, size) in sizes {
            let domain = Domain::new(Rc::clone(&state), clock, size);
            domains.insert(clock, (island.add_domain(Rc::clone(&domain)), domain, 0));
        }
        for (index, spec) in processes {
            let (group, domain, slots) = domains.get_mut(&spec.clock).expect("every clock has its domain");
            let hashing = self.plan.options.hash || self.plan.options.snapshots.is_some();
            let process = Process::new(Rc::clone(domain), *slots, index as u32, spec.blocking, hashing);
            *slots += 1;
            self.processes.insert(index, Rc::clone(&process));
            let mut wiring = Wiring {
                ports: &mut self.ports,
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
    fn connect(&mut self) {
        let plan = self.plan;
        let mut order: Vec<usize> = (0..plan.links.len()).collect();
        order.sort_by(|&a, &b| {
            let key = |number: usize| (&plan.links[number].to, plan.links[number].sender);
            key(a).cmp(&key(b))
        });
        for number in order {
            let link = &plan.links[number];
            let (from, to) = (plan.thread_of(link.from.process), plan.thread_of(link.to.process));
            let figures = plan.figures[number];
            let crossing = Crossing {
                crossings: &plan.crossings,
                number,
                there: plan.notice(from, to),
                back: plan.notice(to, from),
            };
            let here = self.thread;
            match (from == here, to == here) {
                (true, true) => self.outlet(&link.from).connect_local(link, figures, &self.inbox(&link.to)),
                (true, false) => {
                    let incoming = self.outlet(&link.from).connect_remote(link, figures, &crossing);
                    self.incoming[batch_number(number as u32, true)] = Some(incoming);
                }
                (false, true) => {
                    let incoming = self.inbox(&link.to).connect_remote(figures, &crossing);
                    self.incoming[batch_number(number as u32, false)] = Some(incoming);
                }
                (false, false) => {}
            }
        }
    }

    fn outlet(&self, end: &Endpoint) -> Rc<dyn AnyOutlet> {
        Rc::clone(self.ports.outlets.get(end).unwrap_or_else(|| panic!("no output {end:?}")))
    }

    fn inbox(&self, end: &Endpoint) -> Rc<dyn AnyInbox> {
        Rc::clone(self.ports.inboxes.get(end).unwrap_or_else(|| panic!("no input {end:?}")))
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
        let (verdict, time) = loop {
            own.next = self.agenda.with(|agenda| agenda.earliest()).0;
            for &other in &others {
                own.next = own.next.min(plan.notice(self.thread, other).take_earliest());
            }
            own.interrupted = self.thread == 0 && plan.options.interrupt.load(Ordering::Relaxed);
            let all = self.exchange.swap(own);
            for &other in &others {
                plan.notice(other, self.thread).take_dirty(&mut dirty);
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
            while let Some(number) = self.next_island(limit) {
                let island = &mut self.islands[number];
                island.run(limit, &mut endings);
                own.moved = own.moved.max(island.state.moved.get());
            }
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
        let results = self.finish.into_iter().map(|(index, finish)| (index, finish())).collect();
        Part { verdict, time, failure, results, hashes, snapshots: recorder.snapshots, blocked }
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
                for link in &self.plan.links {
                    if link.from.process == index
                        && let Some(wait) = self.outlet(&link.from).wait()
                    {
                        self.add_wait(&mut waits, &link.from, wait, link.to.process);
                    }
                    if link.to.process == index
                        && let Some(wait) = self.inbox(&link.to).wait()
                    {
                        self.add_wait(&mut waits, &link.to, wait, link.from.process);
                    }
                }
                Blocked { path: self.plan.paths[index].clone(), daemon, waits }
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
