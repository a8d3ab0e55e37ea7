//! The `counterpoint` command, called in process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use counterpoint_cli::{Console, PAPERS, main_with};
use counterpoint_framework::model::Extension;

/// Result of a call.
pub struct Called {
    /// Exit status.
    pub status: u8,
    /// Results.
    pub out: String,
    /// Notes and problems.
    pub err: String,
}

/// Calls the command with our papers, and perhaps interrupts it at once.
pub fn call_with(arguments: &[&str], interrupt: bool) -> Called {
    call_extended(PAPERS, arguments, interrupt)
}

/// Calls the command with extensions, and perhaps interrupts it at once.
pub fn call_extended(extensions: &[Extension], arguments: &[&str], interrupt: bool) -> Called {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        out: &mut out,
        err: &mut err,
        interactive: false,
        interrupt: Arc::new(AtomicBool::new(interrupt)),
        abandon: Arc::default(),
        listens: Arc::default(),
    };
    let words = std::iter::once("counterpoint").chain(arguments.iter().copied()).map(Into::into);
    let status = main_with(extensions, words, &mut console);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Called { status, out: text(out), err: text(err) }
}

/// Calls the command with our papers.
pub fn call(arguments: &[&str]) -> Called {
    call_with(arguments, false)
}
