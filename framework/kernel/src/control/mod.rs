//! Runs of a machine: to its end, or under the control of a caller who holds it.

pub(crate) mod held;
pub(crate) mod run;
