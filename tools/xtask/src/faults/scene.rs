//! The folders and the processes: a copy of a machine and of applications that another user may read, and the disks of results.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::fault::Fault;
use super::inspect;

/// The user and group of the runs: not root.
const USER: u32 = 65534;

#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    Run,
    Study,
    /// All points of the study as one part; a study then continues from the part's results.
    Part,
}

/// The files of a job without faults.
pub(super) struct Whole {
    pub(super) time: Duration,
    /// Bytes of its files.
    pub(super) bytes: u64,
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
}

pub(super) struct Ended {
    pub(super) status: Option<i32>,
    pub(super) err: String,
}

/// A folder with all that is needed, which is removed in the end.
pub(super) struct Scene {
    folder: PathBuf,
    /// Whether file systems can be mounted here, so that one can be small.
    pub(super) mounts: bool,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.unmount();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Scene {
    /// Copies the files needed.
    pub(super) fn new(root: &Path) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("counterpoint-faults-{}", std::process::id()));
        let mut scene = Scene { folder: folder.clone(), mounts: true };
        let copy = |from: &Path, to: &str| {
            let to = folder.join(to);
            call(Command::new("cp").arg("-r").arg(from).arg(to))
        };
        make(&folder, 0o755)?;
        copy(&root.join("target/release/counterpoint"), "counterpoint")?;
        copy(&root.join("topologies"), "topologies")?;
        make(&folder.join("applications"), 0o755)?;
        for name in ["hotspot", "vecadd"] {
            copy(&root.join("experiments/applications").join(name), "applications/")?;
        }
        call(Command::new("chmod").args(["-R", "a+rwX"]).arg(folder.join("applications")))?;
        make(&scene.disk(), 0o777)?;
        if let Err(why) = scene.mount(1 << 20).and_then(|()| scene.unmount()) {
            crate::report(&format!(
                "warning: no disk is filled, for no file system can be mounted here: {why}"
            ));
            scene.mounts = false;
        }
        let study = format!(
            "counterpoint: 1\nstudy: faults\nmachine: {0}/topologies/systems/tiny.yaml\n\
             applications: {{ v: {{ of: {0}/applications/vecadd/vecadd.yaml }}, h: {{ of: {0}/applications/hotspot/hotspot.yaml }} }}\n\
             scales: {{ small: {{ size: small }} }}\nvary: {{ gpu.sms: [1, 2] }}\n\
             runs: {{ lrr: {{ gpu.sm.warp_scheduler: lrr }}, gto: {{ gpu.sm.warp_scheduler: gto }} }}\n\
             columns: {{ gain: lrr.time / time }}\n",
            folder.display()
        );
        std::fs::write(folder.join("faults.yaml"), study).map_err(|error| error.to_string())?;
        Ok(scene)
    }

    /// The mount point of the file system of the results.
    fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// The folder of the results.
    fn out(&self) -> PathBuf {
        self.disk().join("out")
    }

    fn command(&self, job: Job) -> Command {
        let mut command = Command::new(self.folder.join("counterpoint"));
        command.current_dir(&self.folder).uid(USER).gid(USER).stdout(Stdio::null()).stderr(Stdio::piped());
        match job {
            Job::Run => command
                .args(["run", "topologies/systems/tiny.yaml", "applications/hotspot/hotspot.yaml"])
                .args([
                    "--set",
                    "app.n=48",
                    "--set",
                    "app.launches=12",
                    "--series",
                    "1 us",
                    "--spans",
                    "warps",
                ]),
            Job::Study => command.args(["study", "faults.yaml", "--jobs", "2"]),
            Job::Part => command.args(["study", "faults.yaml", "--jobs", "2", "--part", "1/1"]),
        };
        command.arg("--out").arg(self.out());
        command
    }

    /// A new disk of `bytes` bytes, or an empty folder where there can be none.
    fn mount(&self, bytes: u64) -> Result<(), String> {
        if !self.mounts {
            return Ok(());
        }
        let options = format!("size={},mode=777", bytes.max(4096));
        call(Command::new("mount").args(["-t", "tmpfs", "-o", &options, "counterpoint"]).arg(self.disk()))
    }

    /// Takes the disk away with all that is on it.
    fn unmount(&self) -> Result<(), String> {
        if self.mounts {
            return call(Command::new("umount").arg(self.disk()));
        }
        if self.out().exists() {
            std::fs::remove_dir_all(self.out()).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Runs a job with nothing in its way.
    pub(super) fn whole(&self, job: Job) -> Result<Whole, String> {
        self.mount(1 << 30)?;
        // The first one makes the inputs.
        let mut time = Duration::ZERO;
        for _ in 0..2 {
            let begun = Instant::now();
            let ended = self.end(self.command(job), None)?;
            time = begun.elapsed();
            inspect::succeeded(&ended)?;
        }
        let files = inspect::files(&self.out())?;
        let bytes = files.values().map(|bytes| bytes.len() as u64).sum();
        self.unmount()?;
        Ok(Whole { time, bytes, files })
    }

    /// Runs a job with a fault, looks at the files left, and does it once more without. Gives the result, in
    /// a word.
    pub(super) fn try_out(&self, job: Job, fault: &Fault, whole: &Whole) -> Result<&'static str, String> {
        let disk = if let Fault::Full(bytes) = fault { *bytes } else { 1 << 30 };
        self.mount(disk)?;
        let found = self.fails_well(job, fault, whole);
        self.unmount()?;
        found
    }

    fn fails_well(&self, job: Job, fault: &Fault, whole: &Whole) -> Result<&'static str, String> {
        let ended = self.end(self.command(job), Some(fault))?;
        inspect::ended_in_order(&ended, fault)?;
        let left = match job {
            Job::Run => inspect::run(&self.out(), &ended, fault, whole)?,
            Job::Study | Job::Part => inspect::study(&self.out(), fault, whole)?,
        };
        self.allow(0o755);
        if let Fault::Full(_) = fault {
            call(Command::new("mount").args(["-o", "remount,size=1g"]).arg(self.disk()))?;
        }
        let job = if let Job::Part = job { Job::Study } else { job };
        let again = self.end(self.command(job), None)?;
        inspect::succeeded(&again).map_err(|error| format!("once more: {error}"))?;
        inspect::same(&inspect::files(&self.out())?, whole).map_err(|error| format!("once more: {error}"))?;
        Ok(left)
    }

    /// Waits for the end of a process, which a fault may bring about.
    fn end(&self, mut command: Command, fault: Option<&Fault>) -> Result<Ended, String> {
        let mut child = command.spawn().map_err(|error| format!("the command did not start: {error}"))?;
        match fault {
            Some(Fault::Signal(name, moment)) => {
                std::thread::sleep(*moment);
                // The child may have ended before.
                call(Command::new("kill").arg(name).arg(child.id().to_string()))?;
            }
            Some(Fault::Revoked(moment)) => {
                std::thread::sleep(*moment);
                while !self.out().exists() && matches!(child.try_wait(), Ok(None)) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                self.allow(0o555);
            }
            Some(Fault::Full(_)) | None => {}
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Ended { status: output.status.code(), err })
    }

    /// Sets the permissions of the folders of the results.
    fn allow(&self, mode: u32) {
        let mut folders = vec![self.out()];
        while let Some(folder) = folders.pop() {
            // A file that goes away meanwhile needs no permissions.
            let _ = std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode));
            let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            folders.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
        }
    }
}

/// Makes a folder that others may use like this.
fn make(folder: &Path, mode: u32) -> Result<(), String> {
    let made = std::fs::create_dir_all(folder);
    let made = made.and_then(|()| std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)));
    made.map_err(|error| format!("cannot make `{}`: {error}", folder.display()))
}

/// Runs a program that must succeed.
fn call(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?} did not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{command:?} failed (only root may do this): {why}"))
}
