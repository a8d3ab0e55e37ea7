//! Context in which a machine is built: the application, its files, and the observers; and short runs that
//! query the machine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use counterpoint_framework::kernel::{Outcome, RunOptions};
use counterpoint_framework::model::{Environment, Registry, Resources};
use counterpoint_framework::telemetry::{Level, Meter, Recording};
use counterpoint_framework::topology::{self, Loaded};
use counterpoint_hardware::io::storage::{Disk, Stored};
use counterpoint_host_model::Journal;
use counterpoint_host_model::program::Application;
use counterpoint_protocols::launch_rows::LaunchRows;
use counterpoint_protocols::page_log::PageLog;
use counterpoint_protocols::preload::{Contents, Preloaded};
use counterpoint_protocols::write_log::WriteLog;

use super::RunRequest;
use crate::application::LoadedApplication;

/// Context in which a machine is built.
pub(super) struct RunContext {
    pub(super) program: Arc<Application>,
    pub(super) journal: Arc<Journal>,
    pub(super) disk: Arc<Disk>,
    pub(super) meter: Arc<Meter>,
    /// Records for the search for races, if requested.
    pub(super) page_log: Option<Arc<PageLog>>,
    /// Records of writes to buffers, if requested.
    pub(super) write_log: Option<Arc<WriteLog>>,
    pub(super) environment: Environment,
}

impl RunContext {
    pub(super) fn new(request: &RunRequest, loaded: &LoadedApplication, contents: &Contents) -> Self {
        let journal = Arc::new(Journal::default());
        // A file that has gone since the application was loaded has nothing, which its reader says.
        let inputs = loaded.inputs.iter().map(|input| input.stored().unwrap_or_default());
        let disk = Arc::new(Disk::new(inputs.chain(loaded.outputs.iter().map(|_| Stored::default()))));
        let program = Arc::new(loaded.application.clone());
        let meter = Arc::new(Meter::default());
        let mut resources = Resources::default();
        resources.insert(Arc::clone(&program));
        resources.insert(Arc::clone(&disk));
        resources.insert(Arc::clone(&journal));
        resources.insert(Arc::clone(&meter));
        resources.insert(Arc::new(Preloaded::new(contents.clone())));
        resources.insert(Arc::new(LaunchRows::new(request.launch_rows)));
        if let Some(feed) = &request.live {
            resources.insert(Arc::clone(feed));
        }
        let page_log = request.racecheck.then(Arc::<PageLog>::default);
        if let Some(log) = &page_log {
            resources.insert(Arc::clone(log));
        }
        let write_log = (!request.watch.is_empty()).then(|| Arc::new(WriteLog::new(request.watch.clone())));
        if let Some(log) = &write_log {
            resources.insert(Arc::clone(log));
        }
        let environment = Environment {
            resources: Arc::new(resources),
            // Rates of applications that run together come from their blocks.
            recording: match loaded.parts.is_empty() {
                true => request.recording,
                false => Recording { level: request.recording.level.max(Level::Ctas), limit: usize::MAX },
            },
            sampled: request.series.is_some(),
            logs: request.logs.clone().map(Arc::new),
            seed: request.seed,
        };
        RunContext { program, journal, disk, meter, page_log, write_log, environment }
    }
}

/// Reason for which a run ends at once because devices of the application are missing or too small. The machine itself
/// reports the reason, in a run with time that only allocates.
pub(super) fn lacks(
    request: &RunRequest,
    registry: &Arc<Registry>,
    machine: &Loaded,
    loaded: &LoadedApplication,
) -> Option<Outcome> {
    let Application { name, buffers, modules, .. } = loaded.application.clone();
    let application = Application { name, buffers, modules, ..Application::default() };
    let nothing = LoadedApplication { application, ..LoadedApplication::default() };
    // Without steps a runtime has no buffers that could be watched.
    let request = RunRequest { watch: Vec::new(), ..request.clone() };
    let environment = RunContext::new(&request, &nothing, &Contents::new()).environment;
    let report = topology::run(&machine.machine, registry, &environment, &RunOptions::default());
    (!matches!(report.outcome, Outcome::Finished(_))).then_some(report.outcome)
}

/// Weights of the components, if a warm-up was requested.
pub(super) fn weigh(
    request: &RunRequest,
    registry: &Arc<Registry>,
    machine: &Loaded,
    loaded: &LoadedApplication,
    contents: &Contents,
    interrupt: Arc<AtomicBool>,
) -> Option<Arc<[u32]>> {
    let until = request.warm_up?;
    let environment = RunContext::new(request, loaded, contents).environment;
    Some(topology::build(&machine.machine, registry, &environment).warm_up(until, interrupt))
}
