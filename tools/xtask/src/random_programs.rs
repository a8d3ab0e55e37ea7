//! `cargo xtask random-programs`: random CUDA programs of chosen seeds, recorded and run on machines.

use std::process::Command;

/// Records random CUDA programs, and runs their applications on machines, with and without time, and under every runtime that takes them.
#[derive(clap::Args)]
pub(crate) struct RandomPrograms {
    /// The seed of the first one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Programs, whose seeds follow one another.
    #[arg(long, default_value_t = 1)]
    count: u64,
}

impl RandomPrograms {
    pub(crate) fn run(self) -> Result<(), String> {
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "-p", "counterpoint-cli", "--test", "command", "--", "--ignored", "--exact"]);
        command.arg("real::random_programs::slow::hundreds_of_programs_are_right_under_every_runtime");
        command.env("COUNTERPOINT_SEEDS", format!("{}..{}", self.seed, self.seed.saturating_add(self.count)));
        let status = command.status().map_err(|error| format!("cargo: {error}"))?;
        if status.success() { Ok(()) } else { Err("an application is not right".to_owned()) }
    }
}
