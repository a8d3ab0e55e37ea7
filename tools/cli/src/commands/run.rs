//! `counterpoint run`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use counterpoint_framework::kernel::{Islands, Outcome, RunOptions, Sharing, SnapshotTimes, Stuck};
use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::sinks::stats::Shown;
use counterpoint_framework::telemetry::{Level, Recording};
use counterpoint_framework::time::{Quantity, SimTime};
use counterpoint_host_model::Timed;
use counterpoint_host_model::functional::Found;
use counterpoint_ptx::functional::DEFAULT_LIMIT;
use counterpoint_simulation::application::SEPARATOR;
use counterpoint_simulation::run::{
    Check, LAUNCH_ROWS, Progress, RunErrors, RunRequest, RunSummary, run_watched,
};
use counterpoint_simulation::verify::Verdict;

#[cfg(feature = "otlp")]
use super::export::{RunExportOptions, Sent};
use super::machine::MachineOptions;
use super::{fail, note_remarks};
use crate::{Console, FAILURE, INTERRUPTED, NOT_VERIFIED, SUCCESS, log, progress, table};

/// The command's arguments.
#[derive(Args)]
#[cfg_attr(
    feature = "parquet",
    command(
        after_help = "Statistics and time series are written as Parquet files, too: `stats.parquet`, `series.parquet`."
    )
)]
pub(crate) struct Run {
    #[command(flatten)]
    machine: MachineOptions,
    /// The application: a file, or a name that `counterpoint list applications` prints.
    application: String,
    /// Applications that run together with it under the runtime `streams`: each has a stream to itself and is repeated while another
    /// one has not completed its first round. `--set app.name=value` is for all that have such a parameter, `--set app.application.name=value`
    /// for one.
    #[arg(value_name = "APPLICATION")]
    others: Vec<String>,
    /// Without time: run the kernels one after another as fast as possible and check what they compute; options about
    /// time, threads and hashes mean nothing then.
    #[arg(long, conflicts_with_all = ["hash", "hashes", "stop_at", "warm_up"])]
    #[cfg_attr(feature = "otlp", arg(conflicts_with = "otlp"))]
    functional: bool,
    /// Launches that have time: `FROM..TO`, one number, from 1, or a kernel's name, which means its first launch and those of the same
    /// kernel right behind it. The others run without time, and their results and those of the machine go on into each other.
    #[arg(long, value_name = "LAUNCHES", conflicts_with_all = ["functional", "racecheck"], value_parser = Timed::parse)]
    timed: Option<Timed>,
    /// Look for races. With --functional: within launches, by PTX's memory model, and between streams, whatever the
    /// runtime; takes several times as long. With time: between gated launches, of whose pages an authority
    /// decides.
    #[arg(long)]
    racecheck: bool,
    /// With --functional: give a block up, naming kernel, warp and PTX line, when it has executed this number
    /// of warp instructions.
    #[arg(long, value_name = "NUMBER", requires = "functional", default_value_t = DEFAULT_LIMIT)]
    instruction_limit: u64,
    /// Threads to simulate with at most: fewer where fewer are faster, and one while other processes have the cores. The results do
    /// not depend on it.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Simulate with all threads asked for, even where fewer are faster.
    #[arg(long)]
    force_threads: bool,
    /// How to cut the machine into islands: `auto`, `one`, or at links of this latency or more, such as `10 ns`. The
    /// results do not depend on it.
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = islands)]
    cut: Islands,
    /// Simulate this much first, to see what each component costs, so that threads get even shares.
    #[arg(long, value_name = "TIME", value_parser = time)]
    warm_up: Option<SimTime>,
    /// Folder for the results, which replace those of an earlier run [default: out/MACHINE/APPLICATION, or with `-2`, `-3` and so on
    /// behind it where that has results of other settings].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Compute the hash of all events, and print it, also with --quiet.
    #[arg(long)]
    hash: bool,
    /// Write the hash of each component to this file, one JSON value per line, whenever it has changed.
    #[arg(long, value_name = "FILE", requires = "hash_every")]
    hashes: Option<PathBuf>,
    /// Simulated time from one snapshot of the hashes to the next, such as `10 us`.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "hashes")]
    hash_every: Option<SimTime>,
    /// Time of the first snapshot of the hashes.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "hashes", default_value = "0 ps")]
    hash_from: SimTime,
    /// Leave out everything at or after this simulated time, such as `2 us`.
    #[arg(long, value_name = "TIME", value_parser = time)]
    stop_at: Option<SimTime>,
    /// Finest spans that are kept.
    #[arg(long, value_enum, default_value = "kernels")]
    spans: Spans,
    #[cfg(feature = "otlp")]
    #[command(flatten)]
    otlp: RunExportOptions,
    /// Spans at most; blocks, warps and bursts beyond are added up by component.
    #[arg(long, value_name = "NUMBER", default_value_t = Recording::default().limit, value_parser = span_limit)]
    span_limit: usize,
    /// Statistics in `stats.txt`. `stats.json` and `stats.csv` have all of them.
    #[arg(long, value_enum, default_value = "counted")]
    stats: StatsShown,
    /// Launches, and streams, with rows of their own in the statistics: those with the lowest numbers. The others are added up
    /// as `others`, so that the sum over the rows is that of all.
    #[arg(long, value_name = "NUMBER", default_value_t = LAUNCH_ROWS)]
    launch_rows: u32,
    /// Write how much each counter grew within this much simulated time, again and again, such as `10 us`; to
    /// `series.csv`, as rates to `curves.csv`, and as counter tracks for Perfetto.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "functional")]
    series: Option<SimTime>,
    /// Write each write that reaches this buffer, in host memory or at the L2 of its device, with time, place and bytes, to
    /// `writes.csv`. May be given several times. Buffers that a runtime adds have names, too; a name
    /// that there is not is answered with all of them.
    #[arg(long, value_name = "BUFFER", conflicts_with = "functional")]
    watch: Vec<String>,
    /// Write the simulation's log to standard error: a level for all (`debug`), levels of components
    /// (`gpu.l2[*]=trace`), or both, with commas between: `info,gpu.sm[0]=trace`. `[*]` matches any index,
    /// `*` any text, and a path all below it. Levels are off, error, warn, info, debug, trace. Targets of
    /// `tracing` have levels, too.
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Name a component that has not come back for this much real time, such as `10 s`; or `off`.
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = patience)]
    watchdog: Patience,
    /// End with a report when time passes but no component has taken a message for this much simulated time, such as
    /// `2 ms`; or `off`. A forty-thousandth of it is enough where all that happens repeats itself, such as loops of kernels that wait
    /// for each other.
    #[arg(long, value_name = "TIME", default_value_t = RunOptions::default().livelock_after, value_parser = time_or_off)]
    livelock_after: SimTime,
    /// Show neither progress nor the table; of a result that was asked for, such as the hash, the value alone.
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Spans {
    Off,
    Phases,
    Kernels,
    Ctas,
    Warps,
}

