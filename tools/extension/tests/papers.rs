//! The papers of the tree beside this crate: their overlays bring their parts into its machine, and nothing needs them.

use std::sync::Arc;

use counterpoint::component::Extension;
use counterpoint_cli::{Console, PAPERS, SUCCESS, main_with};

/// Calls the command with extensions, and returns its exit status and output.
fn call(extensions: &[Extension], arguments: &[&str]) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        out: &mut out,
        err: &mut err,
        interactive: false,
        interrupt: Arc::default(),
        abandon: Arc::default(),
        listens: Arc::default(),
    };
    let here = env!("CARGO_MANIFEST_DIR");
    std::env::set_current_dir(here).unwrap_or_else(|error| panic!("{here}: {error}"));
    let words = std::iter::once("counterpoint").chain(arguments.iter().copied()).map(Into::into);
    let status = main_with(extensions, words, &mut console);
    (status, String::from_utf8_lossy(&[out, err].concat()).into_owned())
}

#[test]
fn overlays_of_papers_work_on_its_machine() {
    let all = [PAPERS, &[example_extension::register]].concat();
    for (overlays, application) in [
        (&["translation"][..], "histogram-pipeline"),
        (&["crcs-fifo"], "histogram-pipeline"),
        (&["crcs-ppcs"], "histogram-pipeline"),
        (&["dka"], "histogram-pipeline"),
        (&["dka-l2"], "histogram-pipeline"),
        (&["pagoda"], "narrow-dct"),
        (&["fusion"], "narrow-dct"),
        (&["pagoda", "governed"], "narrow-dct"),
    ] {
        let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let folder = out.path().display().to_string();
        let mut arguments = vec!["run", "eight", application, "--set", "app.size=small", "--out", &folder];
        overlays.iter().for_each(|overlay| arguments.extend(["--with", overlay]));
        let (status, printed) = call(&all, &arguments);
        assert_eq!(status, SUCCESS, "{overlays:?}: {printed}");
        assert!(printed.contains("verified"), "{overlays:?}: {printed}");
    }
    let (status, printed) = call(&all, &["check", "eight", "hotspot", "--with", "dka", "--with", "governed"]);
    let why = "`allocator` comes with `dka` of `policy`, which is `governed`";
    assert!(status != SUCCESS && printed.contains(why), "{printed}");
}

#[test]
fn every_application_of_the_tree_runs_without_a_paper() {
    let (status, list) = call(&[], &["list", "applications"]);
    assert_eq!(status, SUCCESS, "{list}");
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 60, "{list}");
    for name in names {
        let out = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let folder = out.path().display().to_string();
        let machine = if name.ends_with("two-devices") { "two-gpus" } else { "tiny" };
        let arguments = ["run", machine, name, "--functional", "--set", "app.size=small", "--out", &folder];
        let (status, printed) = call(&[], &arguments);
        assert_eq!(status, SUCCESS, "{name}: {printed}");
    }
}
