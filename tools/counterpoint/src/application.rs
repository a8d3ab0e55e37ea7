//! Applications: files that describe a program with its inputs and the results that it must have.
//!
//! An extension brings files along with [`built_in!`], and computes expected results as a [`Reference`].

#[doc(inline)]
pub use counterpoint_simulation::application::{
    Against, Expectation, Files, LoadedApplication, RealFiles, load,
};
#[doc(inline)]
pub use counterpoint_simulation::built_in;
#[doc(inline)]
pub use counterpoint_simulation::find::{BUILT_IN, BuiltIn, ProjectFiles};
#[doc(inline)]
pub use counterpoint_simulation::generate::SplitMix;
#[doc(inline)]
pub use counterpoint_simulation::references::{Reference, ReferenceInput};
#[doc(inline)]
pub use counterpoint_simulation::verify::{Difference, Tolerance, Verdict};

/// Registers the machines, applications and studies of this repository that belong to no paper.
#[cfg(feature = "library")]
#[doc(inline)]
pub use counterpoint_library::register as built_in_files;
