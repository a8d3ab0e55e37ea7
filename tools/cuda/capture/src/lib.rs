//! The record of a CUDA program, and the application that it becomes.
//!
//! The server of `tools/cuda/runtime` writes a record of every call as the program runs: a line of JSON each, beside a file with
//! the bytes of its copies. The record thus survives a crash of the program. When it has ended, the command reads the record and
//! writes an application.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

mod application;
mod bound;
mod buffers;
mod expectations;
mod fold;
mod held;
mod journal;
mod machine;
mod paths;
mod phases;
mod ranges;
mod record;
mod rules;
mod store;
mod streams;
mod summary;
mod text;
mod waits;

pub use application::{HostTime, write_application};
pub use journal::{Journal, JournalError, Recorded, read};
pub use machine::{Machine, Memory};
pub use record::{Blob, Dim, Elements, Entry, Module, Region, Texels, Way};
pub use summary::{Summary, summary};
