//! The files of the program: the bytes that went to the device unchanged, and the files' names in the
//! application.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use memchr::memmem::Finder;

use crate::journal::Recorded;
use crate::record::{Blob, Entry, Way};

/// Bytes that are looked for in a file at least: fewer may be there by chance.
pub(crate) const LEAST_FOUND: usize = 16;

/// A file that the program reads or writes.
struct ProgramFile {
    bytes: Option<Vec<u8>>,
    /// Ranges that went to the device as they are, by their beginnings.
    direct: BTreeMap<u64, u64>,
    /// Name of the file in the application, once it has one.
    name: Option<String>,
}

pub(crate) struct Paths {
    files: BTreeMap<String, ProgramFile>,
    /// File from which the bytes of each copy to the device come, and their offset in it.
    origins: BTreeMap<usize, (String, u64)>,
    outputs: BTreeMap<String, String>,
    /// Entries that wrote what a later one has written again.
    overwritten: BTreeSet<usize>,
}

impl Paths {
    /// Searches for the bytes of copies in the files that the program has read before.
    pub(crate) fn new(recorded: &Recorded) -> io::Result<Self> {
        let mut paths = Paths {
            files: BTreeMap::new(),
            origins: BTreeMap::new(),
            outputs: BTreeMap::new(),
            overwritten: overwritten(&recorded.entries),
        };
        // Bytes that have been read of each file.
        let mut read: BTreeMap<String, u64> = BTreeMap::new();
        let mut known: BTreeMap<Blob, Option<(String, u64)>> = BTreeMap::new();
        for (index, entry) in recorded.entries.iter().enumerate() {
            match entry {
                Entry::Read { path, to, .. } => {
                    paths.open(path);
                    let before = read.entry(path.clone()).or_default();
                    *before = (*to).max(*before);
                }
                Entry::Wrote { path, .. } => paths.open(path),
                Entry::Copy { way: Way::In, blob, .. }
                    if blob.bytes() >= LEAST_FOUND as u64 && !read.is_empty() =>
                {
                    if let std::collections::btree_map::Entry::Vacant(vacant) = known.entry(blob.clone()) {
                        let bytes = recorded.bytes(blob)?;
                        vacant.insert(paths.search(&bytes, &read));
                    }
                    if let Some((path, at)) = known[blob].clone() {
                        if let Some(file) = paths.files.get_mut(&path) {
                            file.direct.insert(at, at + blob.bytes());
                        }
                        paths.origins.insert(index, (path, at));
                    }
                }
                _ => {}
            }
        }
        Ok(paths)
    }

    fn open(&mut self, path: &str) {
        let read = || ProgramFile { bytes: std::fs::read(path).ok(), direct: BTreeMap::new(), name: None };
        self.files.entry(path.to_owned()).or_insert_with(read);
    }

    fn search(&self, bytes: &[u8], read: &BTreeMap<String, u64>) -> Option<(String, u64)> {
        // Bytes that are all alike come from anywhere.
        if bytes.iter().all(|byte| *byte == bytes[0]) {
            return None;
        }
        let find = finder(bytes);
        read.iter().find_map(|(path, to)| {
            let file = self.files.get(path)?.bytes.as_ref()?;
            let file = file.get(..*to as usize).unwrap_or(file);
            find(file).map(|at| (path.clone(), at))
        })
    }

    /// File from which a copy's bytes come, and their offset in it.
    pub(crate) fn origin(&self, entry: usize) -> Option<(String, u64)> {
        self.origins.get(&entry).cloned()
    }

    /// Parts of a range of a file that do not go to the device unchanged.
    pub(crate) fn rest(&self, path: &str, from: u64, to: u64) -> Vec<(u64, u64)> {
        let Some(file) = self.files.get(path).filter(|file| file.bytes.is_some()) else { return Vec::new() };
        let (mut parts, mut at) = (Vec::new(), from);
        for (&start, &end) in file.direct.range(..to).filter(|(_, end)| **end > from) {
            if start > at {
                parts.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            parts.push((at, to));
        }
        parts
    }

    /// Bytes of a file.
    pub(crate) fn range(&self, path: &str, from: u64, to: u64) -> Option<Vec<u8>> {
        Some(self.files.get(path)?.bytes.as_ref()?.get(from as usize..to as usize)?.to_vec())
    }

    /// The name of an input in the application, which has a copy of it.
    pub(crate) fn input(&mut self, folder: &Path, path: &str) -> io::Result<String> {
        let taken = self.files.values().filter_map(|file| file.name.clone()).collect::<Vec<_>>();
        let Some(file) = self.files.get_mut(path) else { return Err(io::ErrorKind::NotFound.into()) };
        if let Some(name) = &file.name {
            return Ok(name.clone());
        }
        let name = free_name("input/", path, |name| !taken.iter().any(|taken| taken == name));
        std::fs::create_dir_all(folder.join("input"))?;
        std::fs::write(folder.join(&name), file.bytes.as_deref().unwrap_or_default())?;
        Ok(file.name.insert(name).clone())
    }

    /// Whether a later entry has written the bytes of one again.
    pub(crate) fn is_overwritten(&self, entry: usize) -> bool {
        self.overwritten.contains(&entry)
    }

    /// The name of an output among the results of a run.
    pub(crate) fn output(&mut self, path: &str) -> String {
        if let Some(name) = self.outputs.get(path) {
            return name.clone();
        }
        let name = free_name("", path, |name| !self.outputs.values().any(|taken| taken == name));
        self.outputs.insert(path.to_owned(), name.clone());
        name
    }
}

/// Entries whose output a later entry has overwritten: the program has opened the file anew, and emptied it.
fn overwritten(entries: &[Entry]) -> BTreeSet<usize> {
    let mut first: BTreeMap<&str, u64> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (index, entry) in entries.iter().enumerate().rev() {
        if let Entry::Wrote { path, from, to } = entry {
            let later = first.entry(path).or_insert(u64::MAX);
            if *to > *later {
                found.insert(index);
            }
            *later = (*from).min(*later);
        }
    }
    found
}

/// A name for a file: its own name, with a number if the name is taken.
fn free_name(folder: &str, path: &str, is_free: impl Fn(&str) -> bool) -> String {
    let own = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2..).map(|number| format!("{folder}{number}-{own}"));
    std::iter::once(format!("{folder}{own}")).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
}

/// A search for bytes in others: their offset there. The bytes may be many, so that what the search needs to know of them is found out once, when
/// something is as long as they are.
pub(crate) fn finder(bytes: &[u8]) -> impl Fn(&[u8]) -> Option<u64> {
    let finder = LazyCell::new(move || Finder::new(bytes));
    move |all| if all.len() < bytes.len() { None } else { finder.find(all).map(|at| at as u64) }
}
