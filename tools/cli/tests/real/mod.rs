//! The `counterpoint` command as people run it: a process of its own.

#[cfg(target_os = "linux")]
mod cuda;
mod folders;
#[cfg(target_os = "linux")]
mod live;
mod log;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(unix)]
mod parts;
#[cfg(target_os = "linux")]
mod random_programs;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod studies;
mod warm_up;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Hotspot's settings for a run that goes on for as long as nobody ends it.
const ENDLESS: [&str; 4] = ["--set", "app.n=32", "--set", "app.launches=1000000"];

/// A run of an application on the tiny machine, ready to start: a copy of the application in `folder`, so that its input
/// files are made there, and its results in [`out`].
fn run(folder: &Path, application: &str, options: &[&str]) -> Command {
    run_on("tiny", folder, application, options)
}

/// The same on another machine.
fn run_on(machine: &str, folder: &Path, application: &str, options: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let from = root.join("experiments/applications").join(application);
    let file = format!("{application}.yaml");
    for name in [&file, "kernel.nvrtc-sm_35.ptx"] {
        std::fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    command.current_dir(root).args(["run", machine]).arg(folder.join(file)).args(options);
    command.arg("--out").arg(out(folder)).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The folder of a run's results.
fn out(folder: &Path) -> PathBuf {
    folder.join("out")
}
