//! Checks and chores of this repository: `cargo xtask check`, `cargo xtask fmt`, `cargo xtask ptx`,
//! `cargo xtask ptxas`, `cargo xtask fuzz`, `cargo xtask bench-peers`,
//! `cargo xtask cuda-compilers`, `cargo xtask cuda-programs`, `cargo xtask e2e`, `cargo xtask speeds`,
//! `cargo xtask profile`, `cargo xtask pgo`, `cargo xtask faults`, `cargo xtask cluster`, `cargo xtask documented`, `cargo xtask extension`,
//! `cargo xtask installed`, `cargo xtask slow`, `cargo xtask tests`.

use std::process::{Command, ExitCode};

mod bench_peers;
mod cluster;
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
mod pgo;
mod profile;
mod ptx;
mod ptxas;
mod slow;
mod speeds;
mod starter;
mod tests;
mod tutorial;

/// The commands of `check` after the formatting, in the order in which a failure is cheapest to see.
const CHECKS: &[(&str, &[&str])] = &[
    ("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps", "--quiet"]),
    ("tests", &["test", "--workspace"]),
];

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let result = match command.as_str() {
        "check" => check(),
        "fmt" => format::run(std::env::args().any(|argument| argument == "--check")),
        "ptx" => ptx::run(std::env::args().skip(2)),
        "ptxas" => ptxas::run(std::env::args().skip(2)),
        "fuzz" => fuzz::run(std::env::args().skip(2)),
        "bench-peers" => bench_peers::run(),
        "cuda-compilers" => cuda_compilers::run(std::env::args().skip(2)),
        "cuda-programs" => cuda_programs::run(std::env::args().skip(2)),
        "documented" => documented::run(std::env::args().nth(2).as_deref()),
        "e2e" => e2e::run(std::env::args().nth(2).as_deref()),
        "extension" => extension::run(),
        "installed" => installed::run(),
        "cluster" => cluster::run(std::env::args().skip(2)),
        "faults" => faults::run(std::env::args().skip(2)),
        "slow" => slow::run(std::env::args().skip(2)),
        "tests" => tests::run(),
        "speeds" => speeds::run(std::env::args().skip(2)),
        "profile" => profile::run(std::env::args().skip(2)),
        "pgo" => pgo::run(std::env::args().skip(2)),
        _ => Err(
            "usage: cargo xtask check | fmt [--check] | ptx | ptxas | fuzz | bench-peers | cluster | cuda-compilers | cuda-programs | documented | e2e | extension | installed | faults | pgo | slow | speeds | tests | profile"
                .to_owned(),
        ),
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
