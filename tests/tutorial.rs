//! `components/TUTORIAL.md`: its component compiles, runs in its machine, and is that of the page, word for
//! word.

#[allow(unreachable_pub, reason = "the file stands as it would in the crate that it is written for")]
mod retimer;

use counterpoint_framework::model::{Component, Registry};
use counterpoint_framework::telemetry::sinks::stats::{self, Shown, Statistics};
use counterpoint_framework::topology;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{RunSummary, load_machine};

use crate::support::{assert_verified, request, root, run_with};

use retimer::Retimer;

const MACHINE: &str = "tests/tutorial/retimed.yaml";

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The code blocks of the page in one language.
fn blocks(language: &str) -> Vec<String> {
    let page = text("components/TUTORIAL.md");
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

/// The common registry, and the retimer; a reader who followed the page has it already.
fn with_retimer() -> Registry {
    let mut registry = registry();
    if registry.catalogue.get(Retimer::KIND).is_none() {
        registry.component::<Retimer>();
    }
    registry
}

fn run(machine: &str, sets: &[&str]) -> RunSummary {
    let sets: Vec<&str> = ["app.n=1000"].iter().chain(sets).copied().collect();
    let summary = run_with(&request(machine, "vecadd", &sets), with_retimer());
    assert_verified(&summary);
    summary
}

#[test]
fn the_page_shows_the_files_as_they_are() {
    assert_eq!(blocks("rust").join("\n"), text("tests/tutorial/retimer.rs"));
    assert_eq!(blocks("yaml"), [text(MACHINE)]);
}

#[test]
fn the_component_has_forty_lines() {
    let file = text("tests/tutorial/retimer.rs");
    let (code, _) = file.split_once("#[cfg(test)]").unwrap();
    let counts = |line: &&str| !line.is_empty() && !line.starts_with("//");
    assert_eq!(code.lines().map(str::trim).filter(counts).count(), 40);
}

#[test]
fn the_list_is_where_the_page_says() {
    let place = "components/hardware/src/io/mod.rs";
    assert!(text("components/TUTORIAL.md").contains(&format!("`{place}`")), "{place}");
    let [change] = blocks("diff").try_into().unwrap();
    let lines = |marks: &[char]| {
        let lines = change.lines().filter_map(|line| line.strip_prefix(marks));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (before, after) = (lines(&[' ']), lines(&[' ', '+']));
    assert_eq!(after.lines().count(), before.lines().count() + 1, "one line");
    let file = text(place);
    assert!(file.contains(&before) || file.contains(&after), "{place} has no\n{before}");
}

#[test]
fn the_command_would_say_what_the_page_says() {
    let [explained, counted, refused] = blocks("text").try_into().unwrap();
    let registry = with_retimer();
    let kind = registry.catalogue.get(Retimer::KIND).unwrap();
    assert_eq!(topology::explain(kind, registry.families()), explained);

    let mut all = Vec::new();
    let components = run(MACHINE, &[]).report.stats;
    let statistics = Statistics { components: &components, ..Statistics::default() };
    stats::write_text(&statistics, Shown::All, None, &mut all).unwrap();
    let all = String::from_utf8(all).unwrap();
    assert!(all.contains(&counted), "{all}");

    let request = request(MACHINE, "vecadd", &["retimer.delay=2 us"]);
    let error = load_machine(&request, &registry).unwrap_err().to_string();
    assert_eq!(error.trim_end(), refused.trim_end());
}

#[test]
fn the_machine_computes_the_same_in_the_time_that_the_page_says() {
    let total = |machine: &str, sets: &[&str]| {
        let ps = run(machine, sets).report.outcome.time().as_ps();
        format!("{}.{:06} us", ps / 1_000_000, ps % 1_000_000)
    };
    let rows = [
        ("`tiny`, without a retimer", total("tiny", &[])),
        ("`retimed.yaml`, 100 ns", total(MACHINE, &[])),
        ("`retimed.yaml`, 200 ns", total(MACHINE, &["retimer.delay=200 ns"])),
    ];
    let table: String = rows.iter().map(|(machine, total)| format!("| {machine} | {total} |\n")).collect();
    assert!(text("components/TUTORIAL.md").contains(&table), "{table}");
}