impl From<Spans> for Level {
    fn from(spans: Spans) -> Level {
        match spans {
            Spans::Off => Level::Off,
            Spans::Phases => Level::Phases,
            Spans::Kernels => Level::Kernels,
            Spans::Ctas => Level::Ctas,
            Spans::Warps => Level::Warps,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum StatsShown {
    /// Statistics that are not zero.
    Counted,
    /// All, those of mechanisms that were not in use, too.
    All,
}

impl From<StatsShown> for Shown {
    fn from(shown: StatsShown) -> Shown {
        match shown {
            StatsShown::Counted => Shown::Counted,
            StatsShown::All => Shown::All,
        }
    }
}

/// Time for which the watchdog waits; `None` without a watchdog.
type Patience = Option<Duration>;

fn patience(text: &str) -> Result<Patience, String> {
    if text == "off" {
        return Ok(None);
    }
    let time = SimTime::parse(text).map_err(|error| format!("{error}; or off"))?;
    match time.as_ps() / 1_000 {
        0 => Err("expected at least 1 ns; or off".to_owned()),
        nanos => Ok(Some(Duration::from_nanos(nanos))),
    }
}

/// Parses a limit of spans, at least 100: with fewer spans, the tree would lose its upper levels.
fn span_limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(limit) if limit >= 100 => Ok(limit),
        _ => Err("expected a number of at least 100".to_owned()),
    }
}

pub(super) fn time(text: &str) -> Result<SimTime, String> {
    SimTime::parse(text).map_err(|error| error.to_string())
}

/// Whether all threads are used.
pub(super) fn sharing(forced: bool) -> Sharing {
    if forced { Sharing::Always } else { Sharing::WhereFaster }
}

pub(super) fn islands(text: &str) -> Result<Islands, String> {
    match text {
        "auto" => Ok(Islands::Auto),
        "one" => Ok(Islands::One),
        time => {
            let latency = SimTime::parse(time).map_err(|error| format!("{error}; or auto, or one"))?;
            Ok(Islands::AtLatency(latency))
        }
    }
}

/// A time that may be told not to come: `off`, or zero.
fn time_or_off(text: &str) -> Result<SimTime, String> {
    if text == "off" {
        return Ok(SimTime::MAX);
    }
    let time = SimTime::parse(text).map_err(|error| format!("{error}; or off"))?;
    Ok(if time == SimTime::ZERO { SimTime::MAX } else { time })
}

impl Run {
    pub(super) fn execute(
        &self,
        words: Vec<String>,
        registry: &Arc<Registry>,
        console: &mut Console<'_>,
    ) -> io::Result<u8> {
        let logs = match self.log.as_ref().map(|filter| log::start(filter, console.interactive)).transpose() {
            Ok(logs) => logs.flatten(),
            Err(problem) => {
                writeln!(console.err, "error: --log: {problem}")?;
                return Ok(FAILURE);
            }
        };
        let request = RunRequest {
            functional: self.functional,
            timed: self.timed.clone(),
            racecheck: self.racecheck,
            instruction_limit: self.instruction_limit,
            threads: self.threads,
            sharing: sharing(self.force_threads),
            islands: self.cut,
            warm_up: self.warm_up,
            out: Some(self.out.clone().unwrap_or_else(|| self.default_folder())),
            beside_others: self.out.is_none(),
            hash: self.hash,
            snapshots: self.hash_every.map(|every| SnapshotTimes { from: self.hash_from, every }),
            stop_at: self.stop_at,
            livelock_after: self.livelock_after,
            recording: Recording { level: self.spans.into(), limit: self.span_limit },
            launch_rows: self.launch_rows,
            shown: self.stats.into(),
            host_seconds: true,
            series: self.series,
            watch: self.watch.clone(),
            logs,
            seed: self.seed,
            watchdog: self.watchdog,
            command_line: words,
            ..self.machine.request(&self.applications())
        };
        #[cfg(feature = "otlp")]
        let target = match self.otlp.target() {
            Ok(target) => target,
            Err(problem) => {
                writeln!(console.err, "error: --otlp: {problem}")?;
                return Ok(FAILURE);
            }
        };
        let bar = console.interactive && !self.quiet && self.log.is_none();
        let summary = match simulate(&request, bar, registry, console)? {
            Ok(summary) => summary,
            Err(errors) => return fail(&errors, console),
        };
        write_printed(&summary, console)?;
        let default = self.default_folder();
        if let Some(folder) =
            summary.folder.as_ref().filter(|folder| self.out.is_none() && **folder != default)
        {
            writeln!(
                console.err,
                "note: `{}` has or gets the results of other settings; those of this run are in `{}`",
                default.display(),
                folder.display()
            )?;
        }
        if let (Some(asked), Some(series)) = (self.series, &summary.report.series)
            && series.every != asked
        {
            writeln!(
                console.err,
                "note: the series has a value every {}, not every {asked}: there would be too many",
                series.every
            )?;
        }
        if let Some(timed) = &summary.timed {
            let (first, last) = (timed.numbers.start, timed.numbers.end - 1);
            writeln!(
                console.err,
                "note: launches {first} to {last} of {} (`{}`) had time, the others had none",
                timed.all,
                timed.kernels.join("`, `")
            )?;
        }
        if summary.race_checked == Some(0) {
            writeln!(
                console.err,
                "note: --racecheck found nothing to look at: no launch was gated; without time \
                 (--functional) all launches are searched"
            )?;
        }
        if let Some(path) = &self.hashes {
            let mut file = BufWriter::new(File::create(path).map_err(|error| at(path, error))?);
            summary.hashes.write(&mut file).and_then(|()| file.flush()).map_err(|error| at(path, error))?;
        }
        #[cfg(feature = "otlp")]
        let sent = target.map(|target| Sent::of(&summary, target, console));
        if !self.quiet {
            table::print(&summary, console.out)?;
            #[cfg(feature = "otlp")]
            if let Some(sent) = &sent {
                sent.print(summary.report.trace.left_out, console.out)?;
            }
        } else if let Some(hash) = summary.report.hash.filter(|_| self.hash) {
            writeln!(console.out, "{hash:016x}")?;
        }
        let status = status(&summary, console)?;
        #[cfg(feature = "otlp")]
        if let Some(sent) = &sent {
            return self.otlp.status(sent, status, console);
        }
        Ok(status)
    }

