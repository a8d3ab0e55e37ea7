//! The watchdog: names a component that does not give its thread back, while it hangs.
//!
//! A component that computes without ever waiting keeps its thread, and with it the simulated time of the whole machine.
//! Nothing inside the simulation can notice that, so a separate thread observes wall-clock time: every worker records
//! its current work in its [`Pulse`], and a pulse that stays the same for too long is a component that hangs. The
//! watchdog only reports; it never changes a result.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::time::SimTime;

/// The longest time between two readings.
const INTERVAL: Duration = Duration::from_millis(250);

/// A component that was polled and has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Path of the component.
    pub path: String,
    /// The simulated time at which it was called upon.
    pub time: SimTime,
    /// For how long, in wall-clock time, it has been seen at it.
    pub elapsed: Duration,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stuck { path, time, elapsed } = self;
        let seconds = elapsed.as_secs_f64();
        write!(f, "{path} was called upon at {time} and has not come back for {seconds:.1} s of real time")
    }
}

/// Options of the watchdog.
#[derive(Clone)]
pub struct Watchdog {
    /// Wall-clock time without progress after which a component is reported; `None` for never.
    pub after: Option<Duration>,
    /// Takes each report, on the watchdog's thread, once per component.
    pub report: Arc<dyn Fn(Stuck) + Send + Sync>,
    /// Flag that a caller sets to stop waiting for a component that hangs.
    pub abandon: Arc<AtomicBool>,
    /// Called on the watchdog's thread when `abandon` is set while a component hangs: the run will not end by itself.
    pub abandoned: Arc<dyn Fn(Stuck) + Send + Sync>,
}

impl Default for Watchdog {
    /// Reports to the simulator's log after ten seconds.
    fn default() -> Self {
        Watchdog {
            after: Some(Duration::from_secs(10)),
            report: Arc::new(|stuck| tracing::warn!(target: "simulation", "{stuck}")),
            abandon: Arc::default(),
            abandoned: Arc::new(|_| {}),
        }
    }
}

/// Activity of a worker, for the watchdog. Written by the worker alone, with relaxed stores: a store for each
/// island, two for each batch of processes, and the one for each poll takes the place of a plain store.
#[derive(Default)]
pub(crate) struct Pulse {
    /// Number of begins and ends of windows: odd within a window.
    windows: AtomicU64,
    island: AtomicU32,
    /// Simulated time of the last batch of processes that was polled.
    time: AtomicU64,
    /// The place in the island of the first process of the batch's domain.
    first: AtomicU32,
    /// The process that is being polled: its slot in the domain.
    slot: AtomicU32,
    /// The processes by island and place, as positions in the machine.
    processes: OnceLock<Vec<Box<[u32]>>>,
}

impl Pulse {
    /// Sets the processes of the worker; called once, before the first window.
    pub(crate) fn begin(&self, processes: Vec<Box<[u32]>>) {
        let _ = self.processes.set(processes);
    }

    /// The islands of the worker begin to run through a window, or have run.
    pub(crate) fn beat(&self) {
        self.windows.store(self.windows.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// An island begins to run.
    #[inline]
    pub(crate) fn set_island(&self, island: usize) {
        self.island.store(island as u32, Ordering::Relaxed);
    }

    /// A batch of processes begins, in the domain whose first process has place `first`.
    #[inline(always)]
    pub(crate) fn set_batch(&self, time: u64, first: u32) {
        self.time.store(time, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
    }

    /// A process is polled.
    #[inline(always)]
    pub(crate) fn set_slot(&self, slot: u32) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// The place of the process that is or was polled last.
    pub(crate) fn running(&self) -> u32 {
        self.first.load(Ordering::Relaxed) + self.slot.load(Ordering::Relaxed)
    }

    fn read(&self) -> Reading {
        Reading {
            window: self.windows.load(Ordering::Relaxed),
            island: self.island.load(Ordering::Relaxed),
            time: self.time.load(Ordering::Relaxed),
            running: self.running(),
        }
    }

    /// The process that a reading names. A reading is not of one instant: if its values do not fit together, there is none.
    fn process(&self, reading: &Reading) -> Option<u32> {
        self.processes.get()?.get(reading.island as usize)?.get(reading.running as usize).copied()
    }
}

/// A sample of a pulse.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reading {
    window: u64,
    island: u32,
    time: u64,
    running: u32,
}

impl Reading {
    /// Whether a component may be at work; otherwise the worker waits for others.
    fn is_inside(&self) -> bool {
        self.window % 2 == 1
    }
}

/// Looks at the pulses until `ended` is closed.
pub(crate) fn watch(watchdog: &Watchdog, pulses: &[Arc<Pulse>], paths: &[String], ended: &Receiver<()>) {
    let mut seen: Vec<(Reading, Instant)> =
        pulses.iter().map(|pulse| (pulse.read(), Instant::now())).collect();
    let interval =
        watchdog.after.map_or(INTERVAL, |after| (after / 4).clamp(Duration::from_millis(1), INTERVAL));
    let mut reported = BTreeSet::new();
    let mut abandoned = false;
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        for (pulse, (last, since)) in pulses.iter().zip(&mut seen) {
            let reading = pulse.read();
            if reading != *last || !reading.is_inside() {
                (*last, *since) = (reading, Instant::now());
                continue;
            }
            let Some(process) = pulse.process(&reading) else { continue };
            let (time, elapsed) = (SimTime::from_ps(reading.time), since.elapsed());
            let stuck = || Stuck { path: paths[process as usize].clone(), time, elapsed };
            if watchdog.after.is_some_and(|after| elapsed >= after) && reported.insert(process) {
                (watchdog.report)(stuck());
            }
            if !abandoned && watchdog.abandon.load(Ordering::Relaxed) && elapsed >= INTERVAL {
                abandoned = true;
                (watchdog.abandoned)(stuck());
            }
        }
    }
}
