//! Processes and their waits: the part of the kernel that a component reaches besides its ports.
//!
//! A process belongs to a clock domain of an island. A sleeping process is a number in a set of its domain, which wakes it at an
//! edge of its clock. The hash of a process, its fault and its reasons in a run that hangs are here too.

pub(crate) mod domain;
pub(crate) mod fault;
pub(crate) mod hang_reasons;
pub(crate) mod hash;
pub(crate) mod island_state;
pub(crate) mod local;
pub(crate) mod queue;
#[cfg(test)]
pub(crate) mod random;
mod sleepers;
pub(crate) mod state;
pub(crate) mod tried;
pub(crate) mod wake_registration;
mod wheel;
