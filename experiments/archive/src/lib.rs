//! Files of a crate as one compressed archive in the program: its build script calls [`pack()`], the program reads an [`Archive`].
//!
//! It is a zip archive, because that has a table of contents and compresses file by file: to read one costs nothing for the others. The
//! same files give the same bytes.

mod archive;
mod pack;

pub use archive::Archive;
pub use pack::{ARCHIVE, PACKED, pack, write};
