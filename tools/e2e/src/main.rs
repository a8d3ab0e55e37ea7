//! Runs an application with `--otlp`, opens the trace on the page of a real Jaeger, and looks at what is on it:
//! `counterpoint-e2e COUNTERPOINT PICTURE`, from the root of the repository.
//!
//! Jaeger's pages come from `otlp-embedded`, which has its query service and an OTLP receiver too. The browser is
//! Chromium without a window. Whatever is missing is a failure: the command, the browser, a row of the page.

mod browser;
mod jaeger;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use browser::Browser;
use jaeger::Jaeger;

/// What a reader of the page looks for, by service: the run, its phases, the ways of its bytes, the kernel. All in the order of
/// their beginnings, as the page has them.
const ROWS: [[&str; 2]; 10] = [
    ["host", "run vecadd"],
    ["pcie", "downstream"],
    ["host", "prelude"],
    ["host", "H2D"],
    ["gpu", "H2D a"],
    ["host", "kernels"],
    ["gpu", "vecadd #1"],
    ["memory", "channel"],
    ["host", "D2H"],
    ["host", "postlude"],
];

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [counterpoint, picture] = arguments.as_slice() else {
        return report(Err("usage: counterpoint-e2e COUNTERPOINT PICTURE".to_owned()));
    };
    report(check(counterpoint, picture))
}

fn report(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn check(counterpoint: &Path, picture: &Path) -> Result<String, String> {
    let browser = Browser::find()?;
    let jaeger = Jaeger::start()?;
    run(counterpoint, &jaeger.otlp())?;
    let trace = jaeger.only_trace()?;

    let list = browser.text(&format!("{}/search?service=host&limit=20", jaeger.pages()))?;
    expect(&list, &["host: run vecadd"], "the list of traces")?;
    let page = format!("{}/trace/{trace}", jaeger.pages());
    let text = browser.text(&page)?;
    let rows = ROWS.map(|row| row.join(" "));
    expect(&text, &rows.each_ref().map(String::as_str), "the page of the trace")?;
    browser.picture(&page, picture)?;
    let rows = ROWS.map(|row| row.join(": "));
    Ok(format!("{page} has {}; {}", rows.join(", "), picture.display()))
}

/// Runs a small application, all of whose spans must arrive.
fn run(counterpoint: &Path, otlp: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for the results: {error}"))?;
    let mut command = Command::new(counterpoint);
    command.args([
        "run",
        "tiny",
        "vecadd",
        "--set",
        "app.n=1000",
        "--otlp",
        otlp,
        "--otlp-required",
        "--out",
    ]);
    let output = command.arg(folder.path()).output();
    let output = output.map_err(|error| format!("{} did not start: {error}", counterpoint.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the run failed: {}", String::from_utf8_lossy(&output.stderr)))
}

/// All of `words` are in `text`, each behind the one before.
fn expect(text: &str, words: &[&str], place: &str) -> Result<(), String> {
    let mut rest = text;
    for word in words {
        let Some((_, behind)) = rest.split_once(word) else {
            return Err(format!("{place} does not have `{word}`, or not in its place:\n{text}"));
        };
        rest = behind;
    }
    Ok(())
}
