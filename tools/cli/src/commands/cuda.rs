//! `counterpoint cuda`: runs a CUDA program without a GPU, and makes an application of it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use counterpoint_cuda_launch::{Captured, Ended, HostTime, Request, install, run_on, serve};
use counterpoint_framework::model::Registry;
use counterpoint_framework::time::{Bytes, UnitError};
use counterpoint_simulation::output::Lock;

use super::fail;
use super::live_run::{self, Wanted};
use super::machine::MachineChanges;
use crate::table::grouped;
use crate::{Console, FAILURE, SUCCESS};
use counterpoint_host_model::Timed;

/// The part of a machine's memory that a program has, as places may be given twice its size of addresses.
const PARTS: u64 = 4;

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Cuda {
    /// Folder of the application; `out/cuda/NAME` if not given.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Name of the application; the program's if not given.
    #[arg(long)]
    name: Option<String>,
    /// Memory of the device that the program sees, such as `4 GiB`; 8 GiB if not given.
    #[arg(long, value_parser = bytes)]
    memory: Option<Bytes>,
    /// SMs of the device that the program sees; 16 if not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    sms: Option<u32>,
    /// Compute capability of the device that the program sees, such as `7.5`; the highest that the program has PTX for if not given.
    #[arg(long, value_parser = capability)]
    capability: Option<u32>,
    /// Time of the host in the application: `measured`, `none`, with which the same program has the same application each time, or a factor of what is
    /// measured, such as `0.5`. If not given it is `measured`, and with --machine `none`.
    #[arg(long, value_name = "TIME", value_parser = host_time)]
    host_time: Option<HostTime>,
    /// Data of copies that the record keeps at most, such as `500 MiB`; 4 GiB if not given. Behind it the program goes on without a record.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    limit: Option<Bytes>,
    /// Run the program's work on this machine as the program calls: events, clocks and times are the machine's.
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    #[command(flatten)]
    changes: MachineChanges,
    /// With --machine: have only these launches take time, by their numbers (`3..5`, from 1), or the first of this kernel; the others run without
    /// time.
    #[arg(long, value_name = "LAUNCHES", requires = "machine", value_parser = Timed::parse)]
    timed: Option<Timed>,
    /// With --machine: the program's clocks (`clock_gettime`, `gettimeofday`, `time`) have the machine's time, too. They stand still while the host works,
    /// unless --host-time says otherwise; a reading takes 25 ns.
    #[arg(long, requires = "machine")]
    program_clock: bool,
    /// Write the libraries into a folder and run nothing: a program that finds them by `LD_LIBRARY_PATH` runs without a GPU.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["out", "name", "program"])]
    install: Option<PathBuf>,
    /// Serve the program that has started this command, over standard input: the installed library calls it so.
    #[arg(long, hide = true, exclusive = true)]
    serve: bool,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required_unless_present_any = ["install", "serve"])]
    program: Vec<OsString>,
}

fn bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

fn host_time(text: &str) -> Result<HostTime, String> {
    match (text, text.parse::<f64>()) {
        ("measured", _) => Ok(HostTime::Measured),
        ("none", _) => Ok(HostTime::None),
        (_, Ok(factor)) if factor.is_finite() && factor >= 0.0 => Ok(HostTime::Scaled(factor)),
        _ => Err("expected `measured`, `none` or a factor such as `0.5`".to_owned()),
    }
}

/// `7.5` as 75.
fn capability(text: &str) -> Result<u32, String> {
    let numbers =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match numbers {
        Some((major @ 1..=99_u32, minor @ 0..=9_u32)) => Ok(10 * major + minor),
        _ => Err("expected two numbers with a point between them, such as 7.5".to_owned()),
    }
}

