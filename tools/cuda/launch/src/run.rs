//! A run of the program, and the application that it leaves.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counterpoint_cuda_capture::{HostTime, Machine, Summary, read, summary, write_application};

use crate::library::{ASSEMBLER, LIBRARY, cached};
use crate::program::{Needs, find, inspect};
use crate::service::Service;

/// The variable of the environment by which the library knows that the program's clocks are the machine's.
const CLOCK: &str = "COUNTERPOINT_CUDA_CLOCK";
/// Time between two checks of the program.
const PAUSE: Duration = Duration::from_millis(20);
/// Looks after which a program that was asked to end is killed: two seconds.
const PATIENCE: u32 = 100;

/// A program and the device that it sees.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Name of the application.
    pub name: String,
    /// Folder of the application.
    pub folder: PathBuf,
    /// Bytes of device memory.
    pub memory: Option<u64>,
    /// SMs of the device.
    pub sms: Option<u32>,
    /// Compute capability times 10.
    pub capability: Option<u32>,
    /// Bytes of data that the record keeps at most.
    pub limit: Option<u64>,
    /// Time of the host in the application.
    pub host_time: HostTime,
    /// Whether the program's clocks have the machine's time.
    pub clock: bool,
}

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program ended with an exit status.
    Exit(i32),
    /// The program was ended by a signal.
    Signal(i32),
}

impl From<ExitStatus> for Ended {
    #[cfg(unix)]
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exit(code),
            (None, signal) => Ended::Signal(signal.unwrap_or(0)),
        }
    }

    #[cfg(not(unix))]
    fn from(status: ExitStatus) -> Self {
        Ended::Exit(status.code().unwrap_or(1))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exit(code) => write!(f, "exit status {code}"),
            Ended::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A program that has run.
#[derive(Clone, Debug)]
pub struct Captured {
    /// End of the program.
    pub ended: Ended,
    /// Summary of the record; `None` if the program has not called CUDA.
    pub summary: Option<Summary>,
    /// The application's file, if it has one.
    pub application: Option<PathBuf>,
}

/// The reason why a program cannot be run, or its application not be written.
#[derive(Debug)]
pub enum RunError {
    /// The program does not exist.
    NotFound(PathBuf),
    /// A file, and the problem with it.
    File(PathBuf, String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::NotFound(program) => write!(f, "there is no program `{}`", program.display()),
            RunError::File(path, problem) => write!(f, "{}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs a program, and writes its application into a folder. Set `interrupt` to end the program; its record
/// so far is kept.
///
/// # Errors
/// If the program cannot be run, or the application not be written.
pub fn run(request: &Request, interrupt: &AtomicBool) -> Result<Captured, RunError> {
    run_on(request, None, interrupt)
}

/// Like [`run`]; the program's work runs on the machine, too, and its times are the machine's.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    request: &Request,
    machine: Option<Box<dyn Machine>>,
    interrupt: &AtomicBool,
) -> Result<Captured, RunError> {
    let named = PathBuf::from(request.command.first().cloned().unwrap_or_default());
    let program = find(&named).ok_or_else(|| RunError::NotFound(named.clone()))?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| RunError::File(path, error.to_string())
    };
    let needs = inspect(&program).map_err(at(&program))?;
    let libraries = cached().map_err(at(Path::new("CUDA library")))?;
    let record = request.folder.join("record");
    remove_stale(&request.folder)?;
    std::fs::create_dir_all(&record).map_err(at(&record))?;
    let record = record.canonicalize().map_err(at(&record))?;
    let mut command = Command::new(&program);
    command.args(&request.command[1..]);
    let service = Service::start(request, &record, machine).map_err(at(&program))?;
    service.introduce(&mut command);
    for (variable, value) in handed_through(&libraries) {
        if std::env::var_os(variable).is_none() {
            command.env(variable, value);
        }
    }
    command.env("LD_LIBRARY_PATH", with_folder(&libraries, "LD_LIBRARY_PATH"));
    // The library sees files that the program opens where it comes before the C library.
    let mut first = with_folder(&libraries.join(LIBRARY), "LD_PRELOAD");
    if let Needs::Shared { name, insists: true } = &needs {
        first.push(":");
        first.push(libraries.join(name));
    }
    command.env("LD_PRELOAD", first);
    if request.clock {
        command.env(CLOCK, "1");
    }
    let mut child = command.spawn().map_err(at(&program))?;
    let ended = wait(&mut child, interrupt).map_err(at(&program))?;
    // A kernel that still runs is needed by nobody.
    service.finish();
    let captured = write(request, &record)?;
    let kept = std::fs::remove_dir_all(&record);
    kept.map_err(at(&record))?;
    let (summary, application) = captured.unzip();
    Ok(Captured { ended, summary, application })
}

/// Variables of the environment by which compilers in Python hand PTX over in place of machine code.
fn handed_through(libraries: &Path) -> [(&'static str, OsString); 3] {
    let assembler = libraries.join(ASSEMBLER).into_os_string();
    [
        ("TRITON_PTXAS_PATH", assembler.clone()),
        ("TRITON_PTXAS_BLACKWELL_PATH", assembler),
        ("CUPY_COMPILE_WITH_PTX", "1".into()),
    ]
}

/// Removes the files of an application that was here before: they are not this one's.
fn remove_stale(folder: &Path) -> Result<(), RunError> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let removed = match name.as_str() {
            "record" | "data" | "expected" | "input" => std::fs::remove_dir_all(&path),
            _ if is_made(&name) => std::fs::remove_file(&path),
            _ => Ok(()),
        };
        removed.map_err(|error| RunError::File(path, error.to_string()))?;
    }
    Ok(())
}

/// Whether a file has a name that files of applications have.
fn is_made(name: &str) -> bool {
    let numbered = |start: &str, end: &str| {
        let number = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    name == "data.gz" || numbered("written-", ".gz") || numbered("module-", ".ptx")
}

/// A list of paths in the environment, with another one in front.
fn with_folder(folder: &Path, variable: &str) -> OsString {
    let before = std::env::var_os(variable).unwrap_or_default();
    let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&before));
    let all = all.filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths(all).unwrap_or_else(|_| folder.into())
}

fn wait(child: &mut Child, interrupt: &AtomicBool) -> io::Result<Ended> {
    let mut looks = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.into());
        }
        if interrupt.load(Ordering::Relaxed) {
            looks += 1;
            match looks {
                1 => ask_to_end(child),
                PATIENCE => child.kill()?,
                _ => {}
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Sends the program the signal by which it is asked to end.
fn ask_to_end(child: &Child) {
    #[cfg(unix)]
    if let Some(process) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // The program may have ended by itself.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}

/// Writes the application of a record; nothing if the program has not called CUDA.
fn write(request: &Request, record: &Path) -> Result<Option<(Summary, PathBuf)>, RunError> {
    let Ok(recorded) = read(record) else { return Ok(None) };
    let summary = summary(&recorded);
    let file = request.folder.join(format!("{}.yaml", request.name));
    let written = write_application(&recorded, &request.name, &request.folder, request.host_time);
    let written = written.and_then(|yaml| std::fs::write(&file, yaml));
    written.map_err(|error| RunError::File(file.clone(), error.to_string()))?;
    Ok(Some((summary, file)))
}
