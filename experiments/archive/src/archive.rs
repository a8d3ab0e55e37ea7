//! An archive in memory.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Files in memory, by name: paths with `/` between their parts.
#[derive(Clone, Debug)]
pub struct Archive {
    contents: Vec<u8>,
    files: BTreeMap<String, Range<usize>>,
}

impl Archive {
    /// The archive of a file.
    ///
    /// # Errors
    /// If the file cannot be read or is no archive; the error names it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        std::fs::read(path).and_then(|bytes| Archive::new(&bytes)).map_err(named)
    }

    /// The archive of what [`pack`](crate::pack()) or [`archive`](crate::archive()) wrote.
    ///
    /// # Errors
    /// If the bytes are no archive.
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        let contents = lz4_flex::decompress_size_prepended(bytes).map_err(io::Error::other)?;
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(&*contents).entries()? {
            let entry = entry?;
            let begin = entry.raw_file_position() as usize;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            files.insert(name, begin..begin + entry.size() as usize);
        }
        Ok(Archive { contents, files })
    }

    /// The names of all files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The contents of a file; nothing if there is none of this name.
    pub fn read(&self, name: &str) -> Option<&[u8]> {
        self.contents.get(self.files.get(name)?.clone())
    }
}
