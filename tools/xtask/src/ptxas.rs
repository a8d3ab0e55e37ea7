//! Hands every committed PTX module, as it is and rewritten, to NVIDIA's assembler, which is not part of this repository.

use std::process::Command;

const USAGE: &str = "usage: cargo xtask ptxas --ptxas PROGRAM [--slices]";

/// Runs the test that needs the assembler, which also prints a table of registers: of all kernels, or with `--slices` by how much
/// they differ between kernels and their slices.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let (Some("--ptxas"), Some(program), what, None) =
        (arguments.next().as_deref(), arguments.next(), arguments.next(), arguments.next())
    else {
        return Err(USAGE.to_owned());
    };
    let test = match what.as_deref() {
        None => "committed::ptxas_accepts_every_module_before_and_after",
        Some("--slices") => "slice_committed::ptxas_accepts_slices",
        Some(_) => return Err(USAGE.to_owned()),
    };
    // The test runs in the folder of its crate.
    let program = std::path::absolute(&program).ok().filter(|path| path.exists()).unwrap_or(program.into());
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "-p", "counterpoint-ptx", "--test", "ptx", "--"]);
    command.args(["--ignored", "--nocapture", "--exact", test]);
    let status = command.env("PTXAS", program).status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("ptxas refuses a module".to_owned()) }
}
