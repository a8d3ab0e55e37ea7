//! The way of a machine through its windows: the cut into islands, their run on threads, and the exchange between threads.
//!
//! A window is no longer than the shortest latency between the islands or threads that it separates. How a machine is cut
//! changes how fast it runs and nothing else.

pub(crate) mod island;
pub(crate) mod options;
mod pace;
pub(crate) mod parallel;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod run_control;
mod shares;
pub(crate) mod worker;
pub(crate) mod worker_pool;
