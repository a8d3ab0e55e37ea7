//! The record of a CUDA program, and the application that it becomes.
//!
//! The server of `tools/cuda/runtime` writes a record of every call as the program runs: a line of JSON each, beside a file
//! with the bytes of its copies. So what a program has done is there even where it crashes. When it has ended, the command reads
//! the record and writes an application.

mod application;
mod bound;
mod buffers;
mod fold;
mod journal;
mod paths;
mod record;
mod streams;
mod text;

pub use application::{Summary, summary, write_application};
pub use journal::{Journal, JournalError, Recorded, read};
pub use record::{Blob, Dim, Elements, Entry, Module, Region, Texels, Way};
