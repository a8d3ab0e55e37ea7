//! A study as jobs of Slurm: an array of tasks that run parts, and a last job that makes table and report.

mod units;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use counterpoint_simulation::output::{Folder, WriteError};

use super::speed::Expectation;
use super::store::{PointKey, has};
pub use units::{Limit, Memory};

/// The folder of the scripts and of the logs of tasks.
pub const SLURM: &str = "slurm";
/// The scripts: the array, the last job, and that which hands in both.
const ARRAY: &str = "array.sh";
const LAST: &str = "last.sh";
/// The script that hands in both jobs and prints their numbers.
pub const SUBMIT: &str = "submit.sh";

/// Number of times that a task that meets its time limit is queued again.
const ROUNDS: u32 = 3;
/// Factor from the measured time and memory to those of a request: other computers are slower, other points larger.
const TIME_FACTOR: f64 = 2.0;
const MEMORY_FACTOR: f64 = 1.25;
/// Limits are multiples of these.
const TIME_STEP: u64 = 300;
const MEMORY_STEP: u64 = 64;
/// The longest time of the last job.
const LAST_TIME: u64 = 1800;

/// Time and memory of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Time limit of a task; that of the partition if there is none.
    pub time: Option<Limit>,
    /// Memory of a task; that of the partition if there is none.
    pub memory: Option<Memory>,
}

impl Needs {
    /// Needs estimated from measurements: each task's fair share of the time plus the longest point, and the largest
    /// memory. `begin` is the time from the start of a task to its first point, in seconds.
    pub fn of(expected: &Expectation, left: &[usize], tasks: usize, jobs: usize, begin: f64) -> Self {
        if expected.measured == 0 {
            return Needs::default();
        }
        let seconds = || left.iter().map(|&point| expected.seconds[point]);
        let share = seconds().sum::<f64>() / (tasks * jobs).max(1) as f64;
        let longest = seconds().fold(0.0, f64::max);
        let time = ((share + longest + begin) * TIME_FACTOR) as u64 + 60;
        let memory = expected.peak_kib as f64 / 1024.0 * jobs as f64 * MEMORY_FACTOR;
        Needs {
            time: Some(Limit(time.next_multiple_of(TIME_STEP))),
            memory: (expected.peak_kib > 0)
                .then(|| Memory((memory.ceil() as u64).next_multiple_of(MEMORY_STEP))),
        }
    }
}

/// The points that are not finished, each once.
pub fn left(keys: &[PointKey], folder: &Path, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut known = std::collections::BTreeSet::new();
    let points = (0..keys.len()).filter(|&point| wanted(point) && known.insert(&keys[point]));
    points.filter(|&point| !has(folder, &keys[point])).collect()
}

/// Jobs to write.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Name of the study.
    pub study: String,
    /// The words of a command that runs the study into its folder; `--part` is appended.
    pub run: Vec<String>,
    /// Words of a command that prints the study's state.
    pub status: Vec<String>,
    /// Words of a command that makes table and report.
    pub report: Vec<String>,
    /// The folder of the study.
    pub folder: PathBuf,
    /// Working directory of the commands.
    pub from: PathBuf,
    /// Tasks of the array.
    pub tasks: usize,
    /// Points that a task runs at a time.
    pub jobs: usize,
    /// Resources that the jobs need.
    pub needs: Needs,
    /// More options of `sbatch`, such as `--partition=long`.
    pub options: Vec<String>,
    /// Points that are not finished.
    pub left: usize,
}

impl Jobs {
    /// Writes the scripts, and returns the path of the one that submits the jobs.
    ///
    /// # Errors
    /// If the scripts cannot be written.
    pub fn write(&self) -> Result<PathBuf, WriteError> {
        let folder = Folder::at(&self.folder.join(SLURM))?;
        for (name, text) in [(ARRAY, self.array()), (LAST, self.last()), (SUBMIT, self.submit())] {
            folder.write(name, |out| out.write_all(text.as_bytes()))?;
        }
        Ok(self.script(SUBMIT))
    }

    fn script(&self, name: &str) -> PathBuf {
        self.folder.join(SLURM).join(name)
    }

