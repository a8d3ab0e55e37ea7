//! Loading of a run's files, with overlays, settings and shorthands applied.

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_framework::model::{Registry, Report};
use counterpoint_framework::topology::{self, Loaded};
use counterpoint_host_model::program::{Application, Buffer, Stream};
use counterpoint_protocols::roles;

use super::coherence;
use super::{RunError, RunErrors, RunRequest};
use crate::application::{self, LoadedApplication, SEPARATOR, SETTING_PREFIX};
use crate::find::{ProjectFiles, Sort};

/// Loads the machine of a request, with overlays, settings and shorthands applied.
pub fn load_machine(request: &RunRequest, registry: &Registry) -> Result<Loaded, RunError> {
    machine_for(request, false, registry)
}

/// Loads the machine of a request. Where several applications run together and nothing chooses a runtime, hosts have `streams`.
fn machine_for(request: &RunRequest, co_run: bool, registry: &Registry) -> Result<Loaded, RunError> {
    let files = ProjectFiles::new(&request.folder, registry);
    let find =
        |sort, name: &str| files.find(sort, name).map_err(|missing| RunError::Usage(missing.to_string()));
    let path = find(Sort::Machine, &request.machine)?;
    let overlays: Vec<String> =
        request.overlays.iter().map(|overlay| find(Sort::Overlay, overlay)).collect::<Result<_, _>>()?;
    let (own, _) = split(&request.sets);
    let load = |sets: &[String]| {
        let mut loaded = topology::load(&path, &overlays, sets, &registry.catalogue, &files)?;
        loaded.remarks.extend(coherence::remarks(&loaded.machine));
        Ok::<_, Report>(loaded)
    };
    let loaded = load(&own)?;
    let shorthands =
        [(&request.runtime, roles::HOST, "runtime"), (&request.policy, roles::CTA_SCHEDULER, "policy")];
    let (mut sets, mut names) = (Vec::new(), BTreeMap::new());
    if co_run && request.runtime.is_none() {
        let hosts = loaded.machine.instances.iter().filter(|one| one.role == roles::HOST);
        let serial =
            hosts.filter(|one| one.params.get("runtime").is_none_or(|it| it.as_scalar() == Some("serial")));
        sets.extend(serial.map(|host| format!("{}.runtime=streams", host.path)));
    }
    for (value, role, parameter) in shorthands {
        let Some(value) = value else { continue };
        let places = loaded.machine.instances.iter().filter(|instance| instance.role == role);
        let before = sets.len();
        sets.extend(places.map(|instance| format!("{}.{parameter}={value}", instance.path)));
        names.extend(sets[before..].iter().map(|set| (set.clone(), format!("--{parameter} {value}"))));
        if sets.len() == before {
            return Err(RunError::Usage(format!("--{parameter}: the machine has no {role}")));
        }
    }
    if sets.is_empty() {
        return Ok(loaded);
    }
    // A setting by its full path wins over a shorthand.
    sets.extend(own);
    load(&sets).map_err(|mut report| {
        report.sources.rename(&names);
        report.into()
    })
}

/// Loads the application of a request, or those that run together.
pub fn load_application(
    request: &RunRequest,
    registry: &Registry,
) -> Result<(String, LoadedApplication), RunError> {
    let (_, sets) = split(&request.sets);
    let files = ProjectFiles::new(&request.folder, registry);
    let find = |name: &str| {
        files.find(Sort::Application, name).map_err(|missing| RunError::Usage(missing.to_string()))
    };
    let names: Vec<&str> = request.application.split(SEPARATOR).map(str::trim).collect();
    let [_, _, ..] = names[..] else {
        let path = find(&request.application)?;
        let loaded = application::load(&path, &sets, &files, registry)?;
        return Ok((path, loaded));
    };
    let mut guests: Vec<(String, String)> = Vec::new();
    for name in names {
        let path = find(name)?;
        let stem = Path::new(name).file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.to_string()).chain(numbered);
        let is_free = |name: &String| guests.iter().all(|(other, _)| other != name);
        let own = names.find(is_free).unwrap_or_default();
        guests.push((own, path));
    }
    let loaded = application::load_co_run(&guests, &sets, &files, registry)?;
    let paths: Vec<&str> = guests.iter().map(|(_, path)| path.as_str()).collect();
    Ok((paths.join(SEPARATOR), loaded))
}

/// The application of a program that runs beside the simulation: it has nothing yet, on the first device.
fn beside(name: &str) -> LoadedApplication {
    let application = Application {
        name: name.to_owned(),
        buffers: vec![Buffer { name: "nothing".to_owned(), ..Buffer::default() }],
        streams: vec![Stream::default_of_all()],
        ..Application::default()
    };
    LoadedApplication { application, ..LoadedApplication::default() }
}

/// The settings of the machine, and those of the application.
fn split(sets: &[String]) -> (Vec<String>, Vec<String>) {
    sets.iter().cloned().partition(|set| !set.trim_start().starts_with(SETTING_PREFIX))
}

/// Loads both files; the problems of both are reported together.
pub(super) fn load(
    request: &RunRequest,
    registry: &Registry,
) -> Result<(Loaded, String, LoadedApplication), RunErrors> {
    let application = match request.live {
        Some(_) => Ok((request.application.clone(), beside(&request.application))),
        None => load_application(request, registry),
    };
    let co_run = application.as_ref().is_ok_and(|(_, loaded)| !loaded.parts.is_empty());
    match (machine_for(request, co_run, registry), application) {
        (Ok(machine), Ok((path, application))) => Ok((machine, path, application)),
        (machine, application) => Err(machine.err().into_iter().chain(application.err()).collect()),
    }
}
