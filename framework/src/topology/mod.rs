//! From YAML to a machine, one pass a file, each with one input and one output:
//! `source` (files to trees), `module` and `overlay` (trees to parts), `patch` (additions and replacements of
//! overlays, into the others), `expand` with `layers` (overlays of single parts), `overrides`, `clocks`, `wire` and
//! `medium` (parts to the list of `flat`), `check` with `faults` (a flat list to a [`Machine`]), `build` (a machine to one
//! that runs); `remarks` looks for overlays that overwrite others; `resolve`, `explain`, `language` and `schema` print,
//! from `keys`. Every pass reports all it finds; only a load without a problem is a machine.

mod build;
mod check;
mod clocks;
mod expand;
mod explain;
pub mod expression;
mod faults;
mod flat;
mod keys;
mod language;
mod layers;
mod machine;
mod medium;
mod module;
mod number;
mod overlay;
mod overrides;
mod parameter_types;
mod patch;
pub mod picture;
mod remarks;
mod resolve;
mod schema;
mod settable;
mod source;
mod wire;

pub use crate::telemetry::natural;
pub use build::{RunReport, build, run, statistics};
pub use explain::{explain, explain_file, explain_variant, first_sentence};
pub use language::{TOPICS, explain_language};
pub use machine::{Endpoint, Follows, Instance, Link, Machine, Origin};
pub use resolve::{flow, resolve, resolve_plain};
pub use schema::{schema, schema_of_file};
pub use source::{COMMAND_LINE, Disk, Files, Missing, beside, endless};

use crate::model::{Catalogue, Diagnostics, Report, SourceMap};

/// A machine with the texts that it was read from, which later problems may want to point into.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// The texts.
    pub sources: SourceMap,
    /// Remarks on parts that are valid and may not be intended.
    pub remarks: Vec<String>,
}

/// Loads a machine file with overlay files and settings `path=value` applied, the last one winning.
///
/// # Errors
/// Everything that is wrong with the files, at once and by place.
pub fn load(
    path: &str,
    overlays: &[String],
    sets: &[String],
    catalogue: &Catalogue,
    files: &dyn Files,
) -> Result<Loaded, Report> {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let read = source::read(path, overlays, sets, files, &mut sources, &mut diagnostics);
    let machine = read.map(|read| {
        let parts = patch::merge(&read, &mut diagnostics);
        let flat = expand::expand(&parts, catalogue, &mut diagnostics);
        let machine = check::check(&flat, catalogue, &mut diagnostics);
        (machine, remarks::remarks(&read, &parts, &sources))
    });
    match machine {
        Some((machine, remarks)) if diagnostics.is_empty() => Ok(Loaded { machine, sources, remarks }),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}
