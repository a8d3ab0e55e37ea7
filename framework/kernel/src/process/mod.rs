//! Processes and their waits: what a component reaches of the kernel besides its ports.
//!
//! A process belongs to a clock domain of an island. It sleeps there as a number in a set, and its domain wakes it at an edge of
//! its clock. What it says of itself, which is its hash, its fault and its reasons in a run that hangs, is here too.

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
