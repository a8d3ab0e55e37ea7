//! `counterpoint study` for a cluster: its state, and its jobs.

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use counterpoint_experiments::study::Study as Plan;
use counterpoint_experiments::study::engine::{StudyError, keys};
use counterpoint_experiments::study::index::{Index, RESULTS};
use counterpoint_experiments::study::part::StudyPart;
use counterpoint_experiments::study::report::PAGE;
use counterpoint_experiments::study::slurm::{Jobs, Limit, Memory, Needs, SLURM, left, quoted};
use counterpoint_experiments::study::speed::Expectation;
use counterpoint_experiments::study::status::{Observed, Running, Status};
use counterpoint_experiments::study::store::{STALE_AFTER, Store, Verdict};
use counterpoint_framework::model::Registry;
use counterpoint_simulation::run::RunError;

use super::{Study, fail, note_version};
use crate::{Console, FAILURE, INTERRUPTED, NOT_VERIFIED, SUCCESS};

/// Tasks that an array of Slurm may have where nobody has allowed more.
const MOST_TASKS: usize = 1000;
/// Time between two queries of jobs.
const LOOK: Duration = Duration::from_secs(5);

/// The arguments for clusters.
#[derive(Args)]
pub(super) struct Cluster {
    /// Tell what is done, at work, failed and left in the study's folder, from any computer that sees it.
    #[arg(long, conflicts_with_all = ["emit", "submit", "fresh"])]
    status: bool,
    /// Write the scripts of a batch system, into the folder `slurm` of the study: an array of tasks that run parts, and a last job for
    /// table and report.
    #[arg(long, value_name = "ENGINE", requires = "tasks", conflicts_with_all = ["submit", "fresh"])]
    emit: Option<Engine>,
    /// Write the scripts for Slurm, hand them in, and follow the study to its end.
    #[arg(long, requires = "tasks", conflicts_with = "fresh")]
    submit: bool,
    /// Tasks of the array.
    #[arg(long, value_name = "NUMBER", value_parser = number_of_tasks)]
    tasks: Option<usize>,
    /// Time limit of a task, such as `90 min` [default: by the points that were measured].
    #[arg(long, value_name = "TIME", requires = "tasks")]
    time: Option<Limit>,
    /// Memory of a task, such as `2 GiB` [default: by the points that were measured].
    #[arg(long, value_name = "SIZE", requires = "tasks")]
    memory: Option<Memory>,
    /// One more option of `sbatch`, such as `--sbatch=--partition=long`. Can be given several times.
    #[arg(long, value_name = "OPTION", requires = "tasks", allow_hyphen_values = true)]
    sbatch: Vec<String>,
}

fn number_of_tasks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one task is needed to run anything".to_owned()),
        Ok(tasks) => Ok(tasks),
        Err(_) => Err("expected a number of tasks, such as 50".to_owned()),
    }
}

/// A batch system.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    Slurm,
}

impl Study {
    /// Executes the requested cluster action, if any, and returns the exit status.
    pub(super) fn on_cluster(
        &self,
        plan: &Plan,
        folder: &Path,
        registry: &Arc<Registry>,
        console: &mut Console<'_>,
    ) -> io::Result<Option<u8>> {
        let Cluster { status, emit, submit, tasks, .. } = &self.cluster;
        match tasks {
            _ if *status => self.status(folder, console).map(Some),
            Some(tasks) if emit.is_some() || *submit => {
                let script = match self.write_jobs(plan, folder, registry, *tasks, console)? {
                    Ok(script) => script,
                    Err(status) => return Ok(Some(status)),
                };
                match submit {
                    true => self.submit(&script, folder, console).map(Some),
                    false => {
                        let script = script.display().to_string();
                        writeln!(console.out, "wrote {script}; `sh {}` hands it in", quoted(&script))?;
                        Ok(Some(SUCCESS))
                    }
                }
            }
            Some(_) => {
                let message = "--tasks is for --emit and --submit; a study without them runs here, `--jobs` points at a time";
                fail(&[RunError::Usage(message.to_owned())], console).map(Some)
            }
            None => Ok(None),
        }
    }

    fn stale(&self) -> Duration {
        self.stale_after.unwrap_or(STALE_AFTER)
    }

    fn observed(&self, folder: &Path) -> Result<Observed, RunError> {
        Observed::read(folder, self.filter.as_deref(), self.stale()).map_err(RunError::Usage)
    }

