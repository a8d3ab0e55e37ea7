//! A run without time: the same files and checks, and counts of launches in place of a machine's statistics.

use std::ops::ControlFlow;

use bytes::Bytes;
use counterpoint_framework::kernel::{Fault, Outcome};
use counterpoint_framework::model::{StatLabel, StatRow, StatValue};
use counterpoint_framework::telemetry::Meter;
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::RunReport;
use counterpoint_hardware::io::storage::Disk;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::{Files, Found, FunctionalHost, Launched};
use counterpoint_protocols::host::FileIndex;
use counterpoint_protocols::launch::{LaunchId, LaunchName};
use counterpoint_protocols::launch_rows::Row;
use counterpoint_protocols::preload::Contents;
use counterpoint_ptx::functional::Options;

use crate::application::{InputFile, LoadedApplication};
use crate::results::summary::Figures;

/// Contents of memory that nobody has written; the machines' memories begin with zeros, too.
pub(super) const UNWRITTEN: u8 = 0;

/// Result of a run.
pub(super) struct Ran {
    /// Report without spans; its counts are per launch.
    pub(super) report: RunReport,
    pub(super) launched: Vec<Launched>,
    pub(super) found: Vec<Found>,
}

/// Executes the application's `preload:`.
///
/// # Errors
/// The outcome of the run if that fails.
pub(super) fn preload(loaded: &LoadedApplication, options: Options) -> Result<Contents, Outcome> {
    if !loaded.application.preloads() {
        return Ok(Contents::new());
    }
    let (journal, meter) = (Journal::default(), Meter::default());
    let host = FunctionalHost::new(&loaded.application, &journal, &meter, options, UNWRITTEN);
    match host.and_then(|host| host.preload(RunFiles { inputs: &loaded.preloaded, disk: None })) {
        Ok(ControlFlow::Continue(contents)) => Ok(contents),
        Ok(ControlFlow::Break(())) => Err(Outcome::Interrupted(SimTime::ZERO)),
        Err(fault) => {
            let path = format!("{}, before the run", loaded.application.name);
            Err(Outcome::Failed { time: SimTime::ZERO, path, fault })
        }
    }
}

/// Files of a run: inputs by number, and the disk for outputs.
pub(super) struct RunFiles<'a> {
    pub(super) inputs: &'a [InputFile],
    pub(super) disk: Option<&'a Disk>,
}

impl Files for RunFiles<'_> {
    fn read(&mut self, FileIndex(index): FileIndex, at: u64, place: &mut [u8]) -> Result<(), Fault> {
        let file = &self.inputs[index as usize];
        file.read_into(at, place).map_err(|error| Fault::new(format!("cannot read `{}`: {error}", file.path)))
    }

    fn write(&mut self, file: FileIndex, at: u64, contents: Bytes) {
        if let Some(disk) = self.disk {
            disk.put(file, at, contents);
        }
    }
}

/// Runs an application on devices that hold something already.
pub(super) fn run(
    loaded: &LoadedApplication,
    preloaded: Contents,
    (journal, meter, disk): (&Journal, &Meter, &Disk),
    options: Options,
    launch_rows: u32,
) -> Ran {
    let path = loaded.application.name.clone();
    let mut host = match FunctionalHost::new(&loaded.application, journal, meter, options, UNWRITTEN) {
        Ok(host) => host,
        Err(fault) => {
            let outcome = Outcome::Failed { time: SimTime::ZERO, path, fault };
            return Ran { report: report(outcome, Vec::new()), launched: Vec::new(), found: Vec::new() };
        }
    };
    let loading = preloaded.into_iter().try_for_each(|(buffer, contents)| host.load(buffer, &contents));
    let ended = loading.and_then(|()| host.run(RunFiles { inputs: &loaded.inputs, disk: Some(disk) }));
    let time = SimTime::ZERO;
    let outcome = match ended {
        Ok(ControlFlow::Continue(())) => Outcome::Finished(time),
        Ok(ControlFlow::Break(())) => Outcome::Interrupted(time),
        Err(fault) => Outcome::Failed { time, path, fault },
    };
    let (launched, found) = host.into_results();
    let stats = statistics(&launched, launch_rows as usize);
    Ran { report: report(outcome, stats), launched, found }
}

/// The report of a run without time.
pub(super) fn report(outcome: Outcome, stats: Vec<StatRow>) -> RunReport {
    let mut report = RunReport::of(outcome);
    report.stats = stats;
    report
}

/// The counts of launches as statistics: those up to a number under their names, the others in one.
fn statistics(launched: &[Launched], limit: usize) -> Vec<StatRow> {
    let (own, others) = launched.split_at(launched.len().min(limit));
    let name = |index: usize, kernel: &str| LaunchName::new(LaunchId(index as u32 + 1), kernel).to_string();
    let own = own.iter().enumerate().flat_map(|(index, launch)| rows(&name(index, &launch.kernel), launch));
    let sum = others.iter().fold(Launched::default(), |sum, launch| Launched {
        kernel: String::new(),
        ctas: sum.ctas + launch.ctas,
        warp_instructions: sum.warp_instructions + launch.warp_instructions,
        thread_instructions: sum.thread_instructions + launch.thread_instructions,
    });
    let others = (!others.is_empty()).then(|| rows(&Row::Others.to_string(), &sum));
    own.chain(others.into_iter().flatten()).collect()
}

/// Rows of a launch, or of several.
fn rows(launch_name: &str, launch: &Launched) -> Vec<StatRow> {
    let path = format!("kernels[{launch_name}]");
    let row = |name, unit, doc, count| StatRow {
        path: path.clone(),
        label: StatLabel { name, unit, doc },
        value: StatValue::Count(count),
    };
    vec![
        row("ctas", "CTAs", "Thread blocks.", launch.ctas),
        row("warp_insn", "instructions", "Instructions, counted once for a warp.", launch.warp_instructions),
        row(
            "thread_insn",
            "instructions",
            "Instructions, counted for every lane that executed them.",
            launch.thread_instructions,
        ),
    ]
}

/// The sums over all launches.
pub(super) fn figures(launched: &[Launched]) -> Figures {
    let sum = |count: fn(&Launched) -> u64| launched.iter().map(count).sum();
    let counts = vec![
        ("launches", launched.len() as u64),
        ("CTAs", sum(|launch| launch.ctas)),
        ("warp instructions", sum(|launch| launch.warp_instructions)),
        ("thread instructions", sum(|launch| launch.thread_instructions)),
    ];
    Figures { counts, ..Figures::default() }
}

/// Outcome of a run, in words.
pub(super) fn ending(outcome: &Outcome, without_time: bool) -> String {
    match outcome {
        Outcome::Finished(_) if without_time => "finished, without time".to_owned(),
        Outcome::Interrupted(_) if without_time => "interrupted".to_owned(),
        Outcome::Failed { path, fault, .. } if without_time => format!("{path} failed: {fault}"),
        outcome => outcome.to_string().trim_end().to_owned(),
    }
}
