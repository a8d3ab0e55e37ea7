//! The files that a run is made of, with overlays, settings and shorthands applied.

use counterpoint_framework::model::Registry;
use counterpoint_framework::topology::{self, Disk, Loaded};

use super::{RunError, RunRequest};
use crate::application::{self, LoadedApplication, RealFiles, SETTING_PREFIX};
use crate::find::{Sort, find};

/// Loads the machine of a request, with overlays, settings and shorthands applied.
pub fn load_machine(request: &RunRequest, registry: &Registry) -> Result<Loaded, RunError> {
    let path = find(Sort::Machine, &request.machine, &request.folder, registry).map_err(RunError::Usage)?;
    let mut overlays = Vec::new();
    for overlay in &request.overlays {
        overlays.push(find(Sort::Overlay, overlay, &request.folder, registry).map_err(RunError::Usage)?);
    }
    let (own, _) = split(&request.sets);
    let load = |sets: &[String]| topology::load(&path, &overlays, sets, &registry.catalogue, &Disk);
    let loaded = load(&own)?;
    let shorthands =
        [(&request.runtime, "host/cpu", "runtime"), (&request.policy, "gpu/cta-scheduler", "policy")];
    let mut sets = Vec::new();
    for (value, kind, parameter) in shorthands {
        let Some(value) = value else { continue };
        let places = loaded.machine.instances.iter().filter(|instance| instance.kind == kind);
        let before = sets.len();
        sets.extend(places.map(|instance| format!("{}.{parameter}={value}", instance.path)));
        if sets.len() == before {
            return Err(RunError::Usage(format!(
                "--{parameter}: the machine has no component of kind {kind}"
            )));
        }
    }
    if sets.is_empty() {
        return Ok(loaded);
    }
    // What was set by its full path wins over a shorthand.
    sets.extend(own);
    Ok(load(&sets)?)
}

/// Loads the application of a request.
pub fn load_application(
    request: &RunRequest,
    registry: &Registry,
) -> Result<(String, LoadedApplication), RunError> {
    let path =
        find(Sort::Application, &request.application, &request.folder, registry).map_err(RunError::Usage)?;
    let (_, sets) = split(&request.sets);
    let loaded = application::load(&path, &sets, &RealFiles, registry)?;
    Ok((path, loaded))
}

/// The settings of the machine, and those of the application.
fn split(sets: &[String]) -> (Vec<String>, Vec<String>) {
    sets.iter().cloned().partition(|set| !set.trim_start().starts_with(SETTING_PREFIX))
}

/// Loads both files; the problems of both are reported together.
pub(super) fn load(
    request: &RunRequest,
    registry: &Registry,
) -> Result<(Loaded, String, LoadedApplication), Vec<RunError>> {
    match (load_machine(request, registry), load_application(request, registry)) {
        (Ok(machine), Ok((path, application))) => Ok((machine, path, application)),
        (machine, application) => Err(machine.err().into_iter().chain(application.err()).collect()),
    }
}
