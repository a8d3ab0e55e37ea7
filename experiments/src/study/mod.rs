//! Studies: a matrix of machines, applications, runs, settings and seeds; what is reckoned from it; figures.
//!
//! A study is a file. [`load`] reads it, [`engine::run_points`] runs its points side by side and keeps each in the [`store`], and
//! [`table::Results`] has their values, from which [`crate::report`] draws.

pub mod engine;
mod file;
pub mod index;
mod plan;
pub mod store;
pub mod table;
pub mod values;

pub use file::{FigureFile, FigureKind, Mean, Paper};
pub use plan::{Point, Study, find, load};

/// The keys of a study file, as `counterpoint explain study` prints them.
pub fn fields() -> Vec<counterpoint_framework::model::Field> {
    <file::StudyFile as counterpoint_framework::model::Params>::fields()
}
