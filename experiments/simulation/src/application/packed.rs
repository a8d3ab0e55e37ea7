//! Packed files: a file whose name ends with `.gz` stands for its contents, wherever an application reads
//! one. Each packed file is unpacked once.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use super::reader::Reader;
use crate::find::Found;

/// The end of the name of a packed file.
const PACKED: &str = ".gz";

impl Reader<'_> {
    /// The file at a path, unpacked if it is packed.
    ///
    /// # Errors
    /// If the file cannot be read, or is not packed as its name indicates.
    pub(super) fn find(&mut self, path: &str) -> io::Result<Found> {
        if !path.ends_with(PACKED) {
            return self.files.find(path);
        }
        if let Some(known) = self.unpacked.get(path) {
            return Ok(Found::Held(known.clone()));
        }
        let contents = Bytes::from(unpack(&self.files.read(path)?)?);
        self.unpacked.insert(path.to_owned(), contents.clone());
        Ok(Found::Held(contents))
    }
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    MultiGzDecoder::new(packed).read_to_end(&mut contents)?;
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn members_are_one_file_and_other_bytes_are_an_error() {
        let pack = |bytes: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        };
        let both = [pack(b"abc"), pack(b"def")].concat();
        assert_eq!(unpack(&both).expect("two members"), b"abcdef");
        assert!(unpack(b"abcdef").is_err());
        assert!(unpack(&both[..both.len() - 3]).is_err(), "cut off");
    }
}
