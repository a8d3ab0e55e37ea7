//! The usual choices of a request, one after another: `RunRequest::new(…).threads(2).set("app.n=64")`. Other
//! choices are fields.

use std::path::PathBuf;

use counterpoint_framework::kernel::Sharing;
use counterpoint_framework::telemetry::Level;
use counterpoint_framework::time::SimTime;

use super::RunRequest;

impl RunRequest {
    /// Adds a setting `path=value`, which takes precedence over earlier settings; `app.` addresses the
    /// application's parameters.
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.sets.push(setting.into());
        self
    }

    /// Adds an overlay: a file or a name.
    pub fn with(mut self, overlay: impl Into<String>) -> Self {
        self.overlays.push(overlay.into());
        self
    }

    /// Chooses the runtime of every host.
    pub fn runtime(self, name: impl Into<String>) -> Self {
        RunRequest { runtime: Some(name.into()), ..self }
    }

    /// Chooses the policy of every CTA scheduler.
    pub fn policy(self, name: impl Into<String>) -> Self {
        RunRequest { policy: Some(name.into()), ..self }
    }

    /// Runs without time.
    pub fn functional(self) -> Self {
        RunRequest { functional: true, ..self }
    }

    /// Simulates on up to this number of threads: on fewer where fewer are faster.
    pub fn threads(self, threads: usize) -> Self {
        RunRequest { threads, ..self }
    }

    /// Chooses whether all threads are used.
    pub fn sharing(self, sharing: Sharing) -> Self {
        RunRequest { sharing, ..self }
    }

    /// Computes the hash of all events.
    pub fn hashed(self) -> Self {
        RunRequest { hash: true, ..self }
    }

    /// Leaves out everything at or after this time.
    pub fn stop_at(self, time: SimTime) -> Self {
        RunRequest { stop_at: Some(time), ..self }
    }

    /// Keeps spans up to this level.
    pub fn spans(mut self, level: Level) -> Self {
        self.recording.level = level;
        self
    }

    /// Records the counters of all components at this interval.
    pub fn series(self, every: SimTime) -> Self {
        RunRequest { series: Some(every), ..self }
    }

    /// Sets the seed of all random numbers.
    pub fn seed(self, seed: u64) -> Self {
        RunRequest { seed, ..self }
    }

    /// Writes the results to this folder.
    pub fn out(self, folder: impl Into<PathBuf>) -> Self {
        RunRequest { out: Some(folder.into()), ..self }
    }

    /// Looks names up from this folder and those above it; else from the current one.
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        RunRequest { folder: folder.into(), ..self }
    }

    /// Adds a buffer whose writes are all recorded.
    pub fn watch(mut self, buffer: impl Into<String>) -> Self {
        self.watch.push(buffer.into());
        self
    }
}
