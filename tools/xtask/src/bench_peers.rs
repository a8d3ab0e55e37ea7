//! Builds `tools/peers` and has it measure our kernel beside others: `cargo xtask bench-peers`.
//!
//! The crate is outside the workspace, so that nothing else here downloads or builds the peers.

use std::process::Command;

/// Prints the table and writes it to `framework/benches/peers.md`.
pub(crate) fn run() -> Result<(), String> {
    let root = crate::tree::root()?;
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args([
            "run",
            "--release",
            "--locked",
            "--manifest-path",
            "tools/peers/Cargo.toml",
            "--target-dir",
            "target/peers",
        ])
        .args(["--", "framework/benches/peers.md"])
        .status()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err("tools/peers: failed".to_owned()) }
}
