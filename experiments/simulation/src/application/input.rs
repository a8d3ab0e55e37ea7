//! The files that an application reads. Files stay on disk until their bytes are requested.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use bytes::Bytes;
use counterpoint_hardware::io::storage::Stored;

use crate::find::Found;
use crate::workloads::element::Element;
use crate::workloads::generate::Generator;
use crate::workloads::verify::Fnv64;

/// An input file.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Name of the input file, as the application has it.
    pub name: String,
    /// Path of the input file.
    pub path: String,
    /// Path of the file on disk, or the path at which it will be generated. Inputs of built-in applications
    /// are not at `path`.
    pub place: PathBuf,
    /// Length of the input file.
    pub bytes: u64,
    /// The file did not exist when it was looked up: the generator that the application names makes its
    /// contents.
    pub generated: bool,
    origin: Origin,
}

/// Source of the bytes of a file.
#[derive(Clone, Debug)]
enum Origin {
    Held(Bytes),
    Disk,
    /// The rule, where it is not on disk.
    Rule(Generator, Element),
}

impl InputFile {
    /// A file that exists.
    pub fn new(name: &str, path: String, place: PathBuf, found: Found) -> Self {
        let bytes = found.bytes();
        let origin = match found {
            Found::Held(held) => Origin::Held(held),
            Found::Disk(_) => Origin::Disk,
        };
        InputFile { name: name.to_owned(), path, place, bytes, generated: false, origin }
    }

    /// This file as one that does not exist yet: a generator makes its contents.
    pub(super) fn made_by(self, bytes: u64, rule: Generator, element: Element) -> Self {
        InputFile { bytes, generated: true, origin: Origin::Rule(rule, element), ..self }
    }

    /// Whether it is kept elsewhere than at its path, among the user's caches.
    pub fn is_cached(&self) -> bool {
        self.generated && self.place.as_os_str() != self.path.as_str()
    }

    /// Bytes of the input file.
    ///
    /// # Errors
    /// If the file cannot be read any more, or its length has changed.
    pub fn contents(&self) -> io::Result<Bytes> {
        let contents = match &self.origin {
            Origin::Held(bytes) => return Ok(bytes.clone()),
            Origin::Disk => Bytes::from(std::fs::read(&self.place)?),
            Origin::Rule(rule, element) => match std::fs::read(&self.place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    rule.fill(*element, self.bytes / element.bytes() as u64).into()
                }
                read => read?.into(),
            },
        };
        if contents.len() as u64 == self.bytes { Ok(contents) } else { Err(self.changed()) }
    }

    /// Reads bytes of the file, from offset `at` on, into `place`.
    ///
    /// # Errors
    /// As [`InputFile::contents`].
    pub fn read_into(&self, at: u64, place: &mut [u8]) -> io::Result<()> {
        let part = at as usize..at as usize + place.len();
        match self.stored()? {
            Stored::File(mut file) => {
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(place)?;
            }
            Stored::Held(bytes) => place.copy_from_slice(&bytes[part]),
            Stored::Written(bytes) => place.copy_from_slice(&bytes[part]),
        }
        Ok(())
    }

    /// Whether `other` is the same file, with the same generator if it is generated.
    pub(super) fn is_same(&self, other: &InputFile) -> bool {
        let origins = match (&self.origin, &other.origin) {
            (Origin::Disk, Origin::Disk) => true,
            (Origin::Held(one), Origin::Held(other)) => one.as_ptr() == other.as_ptr() || one == other,
            (Origin::Rule(one, of), Origin::Rule(other, of_other)) => (one, of) == (other, of_other),
            _ => false,
        };
        origins && (&self.place, self.bytes) == (&other.place, other.bytes)
    }

    /// Contents as the file of a storage device, which reads a file on disk piece by piece.
    ///
    /// # Errors
    /// As [`InputFile::contents`].
    pub fn stored(&self) -> io::Result<Stored> {
        match &self.origin {
            Origin::Held(bytes) => Ok(Stored::Held(bytes.clone())),
            Origin::Disk => Ok(Stored::File(self.open()?)),
            Origin::Rule(..) => match self.open() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stored::Held(self.contents()?)),
                open => Ok(Stored::File(open?)),
            },
        }
    }

    /// The hash of its bytes.
    ///
    /// # Errors
    /// As [`InputFile::contents`].
    pub fn fnv64(&self) -> io::Result<u64> {
        let mut hash = Fnv64::default();
        match self.stored()? {
            Stored::File(mut file) => drop(io::copy(&mut file, &mut hash)?),
            Stored::Held(bytes) => hash.add(&bytes),
            Stored::Written(bytes) => hash.add(&bytes),
        }
        Ok(hash.get())
    }

    fn open(&self) -> io::Result<File> {
        let file = File::open(&self.place)?;
        if file.metadata()?.len() == self.bytes { Ok(file) } else { Err(self.changed()) }
    }

    fn changed(&self) -> io::Error {
        io::Error::other(format!(
            "`{}` had {} bytes before the run and has others now",
            self.place.display(),
            self.bytes
        ))
    }
}
