//! Runs: an application on a machine, its verification and its summary.

#[doc(inline)]
pub use counterpoint_simulation::launches::{LaunchTime, attribute, is_launch};
#[doc(inline)]
pub use counterpoint_simulation::run::{
    Cause, Check, Progress, RunError, RunErrors, RunRequest, RunSummary, Simulation, load_application,
    load_machine, run, run_watched, start,
};
#[doc(inline)]
pub use counterpoint_simulation::run_value::RunValue;
#[doc(inline)]
pub use counterpoint_simulation::summary::Phase;
#[doc(inline)]
pub use counterpoint_simulation::{registry, registry_with};
