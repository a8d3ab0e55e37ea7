//! Ports and the links between them: messages one way, credits the other, on one thread or between two.
//!
//! A process takes its ports from the wiring when it starts. It knows neither the process at the other end of a link nor its
//! thread.

mod credits;
pub(crate) mod ends;
pub(crate) mod inputs;
pub(crate) mod link;
pub(crate) mod port;
pub(crate) mod remote;
mod ring;
pub(crate) mod watch;
pub(crate) mod wiring;
