//! Running a machine to its end: its cut, its threads, and the results of their shares as one.

use std::any::Any;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use crate::channel::remote::Notice;
use crate::channel::wiring::Crossings;
use crate::machine::{ProcessNetwork, ProcessSpec};
use crate::observe::inspect::InspectionPart;
use crate::observe::outcome::{Hang, HangKind, Outcome};
use crate::observe::sample_log::SampleLog;
use crate::observe::snapshot::{Snapshot, combine};
use crate::observe::standstill::Standstill;
use crate::observe::watchdog::watch;
use crate::time::SimTime;
use crate::windows::island::{Cost, SPAN};
use crate::windows::options::{RunOptions, Sharing};
use crate::windows::parallel::Exchange;
use crate::windows::partition::{Cut, Fewer, Partition};
use crate::windows::plan::{Plan, ShareResult, Verdict};
use crate::windows::run_control::RunControl;
use crate::windows::worker::Worker;
use crate::windows::worker_pool::{HandoffSlots, follow, lead};

/// Results of a run.
pub struct Finished {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Per process what its `finish` gave, in the machine's order.
    pub results: Vec<Box<dyn Any + Send>>,
    /// The hash of all events, if requested.
    pub hash: Option<u64>,
    /// The requested snapshots, by time and process.
    pub snapshots: Vec<Snapshot>,
    /// The requested samples, by time, process and number.
    pub samples: SampleLog,
    /// Time from one sample to the next: longer than requested if there would be too many samples.
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
    /// Reason for fewer threads than requested.
    pub fewer: Option<Fewer>,
    /// Fraction of the wall-clock time in which the first thread ran all shares, since the others had no cores or too little to do.
    pub alone: f64,
}

impl WorkerPool {
    /// Message for a user who requested another number of threads, `asked`.
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
    /// The cut that a run with these options makes where there are enough cores. A run makes this cut by itself; this
    /// method is for display.
    pub fn cut(&mut self, options: &RunOptions) -> Cut {
        self.weigh(options.weights.as_deref());
        let (threads, always) = (options.threads, options.sharing != Sharing::WhereFaster);
        let (partition, fewer) = Partition::for_run(self, threads, usize::MAX, always, options.islands);
        partition.describe(self, options.islands, fewer)
    }

    /// Runs the machine to its end.
    ///
    /// # Panics
    /// If a link names a port that its process has not taken, or joins ports of different message types. A process that
    /// panics while it runs ends the run with [`Outcome::Failed`] instead.
    pub fn run(self, options: &RunOptions) -> Finished {
        self.run_with(options, RunControl::free(), None)
    }

    /// Runs the machine up to `until` to see what its processes weigh: nanoseconds of computing per cycle,
    /// for [`RunOptions::weights`] of the runs that count. Only the time in which a process has something to
    /// do counts: a phase in which it rests makes it no lighter, and a process that rests all the time has
    /// its declared weight. These are measured times and differ from call to call; no result depends on them.
    /// `interrupt` ends it early.
    pub fn warm_up(self, until: SimTime, interrupt: Arc<AtomicBool>) -> Arc<[u32]> {
        let cycles = |process: &ProcessSpec| process.clock.index(SimTime::from_ps(SPAN)).max(1);
        let declared: Vec<(u32, u64)> =
            self.declared().zip(&self.processes).map(|(weight, process)| (weight, cycles(process))).collect();
        let options = RunOptions { measure: true, stop_at: Some(until), interrupt, ..RunOptions::default() };
        let costs = self.run(&options).costs;
        let weight = |cost: &Cost, (declared, cycles): (u32, u64)| match cost.spans {
            0 => declared,
            spans => cost.nanos.div_ceil(spans * cycles).clamp(1, u64::from(u32::MAX)) as u32,
        };
        costs.iter().zip(declared).map(|(cost, declared)| weight(cost, declared)).collect()
    }

    /// Runs the machine as far as the run control lets it; what there is to see of it when it is held goes to `inspections`.
    pub(crate) fn run_with(
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
            figures: self.links.iter().map(|link| self.figures(link)).collect(),
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
        finish(&plan, &mut parts, WorkerPool { threads, fewer, alone })
    }
}

/// The results of all threads as one.
fn finish(plan: &Plan, parts: &mut [ShareResult], workers: WorkerPool) -> Finished {
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
    let hang = |time, kind| Hang::new(time, standstill.blocked(&plan.paths, &plan.links, time), kind);
    let outcome = match (failure, verdict) {
        (Some((time, process, fault)), _) => Outcome::Failed {
            time: SimTime::from_ps(time),
            path: plan.paths[process as usize].clone(),
            fault,
        },
        (None, Verdict::Done) => Outcome::Finished(time),
        (None, Verdict::Stopped) => Outcome::Stopped(time),
        (None, Verdict::Interrupted) => Outcome::Interrupted(time),
        (None, Verdict::Deadlock) => Outcome::Deadlock(hang(time, HangKind::Still)),
        (None, Verdict::Livelock) => Outcome::Livelock(hang(time, HangKind::Passing)),
        (None, Verdict::InVain) => Outcome::Livelock(hang(time, HangKind::InVain)),
    };
    let hashes = hashes.iter().map(|&(index, hash)| (plan.paths[index].as_str(), hash));
    let hash = plan.options.hash.then(|| combine(hashes));
    Finished {
        outcome,
        results: results.into_iter().map(|(_, result)| result).collect(),
        hash,
        snapshots,
        samples,
        every: parts[0].every,
        costs: costs.into_iter().map(|(_, cost)| cost).collect(),
        islands: plan.partition.thread.len(),
        lookahead: SimTime::from_ps(plan.partition.lookahead),
        workers,
    }
}
