//! Runs of a machine: to the end, or under the control of a caller that holds and resumes the run.

pub(crate) mod held;
pub(crate) mod run;
