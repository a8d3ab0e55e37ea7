//! The folder of a run, read again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use counterpoint_framework::model::{Diagnostics, Node, Report, SourceMap, yaml};
use counterpoint_simulation::output::{EXPOSURE, MACHINE, MANIFEST, STATS_CSV};
use counterpoint_simulation::verify::fnv64;

use crate::recorded::{ExposedSpan, Statistic, exposure, statistics};

/// The parts of a run that a comparison needs.
pub(super) struct RunFolder {
    pub(super) manifest: Node,
    pub(super) machine: Node,
    /// Output of the application: by name, the hash of each file that is still there.
    pub(super) outputs: BTreeMap<String, String>,
    /// Records of the run; missing where the run reports that a hanging component kept them.
    pub(super) records: Option<Records>,
}

pub(super) struct Records {
    pub(super) statistics: Vec<Statistic>,
    pub(super) exposed: Vec<ExposedSpan>,
}

impl RunFolder {
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let manifest = tree(&folder.join(MANIFEST))?;
        let known = ["application", "machine", "outcome", "seed"];
        if let Some(lacking) = known.into_iter().find(|key| manifest.get(key).is_none()) {
            let place = folder.join(MANIFEST);
            return Err(format!("`{}` is not the manifest of a run: it has no `{lacking}`", place.display()));
        }
        let missing = |name: &str| {
            let names = manifest.get("missing").and_then(Node::as_list).unwrap_or_default();
            names.iter().any(|one| one.as_scalar() == Some(name))
        };
        let records = match missing(STATS_CSV) || missing(EXPOSURE) {
            true => None,
            false => Some(Records { statistics: statistics(folder)?, exposed: exposure(folder)? }),
        };
        let outputs = outputs(folder, &manifest)?;
        Ok(RunFolder { machine: tree(&folder.join(MACHINE))?, manifest, outputs, records })
    }
}

/// The hashes of the application's files.
fn outputs(folder: &Path, manifest: &Node) -> Result<BTreeMap<String, String>, String> {
    let mut hashes = BTreeMap::new();
    let names = manifest.get("outputs").and_then(Node::as_list).unwrap_or_default();
    for name in names.iter().filter_map(Node::as_scalar) {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(contents) => {
                hashes.insert(format!("contents of {name}"), format!("{:016x}", fnv64(&contents)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read `{}`: {error}", path.display())),
        }
    }
    Ok(hashes)
}

/// A file as a tree; it must be a map.
fn tree(path: &Path) -> Result<Node, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
    let source = sources.add(path.to_string_lossy(), text);
    let node = yaml::parse(source, &sources, &mut diagnostics);
    match node.filter(|node| diagnostics.is_empty() && node.as_map().is_some_and(|map| !map.is_empty())) {
        Some(node) => Ok(node),
        None if diagnostics.is_empty() => Err(format!("`{}` is damaged: it is not a map", path.display())),
        None => {
            let report = Report::new(&diagnostics, sources);
            Err(format!("`{}` is damaged:\n{}", path.display(), report.render().trim_end()))
        }
    }
}
