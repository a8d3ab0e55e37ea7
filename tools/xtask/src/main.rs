//! Checks and chores of this repository. `cargo xtask help` lists them, and CONTRIBUTING.md says when to use which.

use std::process::{Command, ExitCode};

use clap::Parser;

mod bench_peers;
mod cluster;
mod corpora;
mod cuda_compilers;
mod cuda_programs;
mod documented;
mod e2e;
mod extension;
mod faults;
mod format;
mod front_ends;
mod fuzz;
mod installed;
mod lines;
mod network;
mod pgo;
mod profile;
mod ptx;
mod ptxas;
mod python_kernels;
mod quick;
mod random_programs;
mod semver;
mod slow;
mod speeds;
mod starter;
mod test_times;
mod times;
mod tree;
mod tutorial;

/// The commands of `check` after the formatting, in the order in which a failure is cheapest to see.
const CHECKS: &[(&str, &[&str])] = &[
    ("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps", "--quiet"]),
    ("tests", &["test", "--workspace"]),
];

/// Checks and chores of this repository.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Everything that a commit must pass: formatting, lints, documentation, tests.
    Check,
    /// Formats all sources, those of modules that macros declare among them.
    Fmt {
        /// Changes nothing, and fails if something is not formatted.
        #[arg(long)]
        check: bool,
    },
    Ptx(ptx::Ptx),
    Ptxas(ptxas::Ptxas),
    RandomPrograms(random_programs::RandomPrograms),
    Fuzz(fuzz::Fuzz),
    /// Measures other event kernels beside ours.
    BenchPeers,
    CudaCompilers(cuda_compilers::CudaCompilers),
    CudaPrograms(cuda_programs::CudaPrograms),
    PythonKernels(python_kernels::PythonKernels),
    /// Tries every command line of the README and its like, and compares what it prints with the page.
    Documented {
        /// The command; the release build if not given.
        counterpoint: Option<String>,
    },
    /// Looks at a run on a real Jaeger page, and at a study's report, in a real browser. Needs protoc and Chromium.
    E2e {
        /// The command; one is built if not given.
        counterpoint: Option<String>,
    },
    /// Builds and runs the crate outside the workspace, the starters and the tutorial.
    Extension,
    /// Installs the command, and tries it where there is no checkout.
    Installed,
    Cluster(cluster::Cluster),
    Faults(faults::Faults),
    /// Counts lines of Rust by crate: product, comments, tests.
    Lines,
    Network(network::NetworkLoads),
    Quick(quick::Quick),
    /// Compares what the library promises with the last version. Installs cargo-semver-checks.
    Semver {
        /// Compare with this commit in place of the last version.
        #[arg(long, value_name = "COMMIT")]
        baseline: Option<String>,
    },
    Slow(slow::Slow),
    Speeds(speeds::Speeds),
    /// Times every test, and writes the table of the slowest fifty.
    Tests,
    Times(times::Times),
    /// Counts instructions of the host by part of the simulator, and writes the page. Needs Valgrind.
    Profile,
    /// Builds the command with a profile of its own runs, for studies of hours.
    Pgo,
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::Check => check(),
        Chore::Fmt { check } => format::run(check),
        Chore::Ptx(chore) => chore.run(),
        Chore::Ptxas(chore) => chore.run(),
        Chore::RandomPrograms(chore) => chore.run(),
        Chore::Fuzz(chore) => chore.run(),
        Chore::BenchPeers => bench_peers::run(),
        Chore::CudaCompilers(chore) => chore.run(),
        Chore::CudaPrograms(chore) => chore.run(),
        Chore::PythonKernels(chore) => chore.run(),
        Chore::Documented { counterpoint } => documented::run(counterpoint.as_deref()),
        Chore::E2e { counterpoint } => e2e::run(counterpoint.as_deref()),
        Chore::Extension => extension::run(),
        Chore::Installed => installed::run(),
        Chore::Cluster(chore) => chore.run(),
        Chore::Faults(chore) => chore.run(),
        Chore::Lines => lines::run(),
        Chore::Network(chore) => chore.run(),
        Chore::Quick(chore) => chore.run(),
        Chore::Semver { baseline } => semver::run(baseline),
        Chore::Slow(chore) => chore.run(),
        Chore::Speeds(chore) => chore.run(),
        Chore::Tests => test_times::run(),
        Chore::Times(chore) => chore.run(),
        Chore::Profile => profile::run(),
        Chore::Pgo => pgo::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

/// The one gate: the command of continuous integration, and of a person before a commit.
fn check() -> Result<(), String> {
    report("-- formatting: cargo xtask fmt --check");
    format::run(true)?;
    for (name, arguments) in CHECKS {
        report(&format!("-- {name}: cargo {}", arguments.join(" ")));
        let mut command = Command::new(env!("CARGO"));
        command.args(*arguments);
        if *name == "documentation" {
            command.env("RUSTDOCFLAGS", "-D warnings");
        }
        let status = command.status().map_err(|error| format!("cargo did not start: {error}"))?;
        if !status.success() {
            return Err(format!("{name}: failed"));
        }
    }
    Ok(())
}

#[allow(clippy::print_stderr, reason = "this is a command")]
fn report(message: &str) {
    eprintln!("{message}");
}
