//! Hands every committed PTX module, as it is and rewritten, to NVIDIA's assembler, which is not part of this repository.

use std::path::PathBuf;
use std::process::Command;

/// Hands every committed PTX module to NVIDIA's assembler, and prints a table of registers.
#[derive(clap::Args)]
pub(crate) struct Ptxas {
    /// The assembler.
    #[arg(long, value_name = "PROGRAM")]
    ptxas: PathBuf,
    /// Prints by how much registers differ between kernels and their slices.
    #[arg(long)]
    slices: bool,
}

impl Ptxas {
    /// Runs the test that needs the assembler.
    pub(crate) fn run(self) -> Result<(), String> {
        assemble(
            self.ptxas,
            match self.slices {
                false => "committed::ptxas_accepts_every_module_before_and_after",
                true => "slice_committed::ptxas_accepts_slices",
            },
        )
    }
}

fn assemble(program: PathBuf, test: &str) -> Result<(), String> {
    // The test runs in the folder of its crate.
    let program = std::path::absolute(&program).ok().filter(|path| path.exists()).unwrap_or(program);
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "-p", "counterpoint-ptx", "--test", "ptx", "--"]);
    command.args(["--ignored", "--nocapture", "--exact", test]);
    let status = command.env("PTXAS", program).status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("ptxas refuses a module".to_owned()) }
}
