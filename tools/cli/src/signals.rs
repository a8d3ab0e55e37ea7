//! The command as a process: hands its arguments, streams and signals to [`main_with`].

use std::io::{IsTerminal, stderr, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use counterpoint_framework::model::Extension;

use crate::{Console, INTERRUPTED, main_with};

/// The whole command with the entries of extensions. The `main` of a user's crate is a call of this function and nothing else.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     counterpoint_cli::main(&[])
/// }
/// ```
pub fn main(extensions: &[Extension]) -> ExitCode {
    let flags: [Arc<AtomicBool>; 3] = Default::default();
    let [listens, interrupt, abandon] = flags.clone();
    // If no handler can be set, a signal ends the process at once, as by default.
    if let Ok(mut signals) = Signals::new(wanted()) {
        std::thread::spawn(move || signals.forever().for_each(|_| end(&flags)));
    }
    let interactive = stderr().is_terminal();
    let mut console =
        Console { out: &mut stdout(), err: &mut stderr(), interactive, interrupt, abandon, listens };
    ExitCode::from(main_with(extensions, std::env::args_os(), &mut console))
}

/// Signals that end a run: Ctrl-C, the signal that batch systems send before they kill, and that of the end of a terminal, unless it is
/// ignored (`nohup`).
fn wanted() -> Vec<i32> {
    if is_ignored(SIGHUP) { vec![SIGINT, SIGTERM] } else { vec![SIGINT, SIGTERM, SIGHUP] }
}

/// Whether the process was started with a signal ignored, as reported by Linux.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

/// The first signal asks a run to end, the second leaves a component behind that keeps it from ending, the third does not ask, nor does
/// the first one where a command has nothing to keep.
fn end([listens, interrupt, abandon]: &[Arc<AtomicBool>; 3]) {
    let asked = || [interrupt, abandon].into_iter().all(|flag| flag.swap(true, Ordering::SeqCst));
    if !listens.load(Ordering::SeqCst) || asked() {
        std::process::exit(i32::from(INTERRUPTED));
    }
}
