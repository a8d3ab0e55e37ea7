//! The `counterpoint` command with our papers.

use std::process::ExitCode;

fn main() -> ExitCode {
    counterpoint_cli::main(counterpoint_cli::PAPERS)
}
