//! Studies: a matrix of machines, applications, runs, settings and seeds; columns computed from it; figures.
//!
//! A study is a file. [`load`] reads it, [`engine::run_points`] runs its points side by side and keeps each in the [`store`];
//! [`table::Results`] has their values, from which [`chart`] makes figures and [`report`] a page.

pub mod chart;
pub mod engine;
mod file;
pub mod growth;
pub mod index;
pub mod part;
mod paths;
mod plan;
pub mod program;
pub mod report;
pub mod slurm;
pub mod speed;
pub mod status;
pub mod store;
pub mod table;
pub mod values;

use counterpoint_framework::model::{Params, Registry};
use counterpoint_framework::topology;

use file::StudyFile;
pub use file::{FigureFile, Mean, Paper};
pub use plan::{Chosen, Point, Study, load};

/// The keys of a study file and the values of its points, for `counterpoint explain study`.
pub fn explain(registry: &Registry) -> String {
    let mut out = topology::explain_file(
        "study",
        "A study runs every combination of its machines, applications, varied settings, seeds and runs. A finished point is \
         kept under the hash of all that it depends on, and is not run again.",
        &StudyFile::fields(),
    );
    out.push_str("\nValues\n");
    for known in values::KnownValues::of(registry).iter() {
        out.push_str(&format!("  {} ({})\n", known.name, known.unit));
    }
    out
}

/// The JSON Schema of study files, for editors.
pub fn schema() -> serde_json::Value {
    topology::schema_of_file("Counterpoint study", &StudyFile::fields())
}
