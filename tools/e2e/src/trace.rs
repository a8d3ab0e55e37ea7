//! Runs on the page of a real Jaeger: one of the machine alone, and one of each paper.

use std::path::Path;

use crate::browser::{Browser, Screen};
use crate::jaeger::Jaeger;
use crate::{call, folder};

/// A run, and the parts that a reader of its page looks for.
struct Shown {
    application: &'static str,
    arguments: &'static [&'static str],
    /// Spans by service: the run, its phases, the ways of its bytes, kernels. All in the order of their beginnings, as the page
    /// has them.
    rows: &'static [[&'static str; 2]],
    picture: &'static str,
}

const SMALL: &str = "app.size=small";

/// A run of the machine alone, and one of each paper.
const RUNS: [Shown; 4] = [
    Shown {
        application: "vecadd",
        arguments: &["--set", "app.n=1000"],
        rows: &[
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
        ],
        picture: "trace.png",
    },
    Shown {
        application: "laplace",
        arguments: &["--with", "crcs-ppcs", "--set", SMALL],
        rows: &[
            ["host", "run laplace"],
            ["gpu", "laplace__pre#1"],
            ["gpu", "laplace#2"],
            ["gpu", "laplace#6"],
        ],
        picture: "trace-crcs.png",
    },
    Shown {
        application: "histogram-pipeline",
        arguments: &["--with", "dka", "--set", SMALL],
        rows: &[
            ["host", "run histogram-pipeline"],
            ["gpu", "sample#1"],
            ["gpu", "count#2"],
            ["gpu", "count#8"],
            ["host", "postlude"],
        ],
        picture: "trace-dka.png",
    },
    Shown {
        application: "narrow-dct",
        arguments: &["--with", "pagoda", "--set", SMALL],
        rows: &[
            ["host", "run narrow-dct"],
            ["host", "kernels"],
            ["host", "tasks"],
            ["gpu", "master_kernel#1"],
        ],
        picture: "trace-narrow-tasks.png",
    },
];

const SCREEN: Screen = (1600, 1200);

/// Runs small applications, all of whose spans must arrive, and looks at the list and the trace of each.
pub(crate) fn check(counterpoint: &Path, browser: &Browser, pictures: &Path) -> Result<String, String> {
    let shown = RUNS.iter().map(|run| run.check(counterpoint, browser, pictures));
    Ok(shown.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

impl Shown {
    fn check(&self, counterpoint: &Path, browser: &Browser, pictures: &Path) -> Result<String, String> {
        let jaeger = Jaeger::start()?;
        let results = folder()?;
        let (otlp, out) = (jaeger.otlp(), results.path().display().to_string());
        let to = ["--otlp", &otlp, "--otlp-required", "--out", &out];
        call(counterpoint, &[&["run", "tiny", self.application], self.arguments, &to].concat())?;
        let trace = jaeger.only_trace()?;

        let list = browser.text(&format!("{}/search?service=host&limit=20", jaeger.pages()), SCREEN)?;
        let title = format!("host: run {}", self.application);
        expect(&list, &[&title], "the list of traces")?;
        let page = format!("{}/trace/{trace}", jaeger.pages());
        let text = browser.text(&page, SCREEN)?;
        let rows: Vec<String> = self.rows.iter().map(|row| row.join(" ")).collect();
        expect(&text, &rows.iter().map(String::as_str).collect::<Vec<_>>(), "the page of the trace")?;
        browser.picture(&page, SCREEN, &pictures.join(self.picture))?;
        let rows: Vec<String> = self.rows.iter().map(|row| row.join(": ")).collect();
        Ok(format!("{page} has {}", rows.join(", ")))
    }
}

/// Checks that all of `words` are in `text`, in this order.
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
