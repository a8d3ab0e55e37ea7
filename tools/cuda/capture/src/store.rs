//! The data of an application: one packed file with all contents that no rule generates, each once, and
//! without contents that are a part of others.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Name of the file, packed.
pub(crate) const DATA: &str = "data.gz";

/// Bytes by which parts of contents are found, and the places at most that are noted of contents.
const MARK: usize = 64;
const MARKS: usize = 1 << 14;

/// Contents on their way into the file.
pub(crate) struct Store {
    /// Unpacked, as long as it grows.
    raw: File,
    end: u64,
    /// Contents by length and hash.
    whole: BTreeMap<(u64, u64), u64>,
    /// Places of marks by their hashes.
    marks: BTreeMap<u64, u64>,
    /// The widest distance of two marks.
    widest: usize,
    /// The folder of the application, and files beside the one with the data.
    folder: PathBuf,
    side_files: u32,
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Bytes that are all alike are everywhere.
fn says_something(mark: &[u8]) -> bool {
    mark.iter().any(|byte| *byte != mark[0])
}

impl Store {
    /// A store for the application in `folder`; unpacked bytes are a file in `record`.
    pub(crate) fn new(folder: &Path, record: &Path) -> io::Result<Self> {
        let raw = record.join("data.raw");
        let raw = File::options().read(true).write(true).create(true).truncate(true).open(raw)?;
        Ok(Store {
            raw,
            end: 0,
            whole: BTreeMap::new(),
            marks: BTreeMap::new(),
            widest: MARK,
            folder: folder.to_owned(),
            side_files: 0,
        })
    }

    /// Writes a packed file of its own; the result is its name.
    pub(crate) fn side_file(&mut self, contents: &[u8]) -> io::Result<String> {
        self.side_files += 1;
        let name = format!("written-{}.gz", self.side_files);
        pack(&mut &*contents, &self.folder.join(&name))?;
        Ok(name)
    }

    /// The place of contents in the file.
    pub(crate) fn place(&mut self, contents: &[u8]) -> io::Result<u64> {
        let key = (contents.len() as u64, hash(contents));
        if let Some(&at) = self.whole.get(&key)
            && self.holds(at, contents)?
        {
            return Ok(at);
        }
        let at = match self.part(contents)? {
            Some(at) => at,
            None => self.add(contents)?,
        };
        self.whole.insert(key, at);
        Ok(at)
    }

    /// The place of contents that are a part of others.
    fn part(&mut self, contents: &[u8]) -> io::Result<Option<u64>> {
        let mut tried = 0;
        let places = (0..contents.len().saturating_sub(MARK - 1)).step_by(MARK).take(self.widest / MARK);
        for place in places {
            let mark = &contents[place..place + MARK];
            if !says_something(mark) {
                continue;
            }
            let start = self.marks.get(&hash(mark)).and_then(|at| at.checked_sub(place as u64));
            if let Some(start) = start {
                if self.holds(start, contents)? {
                    return Ok(Some(start));
                }
                // Patterns that repeat have their marks in many places.
                tried += 1;
                if tried == 4 {
                    break;
                }
            }
        }
        Ok(None)
    }

    fn add(&mut self, contents: &[u8]) -> io::Result<u64> {
        let at = self.end;
        self.raw.seek(SeekFrom::Start(at))?;
        self.raw.write_all(contents)?;
        self.end += contents.len() as u64;
        let distance = (contents.len() / MARKS).next_multiple_of(MARK).max(MARK);
        self.widest = self.widest.max(distance);
        for place in (0..contents.len().saturating_sub(MARK - 1)).step_by(distance) {
            let mark = &contents[place..place + MARK];
            if says_something(mark) {
                self.marks.entry(hash(mark)).or_insert(at + place as u64);
            }
        }
        Ok(at)
    }

    fn holds(&mut self, at: u64, contents: &[u8]) -> io::Result<bool> {
        if at + contents.len() as u64 > self.end {
            return Ok(false);
        }
        same(&mut self.raw, at, contents)
    }

    /// Writes the file, if there are contents.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.end == 0 {
            return Ok(());
        }
        self.raw.seek(SeekFrom::Start(0))?;
        pack(&mut self.raw, &self.folder.join(DATA))
    }
}

fn pack(contents: &mut dyn Read, file: &Path) -> io::Result<()> {
    let mut encoder = GzEncoder::new(BufWriter::new(File::create(file)?), Compression::fast());
    io::copy(contents, &mut encoder)?;
    encoder.finish()?.flush()
}

/// Whether a file has these bytes at an offset.
pub(crate) fn same(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(at))?;
    let mut page = [0; 1 << 16];
    for part in bytes.chunks(page.len()) {
        let there = &mut page[..part.len()];
        file.read_exact(there)?;
        if there != part {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_there_once_and_parts_of_others_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::new(folder.path(), folder.path()).expect("a store");
        let random = |mut state: u32, bytes: usize| -> Vec<u8> {
            let next = std::iter::from_fn(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                Some((state >> 24) as u8)
            });
            next.take(bytes).collect()
        };
        let (long, other) = (random(1, 3 << 20), random(2, 100));
        let place = |store: &mut Store, bytes: &[u8]| store.place(bytes).expect("room");
        assert_eq!((place(&mut store, &long), place(&mut store, &other)), (0, 3 << 20));
        assert_eq!(place(&mut store, &long), 0);
        assert_eq!(place(&mut store, &other), 3 << 20);
        assert_eq!(place(&mut store, &long[4096..9999]), 4096, "a part");
        assert_eq!(place(&mut store, &[0; 4096]), (3 << 20) + 100);
        assert_eq!(place(&mut store, b"abc"), (3 << 20) + 4196, "shorter than a mark");
        store.finish().expect("room");
        let packed = File::open(folder.path().join(DATA)).expect("a file");
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut unpacked).expect("a packed file");
        assert_eq!(unpacked, [&long[..], &other, &[0; 4096], b"abc"].concat());
    }
}
