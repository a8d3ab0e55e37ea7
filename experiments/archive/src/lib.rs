//! Files of a crate as one compressed archive in the program: its build script calls [`pack()`], the program reads an [`Archive`].
//!
//! The archive is a `tar` file compressed as a whole by LZ4, and unpacks in a millisecond. Equal files give
//! equal archives.

mod archive;
mod pack;

pub use archive::Archive;
pub use pack::{ARCHIVE, PACKED, archive, pack, packed};
