//! Running a machine: options, the plan that all threads share, and the results of their parts.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use super::hang_reasons::Places;
use super::inspect::InspectionPart;
use super::island::Cost;
use super::machine::{LinkSpec, ProcessNetwork, ProcessSpec};
use super::outcome::{Fault, Hang, HangKind, Outcome};
use super::parallel::Exchange;
use super::partition::{Fewer, Islands, Partition};
use super::remote::Notice;
use super::run_control::RunControl;
use super::sample_log::{Log, SampleLog};
use super::snapshot::{Snapshot, SnapshotTimes, combine};
use super::standstill::Standstill;
use super::watchdog::{Pulse, Watchdog, watch};
use super::wiring::{Crossings, Figures};
use super::worker::Worker;
use super::worker_pool::{HandoffSlots, follow, lead};
use crate::time::SimTime;

/// Whether a machine runs on all threads that it may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// On as many as look fastest, no more than there are cores, and by turns on one of them while other processes
    /// have the cores.
    #[default]
    WhereFaster,
    /// On all, whatever that costs: for measurements of threads rather than results.
    Always,
    /// On all, and on one of them, by turns of a few windows: for tests.
    InTurns,
}

/// How to run a machine. None of this changes what it does, `stop_at` apart.
#[derive(Clone)]
pub struct RunOptions {
    /// Threads to use at most; no more than there are islands.
    pub threads: usize,
    /// Whether all of them are used.
    pub sharing: Sharing,
    /// How to cut the machine.
    pub islands: Islands,
    /// Weights of the processes, in the machine's order; without it they have their declared weights.
    pub weights: Option<Arc<[u32]>>,
    /// Measure what the processes cost, which slows them.
    pub measure: bool,
    /// Leave out everything at or after this time. A run that hangs before it ends as it does without.
    pub stop_at: Option<SimTime>,
    /// Compute the hash of all events.
    pub hash: bool,
    /// Note the hashes of the processes at these times.
    pub snapshots: Option<SnapshotTimes>,
    /// Note what the processes have counted at these times.
    pub samples: Option<SnapshotTimes>,
    /// End with a report when no message has been taken for this long, or up to a quarter longer, and something ran in
    /// every quarter of it; [`SimTime::MAX`] for never.
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
            sharing: Sharing::WhereFaster,
            islands: Islands::Auto,
            weights: None,
            measure: false,
            stop_at: None,
            hash: false,
            snapshots: None,
            samples: None,
            livelock_after: SimTime::from_ns(1_000_000_000),
            interrupt: Arc::default(),
            clock: Arc::default(),
            watchdog: Watchdog::default(),
        }
    }
}

/// Results of a run.
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Per process what its `finish` gave, in the machine's order.
    pub results: Vec<Box<dyn Any + Send>>,
    /// The hash of all events, if asked for.
    pub hash: Option<u64>,
    /// The snapshots asked for, by time and process.
    pub snapshots: Vec<Snapshot>,
    /// The samples asked for, by time, process and number.
    pub samples: SampleLog,
    /// From one sample to the next: longer than was asked for where there would be too many.
    pub every: SimTime,
    /// Cost of each process, in the machine's order, if that was measured.
    pub(crate) costs: Vec<Cost>,
    /// Islands into which the machine was cut.
    pub islands: usize,
    /// The lookahead between them: no message from one to another takes less.
    pub lookahead: SimTime,
    /// The threads that ran the machine.
    pub workers: WorkerPool,
}

/// The threads that ran a machine, and why there are not more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerPool {
    /// Number of threads.
    pub threads: usize,
    /// Reason for fewer threads than were asked for.
    pub fewer: Option<Fewer>,
    /// Fraction of the wall-clock time in which the first thread ran all shares, since the others had no cores or too little to do.
    pub alone: f64,
}

impl WorkerPool {
    /// Message for a user who asked for another number of threads.
    pub fn fewer(&self, asked: usize) -> Option<String> {
        self.fewer.map(|fewer| format!("{} ({asked} asked for: {fewer})", self.threads))
    }

    /// Message for a user whose threads slept for a good part of the run.
    pub fn asleep(&self) -> Option<String> {
        let percent = (100.0 * self.alone).round();
        (percent >= 5.0).then(|| {
            format!(
                "{}, of which one ran all for {percent} % of the time: the others had no core or too little to do",
                self.threads
            )
        })
    }
}

