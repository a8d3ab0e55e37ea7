//! Runs a CUDA program on the runtime library of Counterpoint, and makes an application of it.
//!
//! [`install`] puts the library where programs find it, [`inspect`] determines the needs of a program, and [`run`] runs a program
//! and writes its application. [`serve`] serves a program that another process has started.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

mod library;
mod program;
mod run;
mod service;

pub use counterpoint_cuda_capture::{Entry, HostTime, Machine, Memory, Region, Way};
pub use library::{cached, install};
pub use program::{Needs, inspect};
pub use run::{Captured, Ended, Request, RunError, run, run_on};
pub use service::serve;
