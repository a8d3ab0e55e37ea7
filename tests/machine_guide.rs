//! `topologies/README.md`: every file that it shows is a machine, a module or an overlay, and every run of its command lines is verified.

use std::path::Path;

use counterpoint_simulation::registry_with;
use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, request, root, run_with};

/// The files that the page shows, by the comments at their beginnings.
fn files(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.map(|block| block.strip_prefix("# ").unwrap().split_once('\n').unwrap()).collect()
}

/// The run that a command line asks for.
fn run_of(line: &str, folder: &Path) -> Option<RunRequest> {
    let line = line.strip_prefix("counterpoint run ")?.split(" #").next()?;
    let quoted = line.split('"').enumerate().map(|(index, part)| match index % 2 {
        0 => part.to_owned(),
        _ => part.replace(' ', "\u{a0}"),
    });
    let words: Vec<String> =
        quoted.collect::<String>().split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let [machine, application, options @ ..] = &words[..] else { panic!("{line}") };
    let mut run = RunRequest { folder: folder.to_owned(), ..request(machine, application, &[]) };
    for option in options.chunks(2) {
        match option {
            ["--set", set] => run.sets.push((*set).to_owned()),
            ["--with", overlay] => run.overlays.push((*overlay).to_owned()),
            ["--threads", threads] => run.threads = threads.parse().unwrap(),
            other => panic!("{other:?}"),
        }
    }
    Some(run)
}

#[test]
fn every_run_of_the_guide_is_verified() {
    let page = std::fs::read_to_string(root().join("topologies/README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = files(&page);
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "step-1.yaml",
            "step-2.yaml",
            "gpu.yaml",
            "step-4.yaml",
            "step-5.yaml",
            "retimed.yaml",
            "step-7.yaml",
            "small-l1.yaml",
            "clustered.yaml",
            "step-8.yaml",
            "meshed.yaml"
        ]
    );
    let mut runs: Vec<RunRequest> = page.lines().filter_map(|line| run_of(line, folder.path())).collect();
    runs.push(RunRequest { folder: folder.path().to_owned(), ..request("step-2.yaml", "vecadd", &[]) });
    for machine in names.iter().filter(|name| name.starts_with("step")) {
        assert!(runs.iter().any(|run| run.machine == *machine), "{machine}");
    }
    for run in runs {
        assert_verified(&run_with(&run, registry_with(&[counterpoint_library::register])));
    }
}
