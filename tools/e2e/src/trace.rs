//! A run on the page of a real Jaeger.

use std::path::Path;

use crate::browser::{Browser, Screen};
use crate::jaeger::Jaeger;
use crate::{call, folder};

/// What a reader of the page looks for, by service: the run, its phases, the ways of its bytes, the kernel. All in the order of
/// their beginnings, as the page has them.
const ROWS: [[&str; 2]; 10] = [
    ["host", "run vecadd"],
    ["pcie", "downstream"],
    ["host", "prelude"],
    ["host", "H2D"],
    ["gpu", "H2D a"],
    ["host", "kernels"],
    ["gpu", "vecadd#1"],
    ["memory", "channel"],
    ["host", "D2H"],
    ["host", "postlude"],
];

const SCREEN: Screen = (1600, 900);

/// Runs a small application, all of whose spans must arrive, and looks at the list and the trace.
pub(crate) fn check(counterpoint: &Path, browser: &Browser, pictures: &Path) -> Result<String, String> {
    let jaeger = Jaeger::start()?;
    let results = folder()?;
    let (otlp, out) = (jaeger.otlp(), results.path().display().to_string());
    let arguments = ["run", "tiny", "vecadd", "--set", "app.n=1000", "--otlp", &otlp, "--otlp-required"];
    call(counterpoint, &[&arguments[..], &["--out", &out]].concat())?;
    let trace = jaeger.only_trace()?;

    let list = browser.text(&format!("{}/search?service=host&limit=20", jaeger.pages()), SCREEN)?;
    expect(&list, &["host: run vecadd"], "the list of traces")?;
    let page = format!("{}/trace/{trace}", jaeger.pages());
    let text = browser.text(&page, SCREEN)?;
    let rows = ROWS.map(|row| row.join(" "));
    expect(&text, &rows.each_ref().map(String::as_str), "the page of the trace")?;
    browser.picture(&page, SCREEN, &pictures.join("trace.png"))?;
    let rows = ROWS.map(|row| row.join(": "));
    Ok(format!("{page} has {}", rows.join(", ")))
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