    /// The application, or those that run together.
    fn applications(&self) -> String {
        let all = std::iter::once(&self.application).chain(&self.others);
        all.map(String::as_str).collect::<Vec<_>>().join(SEPARATOR)
    }

    fn default_folder(&self) -> PathBuf {
        let stem =
            |name: &str| PathBuf::from(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let applications: Vec<String> = self.applications().split(SEPARATOR).map(stem).collect();
        PathBuf::from("out").join(stem(self.machine.name())).join(applications.join(SEPARATOR))
    }
}

/// Runs a request until its end or Ctrl-C, with a progress bar if `bar`; reports a hang, and the inputs that were generated.
pub(super) fn simulate(
    request: &RunRequest,
    bar: bool,
    registry: &Arc<Registry>,
    console: &mut Console<'_>,
) -> io::Result<Result<RunSummary, RunErrors>> {
    let watched = Progress::interrupted_by(Arc::clone(&console.interrupt))
        .abandoned_by(Arc::clone(&console.abandon))
        .listening_by(Arc::clone(&console.listens));
    let mut said = Ok(());
    let mut alarm = |stuck: Stuck| said = warn(&stuck, console);
    let result = progress::watch(&watched, bar, || run_watched(request, registry, &watched, &mut alarm));
    said?;
    for path in result.iter().flat_map(|summary| &summary.created) {
        writeln!(console.err, "note: {path} did not exist; it was made by its generator")?;
    }
    if let Ok(summary) = &result {
        note_remarks(&summary.remarks, console)?;
    }
    Ok(result)
}

/// Writes what kernels printed, which is output of the program, and reports if some of it was lost.
fn write_printed(RunSummary { printed, .. }: &RunSummary, console: &mut Console<'_>) -> io::Result<()> {
    console.out.write_all(printed.text.as_bytes())?;
    if !printed.text.is_empty() && !printed.text.ends_with('\n') {
        writeln!(console.out)?;
    }
    if printed.lost > 0 {
        writeln!(
            console.err,
            "warning: {} bytes that kernels printed were overwritten before the host read them, and text beside them may be broken\n  \
             help: give the application a larger `printf:`, or wait for kernels more often",
            printed.lost
        )?;
    }
    Ok(())
}

/// Reports that a component hangs, and the user's options.
fn warn(stuck: &Stuck, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(console.err, "warning: {stuck}")?;
    writeln!(
        console.err,
        "  help: it computes for very long, or in a loop that awaits nothing; Ctrl-C twice leaves it behind and writes \
         what there is"
    )
}

/// An error that names its file.
fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::other(format!("cannot write `{}`: {error}", path.display()))
}

/// Number of findings that are described in full; of more, only places and counts.
const IN_FULL: usize = 10;

/// Errors of kernels, a line each.
fn findings(found: &[Found]) -> Vec<String> {
    let (full, brief) = found.split_at(found.len().min(IN_FULL));
    full.iter().map(ToString::to_string).chain(brief.iter().map(Found::brief)).collect()
}

/// Reports what is wrong, if anything, and returns the exit status.
pub(super) fn status(summary: &RunSummary, console: &mut Console<'_>) -> io::Result<u8> {
    let outcome = &summary.report.outcome;
    match outcome {
        Outcome::Finished(_) | Outcome::Stopped(_) => {}
        Outcome::Interrupted(_) => writeln!(console.err, "interrupted: the results so far are partial")?,
        Outcome::Deadlock(_) | Outcome::Livelock(_) | Outcome::Failed { .. } => {
            writeln!(console.err, "error: {}", summary.ending())?;
            if let Some(help) = outcome.help() {
                writeln!(console.err, "  help: {help}")?;
            }
        }
    }
    if !summary.missing.is_empty() {
        writeln!(
            console.err,
            "interrupted: what the hanging component keeps is missing: {}",
            summary.missing.join(", ")
        )?;
        return Ok(INTERRUPTED);
    }
    let wrong = summary.checks.iter().filter(|check| !check.verdict.is_verified());
    for check in wrong.filter(|_| !summary.partial) {
        writeln!(
            console.err,
            "error: verification failed: {} against {}: {}",
            check.buffer, check.against, check.verdict
        )?;
    }
    let differs = |check: &Check| matches!(check.verdict, Verdict::Differs(_) | Verdict::Hash { .. });
    if !summary.partial && summary.launched.is_none() && summary.checks.iter().any(differs) {
        let help = "`--functional` computes the same without time and names reads of what nobody wrote and accesses beyond \
                    buffers; with `--racecheck` it looks for races, too";
        writeln!(console.err, "  help: {help}")?;
    }
    if matches!(outcome, Outcome::Stopped(_)) && !summary.checks.is_empty() {
        writeln!(console.err, "note: the run was stopped before its end; no result has been verified")?;
    }
    for line in findings(&summary.found) {
        writeln!(console.err, "error: {line}")?;
    }
    for error in &summary.unwritten {
        writeln!(console.err, "error: {error}")?;
    }
    Ok(match outcome {
        _ if !summary.unwritten.is_empty() => FAILURE,
        Outcome::Interrupted(_) => INTERRUPTED,
        Outcome::Deadlock(_) | Outcome::Livelock(_) | Outcome::Failed { .. } => FAILURE,
        Outcome::Stopped(_) => SUCCESS,
        Outcome::Finished(_) if summary.is_good() => SUCCESS,
        Outcome::Finished(_) => NOT_VERIFIED,
    })
}
