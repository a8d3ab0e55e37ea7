//! Libraries above CUDA's runtime: which one a function belongs to, its results, and kernels.

use counterpoint_archive::Archive;

use crate::errors::{Error, Result};

/// A library, by the names of its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Runtime,
    Driver,
    Cublas,
    Curand,
    Nvml,
    Cufft,
    Cusparse,
    Cusolver,
    Cudnn,
}

/// Beginnings of names. What begins with `cu` alone is the driver's.
const PREFIXES: [(&str, Library); 8] = [
    ("cuda", Library::Runtime),
    ("cublas", Library::Cublas),
    ("curand", Library::Curand),
    ("nvml", Library::Nvml),
    ("cufft", Library::Cufft),
    ("cusparse", Library::Cusparse),
    ("cusolver", Library::Cusolver),
    ("cudnn", Library::Cudnn),
];

/// The CUDA error of a call that a library has a result of its own for: this result, negative.
pub(crate) const fn own(status: i32) -> Error {
    Error(-status)
}

/// Results of a library for errors: arguments, memory, no start, no support, a failed kernel, and all others.
struct Results {
    value: i32,
    memory: i32,
    start: i32,
    support: i32,
    launch: i32,
    other: i32,
}

impl Library {
    pub(crate) fn of(name: &str) -> Self {
        let found = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
        let driver = if name.starts_with("cu") { Library::Driver } else { Library::Runtime };
        found.map_or(driver, |(_, library)| *library)
    }

    /// The library's result for an error, of all but the runtime and the driver.
    pub(crate) fn status(self, error: Error) -> Option<u64> {
        let [value, memory, start, support, launch, other] = match self {
            Library::Runtime | Library::Driver => return None,
            Library::Cublas => [7, 3, 1, 15, 13, 14],
            Library::Curand => [104, 102, 101, 103, 201, 999],
            Library::Nvml => [2, 20, 1, 3, 999, 999],
            Library::Cufft => [4, 2, 7, 16, 6, 5],
            Library::Cusparse => [3, 2, 1, 10, 6, 7],
            Library::Cusolver => [3, 2, 1, 9, 6, 7],
            Library::Cudnn => [2000, 4, 1001, 3000, 5000, 4000],
        };
        let results = Results { value, memory, start, support, launch, other };
        Some(results.of(error) as u64)
    }
}

impl Results {
    fn of(&self, error: Error) -> i32 {
        match error {
            Error::SUCCESS => 0,
            Error(status) if status < 0 => -status,
            Error::INVALID_VALUE | Error::INVALID_PITCH | Error::INVALID_RESOURCE_HANDLE => self.value,
            Error::MEMORY_ALLOCATION => self.memory,
            Error::INITIALIZATION => self.start,
            Error::NOT_SUPPORTED => self.support,
            // A kernel has failed.
            Error(700..=720) => self.launch,
            _ => self.other,
        }
    }
}

/// Kernels of a library, by the name of their file. `cargo xtask ptx` makes their PTX.
pub(crate) struct Kernels(pub(crate) &'static str);

impl Kernels {
    pub(crate) fn ptx(&self) -> Result<String> {
        const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/built-in.archive"));
        let text = Archive::new(ARCHIVE).and_then(|kernels| kernels.read(&format!("kernels/{}.ptx", self.0)));
        let text = text.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
        text.map_err(|_| Error::INVALID_IMAGE)
    }
}

/// Parameters of a kernel, one behind another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters(pub(crate) Vec<u8>);

impl Parameters {
    pub(crate) fn words<const N: usize>(mut self, words: [u64; N]) -> Self {
        words.iter().for_each(|word| self.0.extend(word.to_le_bytes()));
        self
    }

    pub(crate) fn numbers<const N: usize>(self, numbers: [i64; N]) -> Self {
        self.words(numbers.map(|number| number as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_libraries_and_errors_are_theirs() {
        let names = ["cudaMalloc", "__cudaInitModule", "cuMemAlloc_v2", "cublasCreate_v2", "cudnnCreate"];
        let libraries =
            [Library::Runtime, Library::Runtime, Library::Driver, Library::Cublas, Library::Cudnn];
        assert_eq!(names.map(Library::of), libraries);
        let results = [Error::SUCCESS, Error::INVALID_VALUE, Error::ILLEGAL_ADDRESS, own(8)];
        assert_eq!(results.map(|error| Library::Cublas.status(error)), [0, 7, 13, 8].map(Some));
        assert_eq!(results.map(|error| Library::Curand.status(error)), [0, 104, 201, 8].map(Some));
        assert_eq!(Library::Runtime.status(Error::INVALID_VALUE), None);
    }
}
