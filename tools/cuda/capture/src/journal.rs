//! The files of a record: entries, and bytes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::record::{Blob, Entry};

/// Name of the file of entries.
const ENTRIES: &str = "record.jsonl";
/// Name of the file of bytes.
const BYTES: &str = "record.bytes";

/// The writer of a record. Every entry reaches the operating system before the call returns, so a program that crashes loses nothing.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    entries: File,
    bytes: File,
    end: u64,
    /// Bytes that are there already, by length and hash.
    known: BTreeMap<(u64, u64), u64>,
    line: Vec<u8>,
}

impl Journal {
    /// Begins a record in a folder.
    ///
    /// # Errors
    /// Its files cannot be made.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let make = |name| {
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(folder.join(name))
        };
        let (entries, bytes) = (make(ENTRIES)?, make(BYTES)?);
        Ok(Journal {
            folder: folder.to_owned(),
            entries,
            bytes,
            end: 0,
            known: BTreeMap::new(),
            line: Vec::new(),
        })
    }

    /// Writes an entry.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, entry)?;
        self.line.push(b'\n');
        self.entries.write_all(&self.line)
    }

    /// Keeps bytes, once if they are there already.
    ///
    /// # Errors
    /// The file can be neither written nor read.
    pub fn keep(&mut self, bytes: &[u8]) -> io::Result<Blob> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let key = (bytes.len() as u64, hasher.finish());
        if let Some(&at) = self.known.get(&key)
            && self.holds(at, bytes)?
        {
            return Ok(Blob { at, bytes: key.0 });
        }
        let at = self.end;
        self.bytes.seek(SeekFrom::Start(at))?;
        self.bytes.write_all(bytes)?;
        self.end += key.0;
        self.known.insert(key, at);
        Ok(Blob { at, bytes: key.0 })
    }

    /// Writes a file of the record, such as a module's text.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        std::fs::write(self.folder.join(name), contents)
    }

    fn holds(&mut self, at: u64, bytes: &[u8]) -> io::Result<bool> {
        self.bytes.seek(SeekFrom::Start(at))?;
        let mut page = [0; 1 << 16];
        for part in bytes.chunks(page.len()) {
            let there = &mut page[..part.len()];
            self.bytes.read_exact(there)?;
            if there != part {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A record that is read.
#[derive(Debug)]
pub struct Recorded {
    /// Its folder.
    pub folder: PathBuf,
    /// Its entries.
    pub entries: Vec<Entry>,
    bytes: File,
}

/// A record that cannot be read.
#[derive(Debug)]
pub enum JournalError {
    /// A file of it.
    File(PathBuf, io::Error),
    /// A line of its entries, counted from 1.
    Line(usize, serde_json::Error),
}

impl std::fmt::Display for JournalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JournalError::File(path, error) => write!(f, "{}: {error}", path.display()),
            JournalError::Line(line, error) => write!(f, "{ENTRIES}:{line}: {error}"),
        }
    }
}

impl std::error::Error for JournalError {}

/// Reads the record in a folder. A last line that is not whole, as of a program that was killed, is left out.
///
/// # Errors
/// Its files cannot be read, or an entry is none.
pub fn read(folder: &Path) -> Result<Recorded, JournalError> {
    let open = |name: &str| {
        let path = folder.join(name);
        File::open(&path).map_err(|error| JournalError::File(path, error))
    };
    let mut lines = BufReader::new(open(ENTRIES)?);
    let mut entries = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = lines.read_until(b'\n', &mut line);
        length.map_err(|error| JournalError::File(folder.join(ENTRIES), error))?;
        if line.last() != Some(&b'\n') {
            break;
        }
        let entry = serde_json::from_slice(&line).map_err(|error| JournalError::Line(number, error))?;
        entries.push(entry);
    }
    Ok(Recorded { folder: folder.to_owned(), entries, bytes: open(BYTES)? })
}

impl Recorded {
    /// The same record with other entries.
    pub(crate) fn with(&self, entries: Vec<Entry>) -> io::Result<Self> {
        Ok(Recorded { folder: self.folder.clone(), entries, bytes: self.bytes.try_clone()? })
    }

    /// Bytes of the record.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn bytes(&self, blob: Blob) -> io::Result<Vec<u8>> {
        let mut file = &self.bytes;
        file.seek(SeekFrom::Start(blob.at))?;
        let mut bytes = vec![0; blob.bytes as usize];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_once_and_a_broken_last_line_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = Journal::create(folder.path()).expect("a record");
        let first = journal.keep(b"abc").expect("room");
        let second = journal.keep(b"abd").expect("room");
        assert_eq!((first, second), (Blob { at: 0, bytes: 3 }, Blob { at: 3, bytes: 3 }));
        assert_eq!(journal.keep(b"abc").expect("room"), first);
        journal.entry(&Entry::Free { address: 7 }).expect("room");
        journal.entries.write_all(b"{\"entry\":\"fr").expect("room");
        let read = read(folder.path()).expect("a record");
        assert_eq!(read.entries, [Entry::Free { address: 7 }]);
        assert_eq!(read.bytes(second).expect("bytes"), b"abd");
    }
}