    fn status(&self, folder: &Path, console: &mut Console<'_>) -> io::Result<u8> {
        match self.observed(folder) {
            Ok(mut observed) => {
                let status = observed.inspect();
                tell(&observed, &status, console)
            }
            Err(error) => fail(&[error], console),
        }
    }

    /// Writes the scripts, or gives the exit status if there is nothing to write.
    fn write_jobs(
        &self,
        plan: &Plan,
        folder: &Path,
        registry: &Arc<Registry>,
        tasks: usize,
        console: &mut Console<'_>,
    ) -> io::Result<Result<PathBuf, u8>> {
        let begun = Instant::now();
        let keys = match keys(plan, registry) {
            Ok(keys) => keys,
            Err(StudyError::Points(errors)) => return fail(&errors, console).map(Err),
            Err(StudyError::Write(error)) => return fail(&[error.into()], console).map(Err),
        };
        let begin = begun.elapsed().as_secs_f64();
        let index = Index::of(plan, &keys);
        let first: Option<StudyPart> = "1/1".parse().ok();
        // The folder is opened as for a part: another study that is at work in the folder keeps its files.
        let written = Store::open(folder, first, &index.digest(), self.stale())
            .and_then(|store| index.write(folder).inspect(|_| drop(store)));
        match written {
            Ok(other) => note_version(other.as_deref(), console)?,
            Err(error) => return fail(&[error.into()], console).map(Err),
        }
        let wanted = |point: usize| plan.points[point].matches(self.filter.as_deref());
        let left = left(&keys, folder, wanted);
        if left.is_empty() {
            writeln!(
                console.out,
                "nothing is left to run; `counterpoint report {}` makes table and figures",
                folder.display()
            )?;
            return Ok(Err(SUCCESS));
        }
        if tasks > left.len() {
            writeln!(
                console.err,
                "note: {} points are left: as many tasks are written, and not {tasks}",
                left.len()
            )?;
        }
        let tasks = tasks.min(left.len());
        if tasks > MOST_TASKS {
            writeln!(
                console.err,
                "note: arrays of Slurm have {MOST_TASKS} tasks at most where its MaxArraySize is as it comes"
            )?;
        }
        let jobs = self.jobs.map_or(1, NonZero::get);
        let expected = Expectation::of(plan, &keys, folder);
        let measured = Needs::of(&expected, &left, tasks, jobs, begin);
        let Cluster { time, memory, sbatch, .. } = &self.cluster;
        let needs = Needs { time: time.or(measured.time), memory: memory.or(measured.memory) };
        for (name, there) in [("time", needs.time.is_some()), ("memory", needs.memory.is_some())] {
            if !there {
                writeln!(
                    console.err,
                    "note: no point was measured here, so the partition's own {name} limit holds; give one by --{name}, or run a point first with --filter"
                )?;
            }
        }
        let jobs = self.jobs_for(
            plan,
            folder,
            Jobs {
                study: plan.name.clone(),
                run: Vec::new(),
                status: Vec::new(),
                report: Vec::new(),
                folder: std::path::absolute(folder)?,
                from: std::env::current_dir()?,
                tasks,
                jobs,
                needs,
                options: sbatch.clone(),
                left: left.len(),
            },
        )?;
        match jobs.write() {
            Ok(script) => Ok(Ok(script)),
            Err(error) => fail(&[error.into()], console).map(Err),
        }
    }

    /// Fills in the commands of jobs.
    fn jobs_for(&self, plan: &Plan, folder: &Path, jobs: Jobs) -> io::Result<Jobs> {
        let program = std::env::current_exe()?.display().to_string();
        let folder = std::path::absolute(folder)?.display().to_string();
        let mut own = vec![program.clone(), "study".to_owned(), self.study.clone()];
        let chosen = [
            ("--scale", &plan.chosen.scale),
            ("--machine", &plan.chosen.machine),
            ("--filter", &self.filter),
        ];
        for (name, value) in chosen {
            own.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
        }
        own.extend(["--out".to_owned(), folder.clone()]);
        let stale = self.stale_after.iter();
        own.extend(stale.flat_map(|time| ["--stale-after".to_owned(), format!("{} s", time.as_secs())]));
        let mut run = own.clone();
        for other in &self.take_from {
            run.extend(["--take-from".to_owned(), std::path::absolute(other)?.display().to_string()]);
        }
        own.push("--status".to_owned());
        Ok(Jobs { run, status: own, report: vec![program, "report".to_owned(), folder], ..jobs })
    }

