//! A run in which some launches have time: the application runs without time up to them, on the machine through them, and without time to its end.

use std::ops::{ControlFlow, Range};

use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::telemetry::Meter;
use counterpoint_framework::time::SimTime;
use counterpoint_hardware::io::storage::Disk;
use counterpoint_host_model::functional::{Found, FunctionalHost, Part, Rest};
use counterpoint_host_model::{Journal, Timed};
use counterpoint_protocols::preload::Contents;
use counterpoint_ptx::functional::Options;

use super::RunErrors;
use super::functional::{RunFiles, UNWRITTEN};
use crate::application::LoadedApplication;

/// The launches of a run that had time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimedLaunches {
    /// Their numbers among all launches, from 1.
    pub numbers: Range<u64>,
    /// Names of their kernels, in the order of their first launches.
    pub kernels: Vec<String>,
    /// All launches of the application.
    pub all: u64,
}

/// The rest of an application that has run up to the end of its launches with time.
pub(super) struct Pending {
    rest: Rest,
    launches: TimedLaunches,
    options: Options,
    /// Text that kernels printed before.
    pub(super) printed: String,
}

/// Runs an application up to the end of its launches with time. The result is the application of these launches, what devices hold before them, and
/// the rest; an outcome if the run ends there.
///
/// # Errors
/// If the launches cannot be separated from the others.
pub(super) fn split(
    loaded: &LoadedApplication,
    preloaded: Contents,
    timed: &Timed,
    options: &Options,
) -> Result<Result<(LoadedApplication, Contents, Pending), Outcome>, RunErrors> {
    let (journal, meter) = (Journal::default(), Meter::default());
    let refused = |error: String| RunErrors::usage(format!("--timed: {error}"));
    let options = Options { racecheck: false, ..options.clone() };
    let mut host = FunctionalHost::new(&loaded.application, &journal, &meter, options.clone(), UNWRITTEN)
        .map_err(|error| refused(error.to_string()))?;
    for (number, contents) in preloaded {
        host.load(number, &contents).map_err(|error| refused(error.to_string()))?;
    }
    let free = (loaded.inputs.len() + loaded.outputs.len()) as u32;
    let files = RunFiles { inputs: &loaded.inputs, disk: None };
    let (part, rest) = match host.part(timed, files, free).map_err(|error| refused(error.to_string()))? {
        ControlFlow::Continue(both) => both,
        ControlFlow::Break(()) => return Ok(Err(Outcome::Interrupted(SimTime::ZERO))),
    };
    let Part { application, contents, launches, kernels, printed } = part;
    let launches = TimedLaunches { all: rest.launched() as u64, numbers: launches, kernels };
    let loaded = LoadedApplication { application, ..loaded.clone() };
    Ok(Ok((loaded, contents, Pending { rest, launches, options, printed })))
}

impl Pending {
    /// Goes on behind the launches with time, if they ended well; the outcome of the run, if this part of it fails, and mistakes of kernels.
    pub(super) fn finish(
        self,
        loaded: &LoadedApplication,
        (journal, meter, disk): (&Journal, &Meter, &Disk),
        has_ended: bool,
    ) -> (TimedLaunches, Option<Outcome>, Vec<Found>) {
        let Pending { rest, mut launches, options, .. } = self;
        if !has_ended || !rest.is_there() {
            return (launches, None, rest.found().to_vec());
        }
        let files = RunFiles { inputs: &loaded.inputs, disk: Some(disk) };
        let host = FunctionalHost::new(&loaded.application, journal, meter, options, UNWRITTEN);
        match host.and_then(|host| rest.run(host, files)) {
            Ok(ended) => {
                launches.all = ended.launched.len() as u64;
                let outcome = ended.flow.is_break().then_some(Outcome::Interrupted(SimTime::ZERO));
                (launches, outcome, ended.found)
            }
            Err(fault) => {
                let path = format!("{}, behind the launches with time", loaded.application.name);
                (launches, Some(Outcome::Failed { time: SimTime::ZERO, path, fault }), Vec::new())
            }
        }
    }
}
