//! Progress of a run, for an observer on another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use counterpoint_framework::telemetry::Meter;
use counterpoint_framework::time::SimTime;
use counterpoint_host_model::Journal;
use counterpoint_host_model::program::Application;

use super::forecast::Forecast;

/// Progress of a run, which can also interrupt the run. Clones refer to the same run.
#[derive(Clone, Default)]
pub struct Progress {
    interrupt: Arc<AtomicBool>,
    abandon: Arc<AtomicBool>,
    listens: Arc<AtomicBool>,
    clock: Arc<AtomicU64>,
    watched: Arc<Mutex<Option<Watched>>>,
}

/// State that is observed while a run lasts.
struct Watched {
    journal: Arc<Journal>,
    meter: Arc<Meter>,
    launches: u64,
    ctas: u64,
    bytes: u64,
    /// See [`Application::blocks`].
    blocks: Option<Arc<[(String, u64)]>>,
}

/// Progress at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Simulated time.
    pub time: SimTime,
    /// Launches that have ended.
    pub launches: u64,
    /// Launches of the application.
    pub all_launches: u64,
    /// Thread blocks that have ended.
    pub ctas: u64,
    /// Thread blocks that are under way.
    pub under_way: u64,
    /// Thread blocks of the application.
    pub all_ctas: u64,
    /// Bytes that have moved between files, host and devices.
    pub bytes: u64,
    /// Bytes that will have moved in the end.
    pub all_bytes: u64,
}

impl Snapshot {
    /// Finished share of the work, by wall-clock time: a copied byte costs next to nothing beside the instructions
    /// of a block.
    pub fn fraction(&self) -> f64 {
        const BLOCKS: f64 = 0.95;
        let share = |done: u64, all: u64| (all > 0).then(|| done.min(all) as f64 / all as f64);
        match (share(self.bytes, self.all_bytes), share(self.ctas, self.all_ctas)) {
            (Some(bytes), Some(ctas)) => (1.0 - BLOCKS) * bytes + BLOCKS * ctas,
            (bytes, ctas) => bytes.or(ctas).unwrap_or(0.0),
        }
    }
}

/// Registration of a run in progress, for its observers.
pub(super) struct Watching(Progress);

impl Watching {
    pub(super) fn progress(&self) -> &Progress {
        &self.0
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        *self.0.watched.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Progress {
    /// A progress that ends the run when someone sets this flag.
    pub fn interrupted_by(interrupt: Arc<AtomicBool>) -> Self {
        Progress { interrupt, ..Progress::default() }
    }

    /// A progress that also leaves the run behind, when someone sets the second flag while a component hangs.
    pub fn abandoned_by(self, abandon: Arc<AtomicBool>) -> Self {
        Progress { abandon, ..self }
    }

    /// A progress that sets this flag when there is something to keep, so that the run ends in order by the others.
    pub fn listening_by(self, listens: Arc<AtomicBool>) -> Self {
        Progress { listens, ..self }
    }

    /// Sets the flag of [`Progress::listening_by`]: from now on the run has results to keep.
    pub(super) fn listen(&self) {
        self.listens.store(true, Ordering::SeqCst);
    }

    pub(super) fn abandon_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.abandon)
    }

    pub(super) fn interrupt_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupt)
    }

    pub(super) fn clock(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.clock)
    }

    /// Ends the run at the next window, with the results so far. A paused run ends when it is resumed.
    pub fn interrupt(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// A run goes on from now until the result is dropped.
    pub(super) fn begin(
        &self,
        application: &Application,
        journal: &Arc<Journal>,
        meter: &Arc<Meter>,
    ) -> Watching {
        let watched = Watched {
            journal: Arc::clone(journal),
            meter: Arc::clone(meter),
            launches: application.launches(),
            ctas: application.ctas(),
            bytes: application.bytes(),
            blocks: application
                .blocks()
                .map(|blocks| blocks.into_iter().map(|(kernel, count)| (kernel.to_owned(), count)).collect()),
        };
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
        Watching(self.clone())
    }

    /// Forecast of the remaining time of the run in progress, as far as it is known; `None` while no run is in
    /// progress.
    pub fn forecast(&self) -> Option<Forecast> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.as_ref().map(|watched| Forecast::new(watched.blocks.clone()))
    }

    /// Progress of the run; `None` while no run is in progress.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.as_ref().map(|watched| Snapshot {
            time: SimTime::from_ps(self.clock.load(Ordering::Relaxed)),
            launches: watched.journal.launches_ended(),
            all_launches: watched.launches,
            ctas: watched.meter.ended(),
            under_way: watched.meter.under_way(),
            all_ctas: watched.ctas,
            bytes: watched.journal.bytes_moved(),
            all_bytes: watched.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_counts_what_there_is() {
        let half = Snapshot { bytes: 5, all_bytes: 10, ..Snapshot::default() };
        assert_eq!(half.fraction(), 0.5);
        let both = Snapshot { ctas: 4, all_ctas: 4, ..half };
        assert!((both.fraction() - 0.975).abs() < 1e-12);
        assert_eq!(Snapshot::default().fraction(), 0.0);
        assert_eq!(Progress::default().snapshot(), None);
    }
}
