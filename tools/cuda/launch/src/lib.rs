//! Runs a CUDA program on the runtime library of Counterpoint, and makes an application of it.
//!
//! [`install`] puts the library where programs find it, [`inspect`] looks at what a program needs, and [`run`] runs one and has its
//! application written. [`serve`] is for a program that something else has started.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

mod library;
mod program;
mod run;
mod service;

pub use counterpoint_cuda_capture::HostTime;
pub use library::{cached, install};
pub use program::{Needs, inspect};
pub use run::{Captured, Ended, Request, RunError, run};
pub use service::serve;
