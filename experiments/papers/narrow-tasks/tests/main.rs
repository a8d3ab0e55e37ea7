//! Pagoda and its competitors: every way to run tasks computes the right results, and the facts that the
//! papers state hold. One binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod irregular;
mod master_kernel;
mod measured;
mod model_costs;
mod page;
mod pagoda;
mod refused;
mod rivals;
mod streams;
mod studies;
mod super_kernel_timing;
mod task_functions;
mod task_table;
mod throughput_model;
mod throughput_timing;
mod trends;

use counterpoint::component::Registry;
use counterpoint::run::{RunRequest, RunSummary, registry_with};
use counterpoint_tests::support::{attempt_with, run_with};

/// A machine whose SMs are replaced by the model of throughput.
const MODEL: &str = "titanx-maxwell-model";
/// The same machine with stepped SMs.
const STEPPED: &str = "titanx-maxwell";

/// The common registry, and this crate.
fn registry() -> Registry {
    registry_with(&[counterpoint_narrow_tasks::register])
}

fn run_request(request: &RunRequest) -> RunSummary {
    run_with(request, registry())
}

/// Runs, or says why the run does not begin.
fn attempt(request: &RunRequest) -> Result<RunSummary, String> {
    attempt_with(request, registry())
}

/// The reason why a run does not begin.
fn refusal(request: &RunRequest) -> String {
    match attempt(request) {
        Ok(summary) => panic!("it began, and {}", summary.ending()),
        Err(errors) => errors,
    }
}