    /// The lines for Slurm that both jobs have.
    fn head(&self, name: &str, log: &str) -> String {
        let mut text = String::new();
        let mut option = |option: &str| {
            let _ = writeln!(text, "#SBATCH {option}");
        };
        option(&format!("--job-name={}", quoted(name)));
        option(&format!("--chdir={}", quoted(&self.from.display().to_string())));
        option(&format!("--output={}", quoted(&self.script(log).display().to_string())));
        option("--open-mode=append");
        option("--ntasks=1");
        self.options.iter().for_each(|more| option(more));
        text
    }

    fn array(&self) -> String {
        let Jobs { study, tasks, jobs, needs, left, .. } = self;
        let mut head = self.head(study, "%A_%a.log");
        let _ =
            writeln!(head, "#SBATCH --array=1-{tasks}\n#SBATCH --cpus-per-task={jobs}\n#SBATCH --requeue");
        if let Some(time) = needs.time {
            let _ = writeln!(head, "#SBATCH --time={time}");
        }
        if let Some(Memory(memory)) = needs.memory {
            let _ = writeln!(head, "#SBATCH --mem={memory}M");
        }
        // Slurm may send it a minute earlier than it is asked to.
        let before = if needs.time.is_some_and(|Limit(time)| time < 600) { 20 } else { 60 };
        let run = words(&self.run);
        format!(
            "#!/bin/bash\n\
             # The study `{study}`: an array of {tasks} for {left} points.\n\
             {head}\
             #SBATCH --signal=B:USR1@{before}\n\
             \n\
             # A task that meets its time limit ends in order, gives back the point that it has not finished, and is queued again, at most\n\
             # {ROUNDS} times.\n\
             limit= asked= early= task=\n\
             ask() {{\n    \
                 asked=yes\n    \
                 if [ -n \"$task\" ]; then kill -TERM \"$task\"; else early=yes; fi\n\
             }}\n\
             trap 'limit=yes; ask' USR1\n\
             trap ask TERM\n\
             {run} --part \"$SLURM_ARRAY_TASK_ID/{tasks}\" --jobs {jobs} &\n\
             task=$!\n\
             # The signal may have come before the task's number was known.\n\
             if [ -n \"$early\" ]; then kill -TERM \"$task\"; fi\n\
             asked=yes\n\
             while [ -n \"$asked\" ]; do\n    \
                 asked=\n    \
                 wait \"$task\"\n    \
                 status=$?\n\
             done\n\
             if [ -n \"$limit\" ] && [ \"$status\" = 130 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {ROUNDS} ]; then\n    \
                 scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"\n\
             fi\n\
             exit \"$status\"\n"
        )
    }

    fn last(&self) -> String {
        let head = self.head(&format!("{}-report", self.study), "last.log");
        let time = self.needs.time.map(|limit| format!("#SBATCH --time={}\n", limit.min(Limit(LAST_TIME))));
        format!(
            "#!/bin/bash\n\
             # Table and report of the study `{}`, of all points that are there; then what failed and what is left.\n\
             {head}{}\n\
             {}\n\
             {}\n",
            self.study,
            time.unwrap_or_default(),
            words(&self.report),
            words(&self.status)
        )
    }

    fn submit(&self) -> String {
        let script = |name: &str| quoted(&self.script(name).display().to_string());
        format!(
            "#!/bin/sh\n\
             # Hands in the study `{}`, and prints the numbers of the array and of the last job.\n\
             set -e\n\
             array=$(sbatch --parsable {})\n\
             array=${{array%%;*}}\n\
             last=$(sbatch --parsable --dependency=afterany:\"$array\" {})\n\
             echo \"$array ${{last%%;*}}\"\n",
            self.study,
            script(ARRAY),
            script(LAST)
        )
    }
}

