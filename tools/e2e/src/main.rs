//! The pages that users read, in a real browser: a run on the page of a real Jaeger, and the report of a study.
//! `counterpoint-e2e COUNTERPOINT FOLDER`, from the root of the repository; pictures are left in the folder.
//!
//! Jaeger's pages come from `otlp-embedded`, which has its query service and an OTLP receiver too. The browser is
//! Chromium without a window. Whatever is missing is a failure: the command, the browser, a row of the page.

mod browser;
mod jaeger;
mod report;
mod trace;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use browser::Browser;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let result = match arguments.as_slice() {
        [counterpoint, pictures] => check(counterpoint, pictures),
        _ => Err("usage: counterpoint-e2e COUNTERPOINT FOLDER".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn check(counterpoint: &Path, pictures: &Path) -> Result<(), String> {
    let browser = Browser::find()?;
    std::fs::create_dir_all(pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    println!("{}", trace::check(counterpoint, &browser, pictures)?);
    println!("{}", report::check(counterpoint, &browser, pictures)?);
    Ok(())
}

/// Runs the command, which must succeed.
fn call(counterpoint: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(counterpoint).args(arguments).output();
    let output = output.map_err(|error| format!("{} did not start: {error}", counterpoint.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`counterpoint {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
}

fn folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("no folder for the results: {error}"))
}
