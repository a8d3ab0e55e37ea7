//! Files of a crate as one compressed archive in the program: its build script calls [`pack()`], the program reads an [`Archive`].
//!
//! Each file is compressed by itself by LZ4, so that a run unpacks the few that it reads. Equal files give equal archives.

mod archive;
mod pack;

pub use archive::Archive;
pub use pack::{ARCHIVE, PACKED, archive, pack, packed};
