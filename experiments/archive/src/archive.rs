//! An archive in memory.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};

use zip::ZipArchive;

/// Files in memory, by name: paths with `/` between their parts.
#[derive(Clone, Debug)]
pub struct Archive(ZipArchive<Cursor<&'static [u8]>>);

impl Archive {
    /// The archive of what [`pack`](crate::pack()) wrote.
    ///
    /// # Errors
    /// If the bytes are no archive.
    pub fn new(bytes: &'static [u8]) -> io::Result<Self> {
        ZipArchive::new(Cursor::new(bytes)).map(Archive).map_err(io::Error::other)
    }

    /// The names of all files.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        // They are UTF-8, as `pack` writes them.
        self.0.file_names().filter_map(Result::ok)
    }

    /// Whether there is a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.index_for_name(name).is_some()
    }

    /// The contents of a file; nothing if there is none of this name.
    ///
    /// # Errors
    /// If the archive is damaged.
    pub fn read(&self, name: &str) -> Option<io::Result<Vec<u8>>> {
        let index = self.0.index_for_name(name)?;
        // The table of contents is shared by clones; a reader of one's own has a place in the bytes.
        let mut own = self.0.clone();
        let mut read = || {
            let mut file = own.by_index(index).map_err(io::Error::other)?;
            let mut contents = Vec::new();
            file.read_to_end(&mut contents)?;
            Ok(contents)
        };
        Some(read())
    }
}
