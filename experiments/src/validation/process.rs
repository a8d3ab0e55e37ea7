//! Processor time of whole processes: from the start of the command to its exit, with the files it reads, inputs and comparison.

use std::path::Path;
use std::process::{Command, Stdio};

use counterpoint_simulation::cpu_time::cpu_seconds_of_children;
use counterpoint_simulation::run::{RunError, RunErrors};

use super::Kernel;
use crate::speed::{ENOUGH, MOST_RUNS};

/// Processor seconds of a process of a command that runs a kernel on a machine, of all threads: the mean of as many as it takes until the
/// ticks of the clock do not show. Launches that warm caches are left out.
pub(super) fn seconds(
    command: &Path,
    machine: &str,
    kernel: &Kernel,
    folder: &Path,
) -> Result<f64, RunErrors> {
    let results = std::env::temp_dir().join(format!("counterpoint-speed-{}", std::process::id()));
    let failed = |text: String| -> RunErrors {
        RunError::Usage(format!("{} on {machine}: {text}", kernel.application)).into()
    };
    let begun = cpu_seconds_of_children();
    let (mut runs, mut passed) = (0, 0.0);
    while runs == 0 || passed < ENOUGH && runs < MOST_RUNS {
        let mut run = Command::new(command);
        run.current_dir(folder).args(["run", machine, &kernel.application, "--quiet", "--out"]).arg(&results);
        run.args(kernel.sets.iter().flat_map(|set| ["--set", set]));
        let ended = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
        let ended = ended.map_err(|error| failed(format!("{}: {error}", command.display())))?;
        if !ended.status.success() {
            return Err(failed(format!("{}\n{}", ended.status, String::from_utf8_lossy(&ended.stderr))));
        }
        (runs, passed) = (runs + 1, cpu_seconds_of_children() - begun);
    }
    std::fs::remove_dir_all(&results).map_err(|error| failed(format!("{}: {error}", results.display())))?;
    Ok(passed / f64::from(runs))
}
