//! The `counterpoint` command with our papers.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "papers")]
    let papers = counterpoint::PAPERS;
    #[cfg(not(feature = "papers"))]
    let papers = &[];
    counterpoint::main(papers)
}
