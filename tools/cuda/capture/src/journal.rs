//! The files of a record: entries, and bytes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::record::{Blob, Entry};
use crate::store::same;

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
    /// Bytes at most.
    limit: u64,
    /// Pieces that are there already, by length and hash.
    known: BTreeMap<(u64, u64), u64>,
    line: Vec<u8>,
}

/// Bytes of a piece: what copies have in common is found by pieces.
const PIECE: usize = 1 << 16;

impl Journal {
    /// Begins a record in a folder, which keeps at most `limit` bytes of data.
    ///
    /// # Errors
    /// If the record's files cannot be created.
    pub fn create(folder: &Path, limit: u64) -> io::Result<Self> {
        let make = |name| {
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(folder.join(name))
        };
        let (entries, bytes) = (make(ENTRIES)?, make(BYTES)?);
        Ok(Journal {
            folder: folder.to_owned(),
            entries,
            bytes,
            end: 0,
            limit,
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

    /// Keeps bytes: those of pieces that are there already once. None if the record has reached its limit.
    ///
    /// # Errors
    /// The file can be neither written nor read.
    pub fn keep(&mut self, bytes: &[u8]) -> io::Result<Option<Blob>> {
        let mut blob: Vec<[u64; 2]> = Vec::new();
        for piece in bytes.chunks(PIECE) {
            let Some(at) = self.keep_piece(piece)? else { return Ok(None) };
            match blob.last_mut() {
                Some([start, length]) if *start + *length == at => *length += piece.len() as u64,
                _ => blob.push([at, piece.len() as u64]),
            }
        }
        Ok(Some(Blob(blob)))
    }

    fn keep_piece(&mut self, bytes: &[u8]) -> io::Result<Option<u64>> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let key = (bytes.len() as u64, hasher.finish());
        if let Some(&at) = self.known.get(&key)
            && same(&mut self.bytes, at, bytes)?
        {
            return Ok(Some(at));
        }
        let at = self.end;
        if at + key.0 > self.limit {
            return Ok(None);
        }
        self.bytes.seek(SeekFrom::Start(at))?;
        self.bytes.write_all(bytes)?;
        self.end += key.0;
        self.known.insert(key, at);
        Ok(Some(at))
    }

    /// Writes a file of the record, such as a module's text.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        std::fs::write(self.folder.join(name), contents)
    }
}

/// A record that is read.
#[derive(Debug)]
pub struct Recorded {
    /// Folder of the record.
    pub folder: PathBuf,
    /// Entries of the record.
    pub entries: Vec<Entry>,
    bytes: File,
}

/// A record that cannot be read.
#[derive(Debug)]
pub enum JournalError {
    /// A file of the record cannot be read or written.
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
    /// The record with other entries.
    pub(crate) fn with(&self, entries: Vec<Entry>) -> io::Result<Self> {
        Ok(Recorded { folder: self.folder.clone(), entries, bytes: self.bytes.try_clone()? })
    }

    /// Bytes of the record.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn bytes(&self, blob: &Blob) -> io::Result<Vec<u8>> {
        let mut file = &self.bytes;
        let mut bytes = vec![0; blob.bytes() as usize];
        let mut rest = &mut bytes[..];
        for &[at, length] in &blob.0 {
            let (piece, behind) = rest.split_at_mut(length as usize);
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(piece)?;
            rest = behind;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_once_and_a_broken_last_line_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = Journal::create(folder.path(), u64::MAX).expect("a record");
        let mut keep = |bytes: &[u8]| journal.keep(bytes).expect("room").expect("no limit");
        let (first, second) = (keep(b"abc"), keep(b"abd"));
        assert_eq!((&first.0[..], &second.0[..]), (&[[0, 3]][..], &[[3, 3]][..]));
        assert_eq!(keep(b"abc"), first);
        // Two pieces, of which another one has the second.
        let long: Vec<u8> = (0..2 * PIECE).map(|index| (index / PIECE + index % 7) as u8).collect();
        let (both, swapped) = (keep(&long), keep(&[&long[PIECE..], &long[..PIECE]].concat()));
        let (at, piece) = (6, PIECE as u64);
        assert_eq!(
            (&both.0[..], &swapped.0[..]),
            (&[[at, 2 * piece]][..], &[[at + piece, piece], [at, piece]][..])
        );
        journal.entry(&Entry::Free { address: 7 }).expect("room");
        journal.entries.write_all(b"{\"entry\":\"fr").expect("room");
        let read = read(folder.path()).expect("a record");
        assert_eq!(read.entries, [Entry::Free { address: 7 }]);
        assert_eq!(read.bytes(&second).expect("bytes"), b"abd");
        assert_eq!(read.bytes(&swapped).expect("bytes"), [&long[PIECE..], &long[..PIECE]].concat());
    }

    #[test]
    fn a_record_has_a_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = Journal::create(folder.path(), 4).expect("a record");
        assert!(journal.keep(b"abc").expect("room").is_some());
        assert!(journal.keep(b"abc").expect("room").is_some(), "no bytes more");
        assert_eq!(journal.keep(b"de").expect("room"), None);
    }
}
