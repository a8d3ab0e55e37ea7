//! The run of a machine beside a CUDA program: begun before the program, and reported behind it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use counterpoint_cuda_launch::{HostTime, Machine};
use counterpoint_framework::model::Registry;
use counterpoint_framework::time::SimTime;
use counterpoint_host_model::Timed;
use counterpoint_host_model::live::live;
use counterpoint_protocols::bus::Description;
use counterpoint_simulation::run::{Progress, RunErrors, RunRequest, RunSummary, run_watched};

use super::machine::MachineChanges;
use super::run::status;
use super::{fail, note_remarks};
use crate::live::{Live, Seen};
use crate::{Console, FAILURE, NOT_VERIFIED, SUCCESS, table};

/// A machine that is asked for.
pub(super) struct Wanted<'a> {
    pub(super) machine: &'a str,
    pub(super) changes: &'a MachineChanges,
    pub(super) timed: Timed,
    pub(super) host_time: HostTime,
    /// Name of the program.
    pub(super) name: &'a str,
    pub(super) words: Vec<String>,
}

/// A machine that runs beside a program.
pub(super) struct Beside {
    simulation: JoinHandle<Result<RunSummary, RunErrors>>,
    seen: Arc<Mutex<Seen>>,
}

/// Begins a run; the machine is for the program, and its device is described.
///
/// # Errors
/// If the machine cannot run.
pub(super) fn begin(
    wanted: Wanted<'_>,
    registry: &Arc<Registry>,
) -> Result<(Box<dyn Machine>, Description, Beside), RunErrors> {
    let (program, feed) = live();
    let MachineChanges { sets, overlays, policy, .. } = wanted.changes;
    let stem = PathBuf::from(wanted.machine).file_stem().unwrap_or_default().to_owned();
    let request = RunRequest {
        sets: sets.clone(),
        overlays: overlays.clone(),
        runtime: Some("live".to_owned()),
        policy: policy.clone(),
        live: Some(feed),
        out: Some(PathBuf::from("out").join(stem).join(wanted.name)),
        beside_others: true,
        // The simulation waits for the program, however long that takes.
        watchdog: None,
        livelock_after: SimTime::MAX,
        host_seconds: true,
        command_line: wanted.words,
        ..RunRequest::new(wanted.machine, wanted.name)
    };
    let registry = Arc::clone(registry);
    let simulation =
        std::thread::spawn(move || run_watched(&request, &registry, &Progress::default(), &mut |_| {}));
    let Some(device) = program.begin() else {
        return match simulation.join() {
            Ok(Err(errors)) => Err(errors),
            Ok(Ok(summary)) => Err(RunErrors::usage(summary.ending())),
            Err(_) => Err(RunErrors::usage("the simulation ended in an internal error".to_owned())),
        };
    };
    let (live, seen) = Live::new(program, wanted.timed, wanted.host_time);
    Ok((Box::new(live), device, Beside { simulation, seen }))
}

impl Beside {
    /// Waits for the end of the simulation, whose program has gone, and reports on it.
    pub(super) fn report(self, console: &mut Console<'_>) -> io::Result<u8> {
        let summary = match self.simulation.join() {
            Ok(Ok(summary)) => summary,
            Ok(Err(errors)) => return fail(&errors, console),
            Err(_) => {
                writeln!(console.err, "error: the simulation ended in an internal error")?;
                return Ok(FAILURE);
            }
        };
        note_remarks(&summary.remarks, console)?;
        table::print(&summary, console.out)?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match &seen.timed {
            Some(timed) if timed.end - timed.start < seen.launches => writeln!(
                console.err,
                "note: launches {} to {} of {} had time, the others had none",
                timed.start,
                timed.end - 1,
                seen.launches
            )?,
            None if seen.launches > 0 => writeln!(console.err, "note: no launch had time")?,
            _ => {}
        }
        for part in &seen.differ {
            writeln!(console.err, "error: {part} are others than without time")?;
        }
        let status = status(&summary, console)?;
        Ok(match status {
            SUCCESS if seen.is_lost => FAILURE,
            SUCCESS if !seen.differ.is_empty() => NOT_VERIFIED,
            status => status,
        })
    }
}
