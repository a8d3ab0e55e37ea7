//! The common part of the system tests: runs by name, and small machines made from the real ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use counterpoint_archive::Archive;
use counterpoint_framework::kernel::Sharing;
use counterpoint_framework::model::Registry;
use counterpoint_framework::topology::Machine;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{Progress, RunRequest, RunSummary, load_machine, run};
use counterpoint_simulation::verify::Verdict;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above").to_owned()
}

/// A run of a named application on a named machine.
pub fn request(machine: &str, application: &str, sets: &[&str]) -> RunRequest {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    // A test that asks for threads is about them.
    let sharing = Sharing::Always;
    RunRequest { folder: root(), sets, sharing, ..RunRequest::new(machine, application) }
}

/// The kernels of the applications in other dialects than their own.
pub static CORPUS: LazyLock<Archive> = LazyLock::new(|| modules("corpus"));

/// The packed modules of a folder beside this file.
pub fn modules(folder: &str) -> Archive {
    Archive::open(&root().join("tests").join(folder).join("modules.archive")).expect("a committed archive")
}

/// The kernels of an application in a dialect, if there are any: beside it, or in the corpus.
pub fn kernels(application: &str, dialect: &str) -> Option<Vec<u8>> {
    let file = format!("{application}/kernel.{dialect}.ptx");
    let beside = std::fs::read(root().join("experiments/applications").join(&file));
    beside.or_else(|_| CORPUS.read(&file)).ok()
}

/// A named machine with overlays and settings, from a registry.
pub fn machine(name: &str, overlays: &[&str], sets: &[&str], registry: &Registry) -> Machine {
    let overlays = overlays.iter().map(|overlay| (*overlay).to_owned()).collect();
    load_machine(&RunRequest { overlays, ..request(name, "", sets) }, registry).unwrap().machine
}

/// A copy, in a folder of one's own, of a named application whose kernels are in another dialect; the result is its path.
pub fn in_dialect(folder: &Path, application: &str, dialect: &str) -> String {
    let source = root().join("experiments/applications").join(application);
    let text = std::fs::read_to_string(source.join(format!("{application}.yaml"))).unwrap();
    let kernel = format!("{application}.{dialect}.ptx");
    assert!(text.contains("kernel.nvrtc-sm_35.ptx"), "{application} has another dialect by itself");
    std::fs::write(folder.join(&kernel), kernels(application, dialect).expect("a dialect")).unwrap();
    let path = folder.join(format!("{application}-{dialect}.yaml"));
    std::fs::write(&path, text.replace("kernel.nvrtc-sm_35.ptx", &kernel)).unwrap();
    path.display().to_string()
}

/// A copy of a named application in a folder of its own, so that its generated inputs stay there; the result is its path.
pub fn application(folder: &Path, name: &str) -> String {
    let from = root().join("experiments/applications").join(name);
    for file in [format!("{name}.yaml"), "kernel.nvrtc-sm_35.ptx".to_owned()] {
        std::fs::copy(from.join(&file), folder.join(&file)).expect("a copy");
    }
    folder.join(format!("{name}.yaml")).to_string_lossy().into_owned()
}

/// Runs with the common registry.
pub fn run_request(request: &RunRequest) -> RunSummary {
    run_with(request, registry())
}

/// Runs with components, policies and runtimes of one's own.
pub fn run_with(request: &RunRequest, registry: Registry) -> RunSummary {
    attempt_with(request, registry).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Runs with the common registry, or gives the reason why the run does not begin.
pub fn attempt(request: &RunRequest) -> Result<RunSummary, String> {
    attempt_with(request, registry())
}

/// Runs a request with the components, policies and runtimes of `registry`.
pub fn attempt_with(request: &RunRequest, registry: Registry) -> Result<RunSummary, String> {
    run(request, &Arc::new(registry), &Progress::default()).map_err(|errors| errors.to_string())
}

/// The reason why a run does not begin.
pub fn refusal(request: &RunRequest) -> String {
    match attempt(request) {
        Ok(summary) => panic!("it began, and {}", summary.ending()),
        Err(errors) => errors,
    }
}

/// Asserts that the run finished and computed the right results.
#[track_caller]
pub fn assert_verified(summary: &RunSummary) {
    assert!(!summary.checks.is_empty(), "nothing was compared");
    for check in &summary.checks {
        assert!(
            check.verdict.is_verified(),
            "{}: {}; {}",
            check.buffer,
            check.verdict,
            summary.report.outcome
        );
    }
    assert!(summary.is_good(), "{}", summary.report.outcome);
}

/// Asserts that the run finished with wrong values, and says which was the first.
#[track_caller]
pub fn assert_wrong(summary: &RunSummary) -> u64 {
    assert!(!summary.partial && !summary.is_good(), "{}", summary.report.outcome);
    let first = summary.checks.iter().find_map(|check| match &check.verdict {
        Verdict::Differs(difference) => Some(difference.index),
        _ => None,
    });
    first.expect("the first element that differs is named")
}