    /// Submits the jobs, and follows them.
    fn submit(&self, script: &Path, folder: &Path, console: &mut Console<'_>) -> io::Result<u8> {
        if let Err(error) = Command::new("sbatch").arg("--version").output() {
            let message = format!(
                "`sbatch` does not start ({error}): this is not a computer of a Slurm cluster. {} is written, for one that is",
                script.display()
            );
            return fail(&[RunError::Usage(message)], console);
        }
        let output = Command::new("sh").arg(script).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<&str> = text.split_whitespace().collect();
        let [array, last] = numbers[..] else {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return fail(&[RunError::Usage(format!("Slurm does not take the jobs: {why}"))], console);
        };
        let logs = folder.join(SLURM);
        writeln!(
            console.out,
            "job {array} runs the points, job {last} makes table and report; logs in {}",
            logs.display()
        )?;
        self.follow(&format!("{array},{last}"), folder, console)
    }

    /// Tells how far the study is until its jobs have ended.
    fn follow(&self, numbers: &str, folder: &Path, console: &mut Console<'_>) -> io::Result<u8> {
        let mut observed = match self.observed(folder) {
            Ok(observed) => observed,
            Err(error) => return fail(&[error], console),
        };
        console.listens.store(true, Ordering::SeqCst);
        let mut told = String::new();
        let mut silent = false;
        loop {
            let queue = Command::new("squeue").args(["--noheader", "--jobs", numbers]).output()?;
            // Slurm drops jobs that have ended, and then calls their numbers invalid.
            let why = String::from_utf8_lossy(&queue.stderr).into_owned();
            let forgotten = why.contains("Invalid job id");
            let ended = queue.status.success() && queue.stdout.is_empty() || forgotten;
            let is_silent = !queue.status.success() && !forgotten;
            if is_silent && !silent {
                writeln!(console.err, "note: Slurm does not answer: {}", why.trim())?;
            }
            silent = is_silent;
            let status = observed.inspect();
            if ended {
                for name in [RESULTS, PAGE] {
                    if folder.join(name).is_file() {
                        writeln!(console.out, "{}", folder.join(name).display())?;
                    }
                }
                return tell(&observed, &status, console);
            }
            let line = counts(&status);
            if line != told && !self.quiet {
                writeln!(console.out, "{line}")?;
                told = line;
            }
            let begun = Instant::now();
            while begun.elapsed() < LOOK {
                if console.interrupt.load(Ordering::SeqCst) {
                    writeln!(
                        console.err,
                        "the jobs go on: `--status` tells how far they are, and `scancel {}` ends them",
                        numbers.replace(',', " ")
                    )?;
                    return Ok(INTERRUPTED);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// The counts, in a line.
fn counts(status: &Status) -> String {
    format!(
        "{} points: {} are done, {} run, {} failed, {} are left",
        status.points,
        status.done,
        status.running.len(),
        status.failed.len(),
        status.left
    )
}

/// Says all that is known of a study's state, and gives the exit status.
fn tell(observed: &Observed, status: &Status, console: &mut Console<'_>) -> io::Result<u8> {
    writeln!(console.out, "{}: {}", status.study, counts(status))?;
    for Running { point, worker, verdict } in &status.running {
        let worker =
            worker.as_ref().map_or_else(|| "a process without a file".to_owned(), ToString::to_string);
        let silent = if *verdict == Verdict::Alive { "" } else { ", which has not shown itself yet" };
        writeln!(console.out, "  runs    {point}: {worker}{silent}")?;
    }
    for failed in &status.failed {
        writeln!(
            console.out,
            "  failed  {}: {}\n          see {}",
            failed.point,
            failed.reason,
            failed.log.display()
        )?;
    }
    if let Some(seconds) = observed.to_go(status) {
        writeln!(console.out, "about {} of one processor to go", rough(seconds))?;
    }
    Ok(match () {
        () if status.is_done() => SUCCESS,
        () if status.failed.is_empty() => NOT_VERIFIED,
        () => FAILURE,
    })
}

/// A time in the unit in which it is a small number.
fn rough(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