impl Cuda {
    pub(super) fn execute(
        self,
        words: Vec<String>,
        registry: &Arc<Registry>,
        console: &mut Console<'_>,
    ) -> io::Result<u8> {
        if let Some(folder) = &self.install {
            return match install(folder) {
                Ok(()) => {
                    writeln!(console.out, "wrote CUDA's runtime library to {}", folder.display())?;
                    Ok(SUCCESS)
                }
                Err(error) => refuse(&error, console),
            };
        }
        if self.serve {
            return serve().map_or_else(|error| refuse(&error, console), |()| Ok(SUCCESS));
        }
        let program = self.program.first().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
        let name = self.name.unwrap_or_else(|| program.to_string_lossy().into_owned());
        let folder = self.out.unwrap_or_else(|| Path::new("out/cuda").join(&name));
        let usual = if self.machine.is_some() { HostTime::None } else { HostTime::Measured };
        let host_time = self.host_time.unwrap_or(usual);
        let mut request = Request {
            command: self.program,
            name,
            folder,
            memory: self.memory.map(Bytes::get),
            sms: self.sms,
            capability: self.capability,
            limit: self.limit.map(Bytes::get),
            host_time,
            clock: self.program_clock,
        };
        let lock = match lock(&request.folder) {
            Ok(lock) => lock,
            Err(problem) => {
                writeln!(console.err, "error: {problem}")?;
                return Ok(FAILURE);
            }
        };
        let begun = self.machine.as_ref().map(|machine| {
            let wanted = Wanted {
                machine,
                changes: &self.changes,
                timed: self.timed.clone().unwrap_or(Timed::All),
                host_time,
                name: &request.name,
                words,
            };
            live_run::begin(wanted, registry)
        });
        let (machine, beside) = match begun.transpose() {
            Ok(Some((machine, device, beside))) => {
                // Addresses of the program's memory stay in the lower half of the machine's.
                request.memory.get_or_insert(device.memory / PARTS);
                request.sms.get_or_insert(device.capacity.sms);
                (Some(machine), Some(beside))
            }
            Ok(None) => (None, None),
            Err(errors) => return fail(&errors, console),
        };
        // An interrupt keeps the record of the program so far.
        console.listens.store(true, Ordering::SeqCst);
        let captured = run_on(&request, machine, &console.interrupt);
        drop(lock);
        let simulated = beside.map(|beside| beside.report(console)).transpose()?;
        let status = match captured {
            Ok(captured) => report(&captured, console)?,
            Err(error) => refuse(&error, console)?,
        };
        Ok(if status == SUCCESS { simulated.unwrap_or(SUCCESS) } else { status })
    }
}

/// Locks the folder of an application, which one recording at a time may have.
fn lock(folder: &Path) -> Result<Lock, String> {
    let at = |error: io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(at)?;
    Lock::try_take(folder).map_err(at)?.map_err(|holder| {
        format!(
            "{holder} records into {} now; a folder of its own (`--out`) or another name (`--name`) keeps both",
            folder.display()
        )
    })
}

fn refuse(error: &dyn std::error::Error, console: &mut Console<'_>) -> io::Result<u8> {
    writeln!(console.err, "error: {error}")?;
    Ok(FAILURE)
}

/// Bytes of the files in a folder and in those below it.
fn size_of_folder(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_of_folder(&entry.path()),
        found => found.map_or(0, |found| found.len()),
    };
    entries.map(size).sum()
}

/// Reports on the application, and returns the program's own exit status.
fn report(captured: &Captured, console: &mut Console<'_>) -> io::Result<u8> {
    let status = match captured.ended {
        Ended::Exit(code) => code as u8,
        // A shell has the same exit status for a signal.
        Ended::Signal(signal) => (128 + signal) as u8,
    };
    if status != 0 {
        writeln!(console.err, "the program ended with {}", captured.ended)?;
    }
    let (Some(summary), Some(file)) = (&captured.summary, &captured.application) else {
        writeln!(console.err, "the program has not called CUDA's runtime: there is no application")?;
        return Ok(status);
    };
    if !summary.refused.is_empty() {
        let calls: Vec<&str> = summary.refused.iter().map(|(call, _)| call.as_str()).collect();
        writeln!(console.err, "note: not in the application, for the reasons above: {}", calls.join(", "))?;
    }
    if summary.fault.is_some() {
        writeln!(console.err, "note: the application ends with the kernel that failed")?;
    }
    if let Some(bytes) = summary.limit {
        writeln!(
            console.err,
            "note: the data of copies have reached {}, and the application ends there (`--limit` sets it)",
            Bytes::new(bytes)
        )?;
    } else if !summary.ended {
        writeln!(
            console.err,
            "note: the program did not end by itself: the application has what it did before"
        )?;
    }
    let [to_device, to_host] = summary.copied;
    writeln!(
        console.err,
        "{} launches, {} bytes to the device, {} bytes back",
        grouped(summary.launches),
        grouped(to_device),
        grouped(to_host)
    )?;
    let size = Bytes::new(file.parent().map_or(0, size_of_folder));
    writeln!(
        console.err,
        "wrote {} ({size} with its files): `counterpoint run MACHINE {}`",
        file.display(),
        file.display()
    )?;
    Ok(status)
}
