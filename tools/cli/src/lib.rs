//! The `counterpoint` command as a library, so that tests can call it and read what it says.
//!
//! This is the only crate that prints. Results go to `out`; progress, notes and problems to `err`.

mod columns;
mod commands;
mod dot;
mod live;
mod log;
mod picture;
mod progress;
mod signals;
mod study_progress;
mod table;

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use counterpoint_framework::model::Extension;
use counterpoint_simulation::registry_with;

use commands::Command;
pub use signals::main;

/// Exit status: finished, and verified where there was something to verify.
pub const SUCCESS: u8 = 0;
/// Exit status: the results are not as expected, or the compared runs differ.
pub const NOT_VERIFIED: u8 = 1;
/// Exit status: bad input, or a run that failed or hung.
pub const FAILURE: u8 = 2;
/// Exit status: ended by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Outputs of a command.
pub struct Console<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Progress, notes and problems.
    pub err: &'a mut dyn Write,
    /// `err` is a terminal: progress is shown and problems are drawn.
    pub interactive: bool,
    /// Set by someone else to end a run.
    pub interrupt: Arc<AtomicBool>,
    /// Set by someone else to leave a component behind that hangs.
    pub abandon: Arc<AtomicBool>,
    /// Set by a command that ends in order when `interrupt` is set; until then there is nothing to keep.
    pub listens: Arc<AtomicBool>,
}

/// Simulates heterogeneous machines, from the CPU host to the GPU's DRAM, that run real PTX programs.
#[derive(Parser)]
#[command(name = "counterpoint", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The papers that the shipped command knows; none without the feature `papers`.
pub const PAPERS: &[Extension] = &[
    #[cfg(feature = "papers")]
    counterpoint_crcs::register,
    #[cfg(feature = "papers")]
    counterpoint_dka::register,
    #[cfg(feature = "papers")]
    counterpoint_interleave::register,
    #[cfg(feature = "papers")]
    counterpoint_kernelet::register,
    #[cfg(feature = "papers")]
    counterpoint_narrow_tasks::register,
];

/// Runs the command that the arguments name (the first is the program's own name), with the entries of extensions, and
/// returns the exit status.
pub fn main_with(
    extensions: &[Extension],
    arguments: impl IntoIterator<Item = OsString>,
    console: &mut Console<'_>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = error.render();
            let asked = !error.use_stderr();
            // A closed pipe leaves nobody to tell.
            let _ = match (asked, console.interactive) {
                (true, _) => write!(console.out, "{text}"),
                (false, true) => write!(console.err, "{}", text.ansi()),
                (false, false) => write!(console.err, "{text}"),
            };
            return if asked { SUCCESS } else { FAILURE };
        }
    };
    let words = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let extensions = [extensions, &[counterpoint_library::register]].concat();
    let registry = Arc::new(registry_with(&extensions));
    match parsed.command.execute(words, &registry, console) {
        Ok(status) => status,
        // The reader of our output has gone: that is its own affair.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => SUCCESS,
        Err(error) => {
            let _ = writeln!(console.err, "error: {error}");
            FAILURE
        }
    }
}
