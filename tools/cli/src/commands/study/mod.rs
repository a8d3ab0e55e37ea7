//! `counterpoint study`.

mod cluster;

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use counterpoint_experiments::study::engine::{Board, Ran, Settings, StudyError, run_points};
use counterpoint_experiments::study::index::{self, RESULTS, write_results};
use counterpoint_experiments::study::part::StudyPart;
use counterpoint_experiments::study::program::build;
use counterpoint_experiments::study::slurm::Limit;
use counterpoint_experiments::study::speed::write_speeds;
use counterpoint_experiments::study::store::{BEAT, STALE_AFTER};
use counterpoint_experiments::study::table::Results;
use counterpoint_experiments::study::values::KnownValues;
use counterpoint_experiments::study::{Chosen, Study as Plan, load};
use counterpoint_framework::model::Registry;
use counterpoint_simulation::find::{ProjectFiles, Sort};
use counterpoint_simulation::run::RunError;

use super::fail;
use crate::columns::{self, significant};
use crate::{Console, FAILURE, INTERRUPTED, SUCCESS, study_progress};

/// The command's arguments.
#[derive(Args)]
#[command(
    after_help = "The exit status is 0 if all points are done, 2 if some failed, and 130 if the study was interrupted. With --status it is 0 \
                  if all points are done, 2 if some failed, and 1 if some are at work or left. tools/GUIDE.md, `Studies on a \
                  cluster`, has a line for each batch system."
)]
pub(crate) struct Study {
    /// The study: a file, or a name that `counterpoint list studies` prints.
    study: String,
    /// Points that run at a time [default: the number of processors; 1 in a part and in a task].
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<NonZero<usize>>,
    /// Run only points whose name has this in it, such as `hotspot`; names are as the command prints them.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// One of the study's scales [default: its first].
    #[arg(long, value_name = "NAME")]
    scale: Option<String>,
    /// A machine in place of the study's: a file, or a name that `counterpoint list machines` prints. Runs that name a machine of their
    /// own keep it.
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Run points again that are there.
    #[arg(long)]
    fresh: bool,
    /// Folder of the study [default: out/studies/NAME, with the scale and the machine behind it where they are chosen].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder of another study, such as one of another figure: what it has of this one's points is taken over and not run
    /// again. Can be given several times.
    #[arg(long, value_name = "DIR", conflicts_with = "fresh")]
    take_from: Vec<PathBuf>,
    /// Show neither progress nor the table.
    #[arg(long)]
    quiet: bool,
    /// Run a part of the points, such as `2/8`, beside processes that run the others in the same folder, on this or other computers. When
    /// they are done it goes on with points of others that nobody runs. The table is made by `counterpoint report`.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["fresh", "status", "emit", "submit"])]
    part: Option<StudyPart>,
    /// Take over the points of a process that has not shown itself for this long [default: 90 s].
    #[arg(long, value_name = "TIME", value_parser = stale_after)]
    stale_after: Option<Duration>,
    #[command(flatten)]
    cluster: cluster::Cluster,
}

/// A time after which processes are taken for dead: not before they could have shown themselves.
fn stale_after(text: &str) -> Result<Duration, String> {
    let Limit(seconds) = text.parse()?;
    let least = BEAT.as_secs() * 3;
    match seconds >= least {
        true => Ok(Duration::from_secs(seconds)),
        false => {
            Err(format!("processes show themselves every {} s, so {least} s is the least", BEAT.as_secs()))
        }
    }
}

impl Study {
    pub(super) fn execute(&self, registry: &Arc<Registry>, console: &mut Console<'_>) -> io::Result<u8> {
        let here = std::env::current_dir().unwrap_or_default();
        let files = ProjectFiles::new(&here, registry);
        let path = match files.find(Sort::Study, &self.study) {
            Ok(path) => path,
            Err(missing) => return fail(&[RunError::Usage(missing.to_string())], console),
        };
        let chosen = Chosen { scale: self.scale.clone(), machine: self.machine.clone() };
        let plan = match load(&path, &files, &chosen, &here, &KnownValues::of(registry)) {
            Ok(plan) => plan,
            Err(report) => return fail(&[report.into()], console),
        };
        if let Some(message) = self.filter.as_deref().and_then(|filter| unmatched(&plan, filter)) {
            return fail(&[RunError::Usage(message)], console);
        }
        let folder = self.out.clone().unwrap_or_else(|| default_folder(&plan));
        if let Some(status) = self.on_cluster(&plan, &folder, registry, console)? {
            return Ok(status);
        }
        let none = self.take_from.iter().filter_map(|folder| index::check(folder).err());
        let none: Vec<RunError> =
            none.map(|message| RunError::Usage(format!("--take-from: {message}"))).collect();
        if !none.is_empty() {
            return fail(&none, console);
        }
        let settings = Settings {
            jobs: self.jobs.or_else(|| self.processors()).map_or(1, NonZero::get),
            filter: self.filter.clone(),
            fresh: self.fresh,
            folder,
            take_from: self.take_from.clone(),
            part: self.part,
            stale_after: self.stale_after.unwrap_or(STALE_AFTER),
        };
        let board = Board::default();
        console.listens.store(true, Ordering::SeqCst);
        let work = || run_points(&plan, registry, &settings, &board, &console.interrupt);
        let ran = study_progress::watch(&plan, &board, console.interactive, self.quiet, work);
        let ran = match ran {
            Ok(ran) => ran,
            Err(StudyError::Write(error)) => return fail(&[error.into()], console),
            Err(StudyError::Points(errors)) => return fail(&errors, console),
        };
        if self.part.is_some() {
            return self.say(&ran, &settings, console);
        }
        let results = match Results::read(&plan, &ran.keys, &settings.folder) {
            Ok(results) => results,
            Err(message) => return fail(&[RunError::Usage(message)], console),
        };
        let written = write_results(&settings.folder, &results);
        if let Err(error) = written.and_then(|()| write_speeds(&settings.folder, &plan, &ran.keys)) {
            return fail(&[error.into()], console);
        }
        if !self.quiet {
            table(&plan, &results, console)?;
        }
        self.say(&ran, &settings, console)
    }

