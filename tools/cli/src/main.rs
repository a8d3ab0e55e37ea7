//! The `counterpoint` command: hands its arguments, streams and signals to the library.

use std::io::{IsTerminal, stderr, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use counterpoint::{Console, INTERRUPTED, main_with};

fn main() -> ExitCode {
    let interrupt = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupt);
    // Where no handler can be set, Ctrl-C ends the process at once, as it always does.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    let mut console =
        Console { out: &mut stdout(), err: &mut stderr(), interactive: stderr().is_terminal(), interrupt };
    ExitCode::from(main_with(std::env::args_os(), &mut console))
}
