//! `cargo xtask e2e [COUNTERPOINT]`: a run's spans on a real Jaeger page, and a study's report, in a real browser. Needs protoc and
//! Chromium.
//!
//! The crate is outside the workspace, so that nobody else needs them.

use std::path::Path;
use std::process::Command;

/// The folder of the pictures of the pages.
const PICTURES: &str = "target/e2e/pictures";

/// Runs `tools/e2e` on the exports of the given command, or of a command built for the test.
pub(crate) fn run(counterpoint: Option<&str>) -> Result<(), String> {
    let root = crate::tree::root()?;
    if counterpoint.is_none() {
        cargo(&root, &["build", "--package", "counterpoint-cli"])?;
    }
    let counterpoint = counterpoint.unwrap_or("target/debug/counterpoint");
    let e2e = ["--manifest-path", "tools/e2e/Cargo.toml", "--target-dir", "target/e2e"];
    cargo(&root, &[&["test"][..], &e2e].concat())?;
    cargo(&root, &[&["run"][..], &e2e, &["--", counterpoint, PICTURES]].concat())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new(env!("CARGO")).current_dir(root).args(arguments).status();
    let status = status.map_err(|error| format!("cargo did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}: failed", arguments.join(" "))) }
}
