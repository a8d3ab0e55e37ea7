//! `counterpoint study`.

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use counterpoint_experiments::study::engine::{Board, Ran, Settings, StudyError, run_points};
use counterpoint_experiments::study::index::{self, RESULTS, write_results};
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
pub(crate) struct Study {
    /// The study: a file, or a name that `counterpoint list studies` prints.
    study: String,
    /// Points that run at a time [default: as many as there are processors].
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
        let none = self.take_from.iter().filter_map(|folder| index::check(folder).err());
        let none: Vec<RunError> =
            none.map(|message| RunError::Usage(format!("--take-from: {message}"))).collect();
        if !none.is_empty() {
            return fail(&none, console);
        }
        let settings = Settings {
            jobs: self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get),
            filter: self.filter.clone(),
            fresh: self.fresh,
            folder: self.out.clone().unwrap_or_else(|| default_folder(&plan)),
            take_from: self.take_from.clone(),
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
        let results = match Results::read(&plan, &ran.keys, &settings.folder) {
            Ok(results) => results,
            Err(message) => return fail(&[RunError::Usage(message)], console),
        };
        if let Err(error) = write_results(&settings.folder, &results) {
            return fail(&[error.into()], console);
        }
        if !self.quiet {
            table(&plan, &results, console)?;
        }
        self.say(&ran, &settings, console)
    }

    /// Says what became of the points.
    fn say(&self, ran: &Ran, settings: &Settings, console: &mut Console<'_>) -> io::Result<u8> {
        let Ran { stored, taken_over, done, failed, left, keys } = ran;
        writeln!(
            console.out,
            "{} points: {done} have run, {stored} were there, {} failed, {left} are left",
            keys.len(),
            failed.len()
        )?;
        if *taken_over > 0 {
            writeln!(console.out, "{taken_over} of those that were there are taken over from other studies")?;
        }
        let folder = settings.folder.display();
        writeln!(console.out, "results in {folder}: {RESULTS}; `counterpoint report {folder}` draws them")?;
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

fn default_folder(plan: &Plan) -> PathBuf {
    let scale = plan.chosen.scale.iter();
    // Of a machine's file the name is enough.
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
    let title = results.dimensions.iter().map(String::as_str).chain(columns.iter().copied());
    let mut lines: Vec<Vec<String>> = vec![title.map(str::to_owned).collect()];
    for row in &results.rows {
        let value = |name: &&str| row.values.get(*name).map(|value| significant(*value)).unwrap_or_default();
        lines.push(row.labels.iter().cloned().chain(columns.iter().map(value)).collect());
    }
    columns::print(&lines, results.dimensions.len(), console.out)?;
    writeln!(console.out)
}
