//! The whole `counterpoint` command with this extension.

use std::process::ExitCode;

fn main() -> ExitCode {
    counterpoint::main(&[example_extension::register])
}
