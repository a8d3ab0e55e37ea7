//! The `counterpoint` command: hands its arguments, streams and signals to the library.

use std::io::{IsTerminal, stderr, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use counterpoint::{Console, INTERRUPTED, main_with};

fn main() -> ExitCode {
    let flags: [Arc<AtomicBool>; 2] = Default::default();
    let [interrupt, abandon] = flags.clone();
    // The first Ctrl-C asks the run to end, the second leaves a component behind that keeps it from ending, the third does
    // not ask. Where no handler can be set, Ctrl-C ends the process at once, as it always does.
    let _ = ctrlc::set_handler(move || {
        if flags.iter().all(|flag| flag.swap(true, Ordering::SeqCst)) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    let interactive = stderr().is_terminal();
    let mut console = Console { out: &mut stdout(), err: &mut stderr(), interactive, interrupt, abandon };
    ExitCode::from(main_with(std::env::args_os(), &mut console))
}
