//! Access to files: to those on disk, or in a table in a test.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use counterpoint_framework::topology::{Missing, beside};

use super::Sort;

/// Source of files: the disk, or a table in a test.
pub trait Files {
    /// The contents of a file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// A file of data, whose contents are read when they are needed.
    fn find(&self, path: &str) -> io::Result<Found> {
        self.read(path).map(|contents| Found::Held(contents.into()))
    }

    /// The path of a file of a sort that the file `from` names; by default the name is a path relative to that file.
    ///
    /// # Errors
    /// There is no such file.
    fn locate(&self, from: &str, sort: Sort, name: &str) -> Result<String, Missing> {
        let _ = sort;
        Ok(beside(from, name))
    }

    /// Path of an input file that is generated if it does not exist, and the path on disk of the generated file; `made_by` is the text of
    /// everything that its bytes depend on.
    ///
    /// # Errors
    /// The reason for which the file cannot be kept.
    fn made(&self, from: &str, name: &str, made_by: &str) -> Result<(String, PathBuf), String> {
        let _ = made_by;
        let path = beside(from, name);
        Ok((path.clone(), path.into()))
    }
}

/// Files of the computer that runs the simulator.
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn find(&self, path: &str) -> io::Result<Found> {
        Ok(Found::Disk(std::fs::File::open(path)?.metadata()?.len()))
    }
}

impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A file that somebody may read.
#[derive(Clone, Debug)]
pub enum Found {
    /// Contents in memory.
    Held(Bytes),
    /// A file on disk, with its length in bytes.
    Disk(u64),
}

impl Found {
    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        match self {
            Found::Held(bytes) => bytes.len() as u64,
            Found::Disk(bytes) => *bytes,
        }
    }
}

/// Text of an operating-system error without its number, which is of no use to a user.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
