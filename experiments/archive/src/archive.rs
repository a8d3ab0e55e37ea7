//! An archive in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The beginning of every archive.
pub(crate) const MAGIC: &[u8] = b"archive of files by LZ4\n";

/// Files in memory, by name: paths with `/` between their parts. A file is unpacked when it is read.
#[derive(Clone, Debug)]
pub struct Archive {
    bytes: Cow<'static, [u8]>,
    /// The place of each file's packed contents.
    files: BTreeMap<String, Range<usize>>,
}

impl Archive {
    /// The archive of a file.
    ///
    /// # Errors
    /// If the file cannot be read or is no archive; the error names it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        std::fs::read(path).and_then(Archive::new).map_err(named)
    }

    /// The archive of what [`pack`](crate::pack()) or [`archive`](crate::archive()) wrote.
    ///
    /// # Errors
    /// If the bytes are no archive.
    pub fn new(bytes: impl Into<Cow<'static, [u8]>>) -> io::Result<Self> {
        let bytes = bytes.into();
        let files = index(&bytes).ok_or_else(|| io::Error::other("these bytes are no archive"))?;
        Ok(Archive { bytes, files })
    }

    /// The names of all files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// If there is none of this name, or its contents are damaged.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let place = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        lz4_flex::decompress_size_prepended(&self.bytes[place.clone()]).map_err(io::Error::other)
    }
}

/// The places of the files in an archive, each within it: behind the beginning, the number of files, then the name and the packed size of each,
/// then their contents.
fn index(bytes: &[u8]) -> Option<BTreeMap<String, Range<usize>>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut entries = Vec::new();
    for _ in 0..number(&mut rest)? {
        let length = number(&mut rest)?;
        let (name, behind) = rest.split_at_checked(length)?;
        rest = behind;
        entries.push((std::str::from_utf8(name).ok()?.to_owned(), number(&mut rest)?));
    }
    let mut at = bytes.len() - rest.len();
    let mut files = BTreeMap::new();
    for (name, size) in entries {
        let end = at.checked_add(size).filter(|end| *end <= bytes.len())?;
        files.insert(name, at..end);
        at = end;
    }
    Some(files)
}

fn number(bytes: &mut &[u8]) -> Option<usize> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}
