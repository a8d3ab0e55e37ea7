//! The `counterpoint` command with our papers.

use std::process::ExitCode;

fn main() -> ExitCode {
    counterpoint::main(counterpoint::PAPERS)
}