impl ProcessNetwork {
    /// Runs the machine to its end.
    ///
    /// # Panics
    /// If a link names a port that its process has not taken, or joins ports of different message types. A process that
    /// panics while it runs ends the run with [`Outcome::Failed`] instead.
    pub fn run(self, options: &RunOptions) -> Finished {
        self.run_with(options, RunControl::free(), None)
    }

    /// Runs the machine as far as the run control lets it; what there is to see of it when it is held goes to `inspections`.
    pub(super) fn run_with(
        mut self,
        options: &RunOptions,
        mut run_control: RunControl,
        inspections: Option<mpsc::Sender<InspectionPart>>,
    ) -> Finished {
        self.weigh(options.weights.as_deref());
        // Affinity and quotas count; what other processes take of the cores shows while it runs.
        let cores = std::thread::available_parallelism().map_or(usize::MAX, usize::from);
        let always = options.sharing != Sharing::WhereFaster;
        let (partition, fewer) = Partition::for_run(&self, options.threads, cores, always, options.islands);
        let grace = self.grace();
        let plan = Plan {
            figures: self.links.iter().map(|link| Figures::new(&self, link)).collect(),
            paths: self.processes.iter().map(|process| process.path.clone()).collect(),
            links: self.links,
            grace,
            notices: (0..partition.threads * partition.threads).map(|_| Notice::default()).collect(),
            crossings: Crossings::default(),
            pulses: (0..partition.threads).map(|_| Arc::default()).collect(),
            partition,
            places: Arc::default(),
            inspections,
            options: options.clone(),
        };
        let mut shares: Vec<Vec<(usize, ProcessSpec)>> =
            (0..plan.partition.threads).map(|_| Vec::new()).collect();
        for (index, process) in self.processes.into_iter().enumerate() {
            shares[plan.thread_of(index)].push((index, process));
        }
        let threads = plan.partition.threads;
        let mut exchanges = Exchange::all(threads, cores).into_iter();
        let slots = HandoffSlots::new(threads);
        let begun = Instant::now();
        let (mut parts, alone) = std::thread::scope(|scope| {
            let mut shares = shares.into_iter().enumerate();
            let own = shares.next().zip(exchanges.next());
            let (plan, slots, run_control) = (&plan, &slots, &mut run_control);
            // The watchdog ends when this end of the channel is dropped, also if a worker panics.
            let (_running, ended) = mpsc::channel();
            scope.spawn(move || watch(&plan.options.watchdog, &plan.pulses, &plan.paths, &ended));
            let others: Vec<_> = shares
                .zip(exchanges)
                .map(|((thread, share), exchange)| {
                    scope.spawn(move || follow(Worker::start(plan, thread, share), exchange, slots, thread))
                })
                .collect();
            let own = own.map(|((thread, share), exchange)| {
                lead(plan, Worker::start(plan, thread, share), exchange, slots, run_control)
            });
            let (mut parts, alone) = own.unwrap_or_default();
            parts.extend(others.into_iter().filter_map(|thread| match thread.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            }));
            (parts, alone)
        });
        let ran = begun.elapsed().saturating_sub(run_control.waited);
        let alone = alone.as_secs_f64() / ran.as_secs_f64().max(1e-9);
        plan.combine(&mut parts, WorkerPool { threads, fewer, alone })
    }
}

/// The plan of the run that all threads share.
pub(super) struct Plan {
    pub(super) links: Vec<LinkSpec>,
    pub(super) figures: Vec<Figures>,
    pub(super) paths: Vec<String>,
    pub(super) partition: Partition,
    /// See [`ProcessNetwork::grace`].
    pub(super) grace: u64,
    /// From thread i to thread j at i·threads + j.
    pub(super) notices: Vec<Notice>,
    pub(super) crossings: Crossings,
    /// By thread.
    pub(super) pulses: Vec<Arc<Pulse>>,
    /// The places on whose contents reasons depend.
    pub(super) places: Arc<Places>,
    /// Where the parts of an inspection of a held run go.
    pub(super) inspections: Option<mpsc::Sender<InspectionPart>>,
    pub(super) options: RunOptions,
}

