//! Search for the files of a simulation, and their reading from disk or from the program itself.
//!
//! A name is looked for in this order: as the path of a file; in the folder of the file that names it; in the working directory and the
//! folders above it, in the folders of its sort (`topologies/systems/NAME.yaml`); in the folders of `COUNTERPOINT_PATH`, also in the
//! folders that extensions use (`machines/NAME.yaml`); and among the files that the program carries, those of extensions first. A user's
//! file thus replaces a built-in file of the same name.

mod built_in;
mod cache;
mod explain;
mod files;
mod head;
mod project;
mod sort;

pub use built_in::{BUILT_IN, BuiltIn};
pub use cache::CACHE_VARIABLE;
pub use explain::explain;
pub(crate) use files::reason;
pub use files::{Files, Found, RealFiles};
pub use head::Head;
pub use project::{PATH_VARIABLE, ProjectFiles};
pub use sort::Sort;

use std::path::Path;

use counterpoint_framework::model::Registry;

/// The names that can be found from a folder, in order.
pub fn list(sort: Sort, start: &Path, registry: &Registry) -> Vec<String> {
    ProjectFiles::new(start, registry).list(sort).into_keys().collect()
}

#[cfg(test)]
mod tests;
