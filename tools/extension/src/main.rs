//! The whole `counterpoint` command with this extension.

use std::process::ExitCode;

fn main() -> ExitCode {
    counterpoint_cli::main(&[example_extension::register])
}