/// How the windows ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    Stopped,
    Interrupted,
    Deadlock,
    Livelock,
    /// Messages flow, and nobody acts by itself.
    InVain,
}

/// Results of one thread.
pub(super) struct ShareResult {
    pub(super) verdict: Verdict,
    pub(super) time: u64,
    pub(super) failure: Option<(u64, u32, Fault)>,
    pub(super) results: Vec<(usize, Box<dyn Any + Send>)>,
    pub(super) hashes: Vec<(usize, u64)>,
    pub(super) costs: Vec<(u32, Cost)>,
    pub(super) snapshots: Vec<Snapshot>,
    /// From one sample to the next; the same on all threads.
    pub(super) every: SimTime,
    pub(super) samples: Log,
    pub(super) standstill: Option<Standstill>,
}

impl Plan {
    pub(super) fn thread_of(&self, process: usize) -> usize {
        self.partition.thread[self.partition.island[process]]
    }

    /// The threads that a link joins to this one.
    pub(super) fn linked(&self, thread: usize) -> Vec<usize> {
        let ends = self
            .links
            .iter()
            .map(|link| (self.thread_of(link.from.process), self.thread_of(link.to.process)));
        let others = ends.filter_map(|(from, to)| match thread {
            here if here == from => Some(to),
            here if here == to => Some(from),
            _ => None,
        });
        others.filter(|&other| other != thread).collect::<BTreeSet<usize>>().into_iter().collect()
    }

    pub(super) fn notice(&self, from: usize, to: usize) -> &Notice {
        &self.notices[from * self.partition.threads + to]
    }

    fn combine(&self, parts: &mut [ShareResult], workers: WorkerPool) -> Finished {
        let failure = parts.iter_mut().filter_map(|part| part.failure.take()).min_by_key(|f| (f.0, f.1));
        let verdict = parts[0].verdict;
        let time = SimTime::from_ps(parts.iter().map(|part| part.time).max().unwrap_or(0));
        let mut results: Vec<(usize, Box<dyn Any + Send>)> = Vec::new();
        let mut hashes: Vec<(usize, u64)> = Vec::new();
        let mut snapshots: Vec<Snapshot> = Vec::new();
        let mut samples = SampleLog::default();
        let mut costs: Vec<(u32, Cost)> = Vec::new();
        let mut standstills = Vec::new();
        for part in parts.iter_mut() {
            results.append(&mut part.results);
            hashes.append(&mut part.hashes);
            costs.append(&mut part.costs);
            snapshots.append(&mut part.snapshots);
            samples.add(std::mem::take(&mut part.samples));
            standstills.extend(part.standstill.take());
        }
        results.sort_by_key(|(index, _)| *index);
        hashes.sort_unstable();
        costs.sort_unstable_by_key(|(process, _)| *process);
        snapshots.sort_unstable();
        let standstill = standstills.into_iter().reduce(Standstill::join).unwrap_or_default();
        let hang = |time, kind| Hang::new(time, standstill.blocked(&self.paths, &self.links, time), kind);
        let outcome = match (failure, verdict) {
            (Some((time, process, fault)), _) => Outcome::Failed {
                time: SimTime::from_ps(time),
                path: self.paths[process as usize].clone(),
                fault,
            },
            (None, Verdict::Done) => Outcome::Finished(time),
            (None, Verdict::Stopped) => Outcome::Stopped(time),
            (None, Verdict::Interrupted) => Outcome::Interrupted(time),
            (None, Verdict::Deadlock) => Outcome::Deadlock(hang(time, HangKind::Still)),
            (None, Verdict::Livelock) => Outcome::Livelock(hang(time, HangKind::Passing)),
            (None, Verdict::InVain) => Outcome::Livelock(hang(time, HangKind::InVain)),
        };
        let hashes = hashes.iter().map(|&(index, hash)| (self.paths[index].as_str(), hash));
        let hash = self.options.hash.then(|| combine(hashes));
        Finished {
            outcome,
            results: results.into_iter().map(|(_, result)| result).collect(),
            hash,
            snapshots,
            samples,
            every: parts[0].every,
            costs: costs.into_iter().map(|(_, cost)| cost).collect(),
            islands: self.partition.thread.len(),
            lookahead: SimTime::from_ps(self.partition.lookahead),
            workers,
        }
    }
}
