//! Export of a run's spans to Jaeger and similar servers: the service of each component, and the storage of spans that
//! no server accepts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use counterpoint_framework::telemetry::sinks::otlp::{
    Endpoint, Exported, Identity, Options, Outbox, RunTrace, Saved, Scale, Service, Setting, Unshowable,
    save, send,
};
use counterpoint_protocols::roles;

use crate::output::{UNSENT, WriteError, write_whole};
use crate::run::RunSummary;

/// Destination of spans, and their form there.
#[derive(Clone, Debug)]
pub struct Export {
    /// The server.
    pub endpoint: Endpoint,
    /// Factor by which spans are shown longer.
    pub scale: Scale,
    /// Identity of the trace.
    pub identity: Identity,
    /// Time limits and retries of the export.
    pub options: Options,
}

/// Result of an export.
#[derive(Clone, Debug)]
pub struct RunExport {
    /// Spans that arrived, and those that did not.
    pub exported: Exported,
    /// Path of the file with the spans that were not exported, if the run has a folder.
    pub saved: Option<PathBuf>,
}

/// Reason for which no span could be sent, or the remaining spans could not be saved.
#[derive(Debug)]
pub enum ExportError {
    /// The spans do not fit on a calendar.
    Unshowable(Unshowable),
    /// The file for the rest could not be written.
    Write(WriteError),
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExportError::Unshowable(error) => error.fmt(f),
            ExportError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

/// Sends a run's spans. Those that do not arrive are saved in the run's folder.
///
/// # Errors
/// If the spans cannot be shown, or not be saved. An unreachable server is no error: the result contains it.
pub fn export(summary: &RunSummary, export: &Export) -> Result<RunExport, ExportError> {
    let facts = [("sim.machine", &summary.machine), ("sim.application", &summary.application)];
    let setting = Setting {
        identity: export.identity,
        scale: export.scale,
        facts: facts.into_iter().map(|(key, value)| (key, value.clone())).collect(),
    };
    let of_path = |path: &str| service(path, &summary.kinds, &summary.roles);
    let trace =
        RunTrace::new(&summary.report.trace.spans, &setting, &of_path).map_err(ExportError::Unshowable)?;
    let exported = send(&trace, &export.endpoint, &export.options);
    let saved = match &summary.folder {
        Some(folder) if exported.failed > 0 => {
            keep(&trace, &exported, folder.join(UNSENT)).map(Some).map_err(ExportError::Write)?
        }
        _ => None,
    };
    Ok(RunExport { exported, saved })
}

/// Sends spans that were saved. If only a part of the spans arrives, the file then holds the others.
///
/// # Errors
/// If the file could not be written.
pub fn export_saved(
    saved: &Saved,
    path: PathBuf,
    endpoint: &Endpoint,
    options: &Options,
) -> Result<Exported, WriteError> {
    let exported = send(saved, endpoint, options);
    if exported.batches > 0 && exported.failed > 0 {
        keep(saved, &exported, path)?;
    }
    Ok(exported)
}

/// Saves the spans that have not arrived. `path` may be the file that the spans come from: it is replaced only when the
/// new file is complete.
fn keep(outbox: &dyn Outbox, exported: &Exported, path: PathBuf) -> Result<PathBuf, WriteError> {
    let written = write_whole(&path, |out| save(outbox, exported.batches, out));
    written.map_err(|error| WriteError { path: path.clone(), error })?;
    Ok(path)
}

/// Services by role, for components whose kind does not name the service that a reader of the trace expects.
const CLASSES: [(&str, &str); 4] = [
    (roles::PCIE, "pcie"),
    (roles::STORAGE, "storage"),
    // The engine of the device: what it does is the device's part of a copy.
    (roles::COPY_ENGINE, "gpu"),
    (roles::NETWORK, "network"),
];

/// The service of a component: its class by its role, otherwise by the first part of its kind, and which part of the machine it is in.
fn service(path: &str, kinds: &BTreeMap<String, String>, roles: &BTreeMap<String, &'static str>) -> Service {
    let part = path.split('.').next().unwrap_or(path);
    let class = roles.get(path).and_then(|role| CLASSES.iter().find(|(known, _)| known == role));
    let name = match (class, kinds.get(path)) {
        (Some((_, class)), _) => class,
        (None, Some(kind)) => kind.split('/').next().unwrap_or(kind),
        (None, None) => part,
    };
    let instance = if part == name { name.to_owned() } else { format!("{part}.{name}") };
    Service { name: name.to_owned(), instance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_where_a_reader_looks_for_them() {
        let kinds = [
            ("host.cpu", "host/cpu"),
            ("host.memory", "host/memory"),
            ("host.input", "mine/disk"),
            ("pcie", "mine/link"),
            ("gpu.copy", "mine/engine"),
            ("gpu.sm[3]", "gpu/sm"),
            ("gpu.dram[0]", "memory/dram-controller"),
            ("cards[1].gpu.network", "mine/network"),
            ("probe", "mine"),
        ];
        let kinds: BTreeMap<_, _> =
            kinds.into_iter().map(|(path, kind)| (path.to_owned(), kind.to_owned())).collect();
        let roles = [
            ("host.input", roles::STORAGE),
            ("pcie", roles::PCIE),
            ("gpu.copy", roles::COPY_ENGINE),
            ("cards[1].gpu.network", roles::NETWORK),
        ];
        let roles: BTreeMap<_, _> = roles.into_iter().map(|(path, role)| (path.to_owned(), role)).collect();
        let named = |path: &str| {
            let Service { name, instance } = service(path, &kinds, &roles);
            format!("{name} {instance}")
        };
        assert_eq!(named("host.cpu"), "host host");
        assert_eq!(named("host.memory"), "host host");
        assert_eq!(named("host.input"), "storage host.storage");
        assert_eq!(named("pcie"), "pcie pcie");
        assert_eq!(named("gpu.copy"), "gpu gpu");
        assert_eq!(named("gpu.sm[3]"), "gpu gpu");
        assert_eq!(named("gpu.dram[0]"), "memory gpu.memory");
        assert_eq!(named("cards[1].gpu.network"), "network cards[1].network");
        assert_eq!(named("probe"), "mine probe.mine");
        // A link's fault injector has no kind.
        assert_eq!(named("gpu.front.bus!fault"), "gpu gpu");
    }

    #[test]
    fn every_role_of_the_table_is_some_kinds() {
        let registry = crate::registry::registry();
        for (role, _) in CLASSES {
            assert!(registry.catalogue.kinds().any(|kind| kind.role == role), "{role}");
        }
    }
}