    /// The processors of this computer, unless it runs a part: there may be other parts beside it.
    fn processors(&self) -> Option<NonZero<usize>> {
        self.part.is_none().then(|| std::thread::available_parallelism().ok()).flatten()
    }

    /// Says what became of the points.
    fn say(&self, ran: &Ran, settings: &Settings, console: &mut Console<'_>) -> io::Result<u8> {
        let Ran { stored, taken_over, done, failed, elsewhere, left, keys, other_version, .. } = ran;
        note_version(other_version.as_deref(), console)?;
        let part = self.part.map(|part| format!("part {part} of ")).unwrap_or_default();
        writeln!(
            console.out,
            "{part}{} points: {done} have run, {stored} were there, {} failed, {left} are left",
            keys.len(),
            failed.len()
        )?;
        if *elsewhere > 0 {
            writeln!(console.out, "{elsewhere} more are at work in other processes")?;
        }
        if *taken_over > 0 {
            writeln!(console.out, "{taken_over} of those that were there are taken over from other studies")?;
        }
        let folder = settings.folder.display();
        match self.part {
            Some(_) => writeln!(
                console.out,
                "points in {folder}; `counterpoint report {folder}` makes table and figures of all"
            )?,
            None => writeln!(
                console.out,
                "results in {folder}: {RESULTS}; `counterpoint report {folder}` draws them"
            )?,
        }
        for failure in failed {
            let log = failure.log.display();
            writeln!(console.err, "error: {}: {}\n  help: see {log}", failure.point, failure.reason)?;
        }
        Ok(match () {
            () if console.interrupt.load(Ordering::SeqCst) => {
                writeln!(console.err, "interrupted: the same command goes on from here")?;
                INTERRUPTED
            }
            () if failed.is_empty() => SUCCESS,
            () => FAILURE,
        })
    }
}

/// Says that points of another build of the command are in the folder.
fn note_version(other: Option<&str>, console: &mut Console<'_>) -> io::Result<()> {
    let own = build();
    other.map_or(Ok(()), |other| {
        writeln!(
            console.err,
            "note: the folder was version {other}'s of the command, and this is {own}: its points are kept, and those of {own} are run"
        )
    })
}

/// The message for a filter that no point matches, with the point that matches it in other letter case, or the first one.
fn unmatched(plan: &Plan, filter: &str) -> Option<String> {
    if plan.points.iter().any(|point| point.matches(Some(filter))) {
        return None;
    }
    let names = || plan.points.iter().map(|point| point.name());
    let lower = filter.to_lowercase();
    let near = names().find(|name| name.to_lowercase().contains(&lower)).or_else(|| names().next())?;
    Some(format!(
        "--filter: the name of none of {} points has `{filter}` in it; one is `{near}`",
        plan.points.len()
    ))
}

fn default_folder(plan: &Plan) -> PathBuf {
    let scale = plan.chosen.scale.iter();
    // The file name identifies the machine.
    let machine = plan.chosen.machine.iter().filter_map(|machine| Path::new(machine).file_stem()?.to_str());
    let parts = scale.map(String::as_str).chain(machine).map(|part| format!("-{part}"));
    PathBuf::from("out/studies").join(format!("{}{}", plan.name, parts.collect::<String>()))
}

/// The columns of each point; without columns, its time.
fn table(plan: &Plan, results: &Results, console: &mut Console<'_>) -> io::Result<()> {
    let columns: Vec<&str> = match plan.columns.is_empty() {
        true => vec!["time"],
        false => plan.columns.iter().map(|(name, _)| name.as_str()).collect(),
    };
    let headings: Vec<String> = columns.iter().map(|name| results.heading(name)).collect();
    let title = results.dimensions.iter().chain(&headings).map(String::as_str);
    let mut lines: Vec<Vec<String>> = vec![title.map(str::to_owned).collect()];
    for row in &results.rows {
        let value = |name: &&str| row.values.get(*name).map(|value| significant(*value)).unwrap_or_default();
        lines.push(row.labels.iter().cloned().chain(columns.iter().map(value)).collect());
    }
    columns::print(&lines, results.dimensions.len(), console.out)?;
    writeln!(console.out)
}