/// Words as a shell reads them.
fn words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word quoted for a shell, and for the lines of `sbatch`.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expectation {
        Expectation { seconds: vec![10.0, 500.0, 90.0], peak_kib: 100 << 10, measured: 2 }
    }

    #[test]
    fn tasks_are_given_what_was_measured_and_more() {
        // (600 / 2 + 500 + 5) * 2 + 60 = 1670 s, and 125 MiB.
        let needs = Needs::of(&expected(), &[0, 1, 2], 2, 1, 5.0);
        assert_eq!(needs, Needs { time: Some(Limit(1800)), memory: Some(Memory(128)) });
        // Two points at a time: half the share, twice the memory.
        let needs = Needs::of(&expected(), &[0, 1, 2], 2, 2, 5.0);
        assert_eq!(needs, Needs { time: Some(Limit(1500)), memory: Some(Memory(256)) });
        let none = Expectation { measured: 0, ..expected() };
        assert_eq!(Needs::of(&none, &[0, 1, 2], 2, 1, 5.0), Needs::default());
    }

    fn jobs() -> Jobs {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Jobs {
            study: "trial".to_owned(),
            run: list(&["true", "study", "it's trial.yaml"]),
            status: list(&["true", "status"]),
            report: list(&["true", "report"]),
            folder: PathBuf::from("/shared/out dir"),
            from: PathBuf::from("/shared"),
            tasks: 8,
            jobs: 2,
            needs: Needs { time: Some(Limit(1800)), memory: Some(Memory(128)) },
            options: list(&["--partition=long"]),
            left: 40,
        }
    }

    #[test]
    fn the_array_asks_for_time_memory_another_try_and_a_signal() {
        let text = jobs().array();
        for line in [
            "#SBATCH --array=1-8",
            "#SBATCH --cpus-per-task=2",
            "#SBATCH --time=00:30:00",
            "#SBATCH --mem=128M",
            "#SBATCH --requeue",
            "#SBATCH --signal=B:USR1@60",
            "#SBATCH --partition=long",
            "#SBATCH --output='/shared/out dir/slurm/%A_%a.log'",
            "true study 'it'\\''s trial.yaml' --part \"$SLURM_ARRAY_TASK_ID/8\" --jobs 2 &",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
        assert!(jobs().submit().contains("--dependency=afterany:\"$array\" '/shared/out dir/slurm/last.sh'"));
        assert!(jobs().last().contains("\ntrue report\ntrue status\n"));
        let none = Jobs { needs: Needs::default(), ..jobs() };
        assert!(!none.array().contains("--time") && !none.array().contains("--mem"));
    }

    /// Runs the array's script with another command in place of the study; returns its status and output.
    #[cfg(unix)]
    fn play(script: &str, signal: Option<&str>) -> (Option<i32>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.sh");
        // Instead of Slurm's own command.
        let scontrol = "scontrol() { echo \"scontrol $*\"; }\n";
        std::fs::write(&path, script.replacen("\n\n", &format!("\n\n{scontrol}"), 1)).unwrap();
        let mut command = std::process::Command::new("bash");
        command.arg(&path).envs([("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_JOB_ID", "7")]);
        command.current_dir(folder.path()).stdout(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        if let Some(signal) = signal {
            while !folder.path().join("begun").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(sent.unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    #[cfg(unix)]
    #[test]
    fn a_task_at_its_limit_ends_in_order_and_is_queued_again() {
        // The script ends as the command does on SIGTERM, a moment later.
        let run =
            ["bash", "-c", "trap 'sleep 0.2; exit 130' TERM; touch begun; while :; do sleep 0.05; done"];
        let jobs = Jobs { run: run.map(str::to_owned).to_vec(), ..jobs() };
        assert_eq!(play(&jobs.array(), Some("-USR1")), (Some(130), "scontrol requeue 7_3\n".to_owned()));
        // The signal comes before the script knows the task's number.
        let slow = jobs.array().replacen(" &\n", " &\nsleep 0.5\n", 1);
        assert_eq!(play(&slow, Some("-USR1")), (Some(130), "scontrol requeue 7_3\n".to_owned()));
        // A cancelled task is not queued again.
        assert_eq!(play(&jobs.array(), Some("-TERM")), (Some(130), String::new()));
        let run = ["bash", "-c", "echo \"$0 $1 $2 $3 $4\"; exit 2", "x"];
        let jobs = Jobs { run: run.map(str::to_owned).to_vec(), ..jobs };
        assert_eq!(play(&jobs.array(), None), (Some(2), "x --part 3/8 --jobs 2\n".to_owned()));
    }
}
