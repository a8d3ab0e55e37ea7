//! Execution of a machine in windows: the cut into islands, their run on threads, and the exchange between threads.
//!
//! A window is no longer than the shortest latency between the islands or threads that it separates. The cut of a machine
//! changes its speed and nothing else.

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
