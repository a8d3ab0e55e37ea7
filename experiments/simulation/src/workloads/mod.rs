//! Workloads of applications: generated inputs, synthetic kernels, reference implementations, and the
//! comparison with them.
//!
//! Nothing here reads a file or knows a machine.

pub(crate) mod des;
pub mod element;
pub mod generate;
pub mod references;
pub(crate) mod suffix_tree;
pub mod synthetic;
pub mod verify;
