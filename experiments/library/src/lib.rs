//! The files that belong to no paper, in the program: machines with their modules, generations and overlays, applications, studies, and
//! the figures that validation compares with.
//!
//! Only programs with users depend on this crate, so that a changed file rebuilds no other crate. Papers carry their own files.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

use counterpoint_framework::model::Registry;
use counterpoint_simulation::built_in;

/// Registers the files, by their places in the repository.
pub fn register(registry: &mut Registry) {
    registry.add(built_in!(""));
}
