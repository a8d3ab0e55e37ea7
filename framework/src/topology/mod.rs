//! From YAML to a machine, one pass a file, each with one input and one output:
//! `source` (files to trees), `module` and `overlay` (trees to parts), `patch` (additions and replacements of
//! overlays, into the others), `expand` with `overrides`, `clocks`, `wire` and `medium` (parts to a flat
//! list), `check` with `faults` (a flat list to a [`Machine`]), `build` (a machine to one that runs);
//! `resolve`, `explain`, `language` and `schema` print, from `keys`. Every pass reports all it finds; only a
//! load without a problem is a machine.

mod build;
mod check;
mod clocks;
mod expand;
mod explain;
pub mod expression;
mod faults;
mod keys;
mod language;
mod machine;
mod medium;
mod module;
mod number;
mod overlay;
mod overrides;
mod parameter_types;
mod patch;
pub mod picture;
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
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// The texts.
    pub sources: SourceMap,
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
        check::check(&flat, catalogue, &mut diagnostics)
    });
    match machine {
        Some(machine) if diagnostics.is_empty() => Ok(Loaded { machine, sources }),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}
