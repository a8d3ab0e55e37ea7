//! Requests for runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use counterpoint_framework::kernel::{Islands, RunOptions, Sharing, SnapshotTimes, Watchdog};
use counterpoint_framework::model::Logs;
use counterpoint_framework::telemetry::Recording;
use counterpoint_framework::telemetry::sinks::stats::Shown;
use counterpoint_framework::time::SimTime;
use counterpoint_host_model::Timed;
use counterpoint_host_model::live::Feed;
use counterpoint_protocols::launch_rows::LaunchRows;
use counterpoint_ptx::functional::DEFAULT_LIMIT;

/// Number of launches with statistics of their own, by default.
pub const LAUNCH_ROWS: u32 = LaunchRows::DEFAULT_LIMIT;

/// A request for a run: [`RunRequest::new`] has the defaults, and a method for each of the usual choices.
///
/// ```
/// use counterpoint_framework::time::SimTime;
/// use counterpoint_simulation::run::RunRequest;
///
/// let request = RunRequest::new("tiny", "vecadd").set("app.n=64").threads(2).stop_at(SimTime::from_ns(5_000));
/// assert_eq!((request.machine.as_str(), request.threads), ("tiny", 2));
/// ```
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The machine: a file, or a name.
    pub machine: String,
    /// The application: a file, or a name; several with [`SEPARATOR`](crate::application::SEPARATOR) between run together.
    pub application: String,
    /// Overlays in the order in which they apply: files or names.
    pub overlays: Vec<String>,
    /// Settings `path=value`; those whose path begins with `app.` are the application's.
    pub sets: Vec<String>,
    /// The runtime of every host.
    pub runtime: Option<String>,
    /// The policy of every CTA scheduler.
    pub policy: Option<String>,
    /// Run without time: kernels run on the functional executor; the machine is used only to check that its devices hold
    /// the buffers.
    pub functional: bool,
    /// The launches that have time; the others run without. `None`: all.
    pub timed: Option<Timed>,
    /// Look for races: within launches and between streams, in a run without time; between gated launches,
    /// in a run with time.
    pub racecheck: bool,
    /// Warp instructions that a block may execute in a run without time.
    pub instruction_limit: u64,
    /// Threads to simulate with at most.
    pub threads: usize,
    /// Whether all threads are used.
    pub sharing: Sharing,
    /// Cut of the machine into islands; results do not depend on the cut.
    pub islands: Islands,
    /// Run up to this time first to measure the weights of the components, so that threads get even shares.
    pub warm_up: Option<SimTime>,
    /// The folder for the results; without one they are only returned.
    pub out: Option<PathBuf>,
    /// If `out` has the results of a run with other settings, or another run writes there, use `OUT-2`, `OUT-3` and so
    /// on.
    pub beside_others: bool,
    /// Compute the hash of all events.
    pub hash: bool,
    /// Note the hash of each component at these times.
    pub snapshots: Option<SnapshotTimes>,
    /// Leave out everything at or after this time.
    pub stop_at: Option<SimTime>,
    /// End with a report when time passes but no message has been taken for this long; [`SimTime::MAX`] for never.
    pub livelock_after: SimTime,
    /// Spans that are kept.
    pub recording: Recording,
    /// The launches and the streams with numbers up to this one have statistics of their own; the others are added up.
    pub launch_rows: u32,
    /// Statistics in `stats.txt`.
    pub shown: Shown,
    /// Write the time of the simulation into `stats.txt`. A study's files do not depend on the computer.
    pub host_seconds: bool,
    /// Record the counters of all components at this interval.
    pub series: Option<SimTime>,
    /// Names of buffers: every write to their memory is noted, on host and device, in a run with time.
    /// Runtimes have buffers of their own.
    pub watch: Vec<String>,
    /// Components that log; without this, they log the levels that `tracing` enables.
    pub logs: Option<Logs>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Wall-clock time after which a component that does not come back is named; `None` for never.
    pub watchdog: Option<Duration>,
    /// The folder from which names are looked up.
    pub folder: PathBuf,
    /// The user's command line, for the manifest.
    pub command_line: Vec<String>,
    /// The program that runs beside the simulation, whose name is `application`: its steps come from here.
    pub live: Option<Arc<Feed>>,
}

impl RunRequest {
    /// A run with the defaults.
    pub fn new(machine: impl Into<String>, application: impl Into<String>) -> Self {
        RunRequest {
            machine: machine.into(),
            application: application.into(),
            overlays: Vec::new(),
            sets: Vec::new(),
            runtime: None,
            policy: None,
            functional: false,
            timed: None,
            racecheck: false,
            instruction_limit: DEFAULT_LIMIT,
            threads: 1,
            sharing: Sharing::WhereFaster,
            islands: Islands::Auto,
            warm_up: None,
            out: None,
            beside_others: false,
            hash: false,
            snapshots: None,
            stop_at: None,
            livelock_after: RunOptions::default().livelock_after,
            recording: Recording::default(),
            launch_rows: LAUNCH_ROWS,
            shown: Shown::default(),
            host_seconds: false,
            series: None,
            watch: Vec::new(),
            logs: None,
            seed: 0,
            watchdog: Watchdog::default().after,
            folder: std::env::current_dir().unwrap_or_default(),
            command_line: Vec::new(),
            live: None,
        }
    }
}
