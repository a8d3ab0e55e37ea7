//! The folder in which a run leaves its results.
//!
//! A file appears under its final name only when it is complete: it is first written under a temporary name that no other
//! process uses. The application's output has the suffix `.partial` when the run did not finish, so that no incomplete file
//! looks like a result. While a run writes, its folder is locked (`lock.rs`).

mod lock;
mod whole;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use lock::Lock;
pub(crate) use whole::parent;
pub use whole::{remove_halves, write_whole};

/// Statistics, a line each.
pub const STATS_TEXT: &str = "stats.txt";
/// Statistics by component.
pub const STATS_JSON: &str = "stats.json";
/// Statistics, a line each, for spreadsheets.
pub const STATS_CSV: &str = "stats.csv";
/// Growth of each counter in each interval.
pub const SERIES: &str = "series.csv";
/// Statistics, for data frames; written only by a build with the feature `parquet`.
pub const STATS_PARQUET: &str = "stats.parquet";
/// Growth of each counter in each interval, for data frames.
pub const SERIES_PARQUET: &str = "series.parquet";
/// Rates of the machine over time.
pub const CURVES: &str = "curves.csv";
/// Exposed and hidden time.
pub const EXPOSURE: &str = "exposure.csv";
/// The critical path of the run.
pub const CRITICAL_PATH: &str = "critical_path.csv";
/// Writes to the buffers that were watched.
pub const WRITES: &str = "writes.csv";
/// Text that kernels printed; the file exists only if kernels printed any.
pub const PRINTF: &str = "printf.txt";
/// Timeline of spans, for Perfetto.
pub const SPANS: &str = "spans.perfetto.json";
/// Spans that no server took, for `counterpoint export`. The file exists only if there are such spans.
pub const UNSENT: &str = "spans.otlp.jsonl";
/// The machine as it was run.
pub const MACHINE: &str = "machine.yaml";
/// The run, and its end.
pub const MANIFEST: &str = "manifest.yaml";

/// Records of every run.
pub const RECORDS: &[&str] = &[
    STATS_TEXT,
    STATS_JSON,
    STATS_CSV,
    #[cfg(feature = "parquet")]
    STATS_PARQUET,
    EXPOSURE,
    CRITICAL_PATH,
    SPANS,
];

/// Names that an application's output files cannot have, whatever the features of this build: an earlier run of another
/// one may have left such a file.
pub const RESERVED: [&str; 15] = [
    STATS_TEXT,
    STATS_JSON,
    STATS_CSV,
    STATS_PARQUET,
    SERIES,
    SERIES_PARQUET,
    CURVES,
    EXPOSURE,
    CRITICAL_PATH,
    WRITES,
    PRINTF,
    SPANS,
    UNSENT,
    MACHINE,
    MANIFEST,
];

/// The suffix of a file that is not whole.
const PARTIAL: &str = ".partial";

/// The folder of a run.
pub struct Folder {
    path: PathBuf,
    /// Held as long as a run writes here.
    _lock: Option<Lock>,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// Path of the file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write `{}`: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for WriteError {}

impl Folder {
    /// Creates and locks the folder, and removes the files of an earlier run: the results of two runs never mix.
    ///
    /// # Errors
    /// If the folder cannot be created, or another run writes there.
    pub fn create(path: &Path, outputs: &[String]) -> Result<Self, WriteError> {
        match Self::locked(path)? {
            Ok(folder) => folder.cleared(outputs),
            Err(holder) => {
                let message = format!("another run writes there ({holder})");
                let error = io::Error::new(io::ErrorKind::ResourceBusy, message);
                Err(WriteError { path: path.to_owned(), error })
            }
        }
    }

    /// Like [`Folder::create`], but uses `PATH-2`, `PATH-3` and so on if another run writes to a folder, or if `is_other`
    /// reports that it has results to be kept.
    ///
    /// # Errors
    /// If no folder can be created.
    pub fn create_beside(
        path: &Path,
        outputs: &[String],
        is_other: impl Fn(&Path) -> bool,
    ) -> Result<Self, WriteError> {
        let mut number = 1_u64;
        loop {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let place =
                if number == 1 { path.to_owned() } else { path.with_file_name(format!("{name}-{number}")) };
            match Self::locked(&place)? {
                Ok(folder) if !is_other(&place) => return folder.cleared(outputs),
                _ => number += 1,
            }
        }
    }

    /// Makes the folder and locks it; returns the holder of the lock if there is one.
    fn locked(path: &Path) -> Result<Result<Self, String>, WriteError> {
        let folder = Self::at(path)?;
        let lock = Lock::try_take(path).map_err(|error| WriteError { path: path.to_owned(), error })?;
        Ok(lock.map(|lock| Folder { _lock: Some(lock), ..folder }))
    }

    /// Removes the files of an earlier run.
    fn cleared(self, outputs: &[String]) -> Result<Self, WriteError> {
        let outputs = outputs.iter().map(String::as_str);
        let named = RESERVED
            .into_iter()
            .chain(outputs)
            .flat_map(|name| [self.path.join(name), self.path.join(format!("{name}{PARTIAL}"))]);
        for old in named {
            match std::fs::remove_file(&old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(WriteError { path: old, error });
                }
                _ => {}
            }
        }
        remove_halves(&self.path, "")?;
        Ok(self)
    }

    /// Creates the folder if it is missing, and keeps its contents.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn at(path: &Path) -> Result<Self, WriteError> {
        std::fs::create_dir_all(path).map_err(|error| WriteError { path: path.to_owned(), error })?;
        Ok(Folder { path: path.to_owned(), _lock: None })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, which gets its name only when it is complete.
    ///
    /// # Errors
    /// If the file cannot be written; no part of it remains then.
    pub fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = self.path.join(name);
        write_whole(&path, fill).map_err(|error| WriteError { path, error })
    }

    /// Writes a file of the application, complete or partial; a partial file of which no byte was written is omitted.
    ///
    /// # Errors
    /// As [`Folder::write`].
    pub fn write_output(
        &self,
        name: &str,
        contents: &[u8],
        whole: bool,
    ) -> Result<Option<PathBuf>, WriteError> {
        if !whole && contents.is_empty() {
            return Ok(None);
        }
        let name = if whole { name.to_owned() } else { format!("{name}{PARTIAL}") };
        self.write(&name, |out| out.write_all(contents))?;
        Ok(Some(self.path.join(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_outputs_keep_their_temporary_name() {
        let root = tempfile::tempdir().unwrap();
        let outputs = ["sub/x.f32".to_owned()];
        let folder = Folder::create(root.path(), &outputs).unwrap();
        let path = folder.write_output("sub/x.f32", b"half", false).unwrap().unwrap();
        assert!(path.ends_with("sub/x.f32.partial") && path.exists());
        assert_eq!(folder.write_output("y", b"", false).unwrap(), None);
        let busy = Folder::create(root.path(), &outputs).err().unwrap();
        assert_eq!(busy.error.kind(), io::ErrorKind::ResourceBusy, "{busy}");
        assert!(busy.to_string().contains(&format!("(process {})", std::process::id())), "{busy}");
        drop(folder);
        std::fs::write(root.path().join(".stats.txt.x1.partial"), "killed").unwrap();
        let again = Folder::create(root.path(), &outputs).unwrap();
        let left: Vec<_> =
            std::fs::read_dir(root.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(!path.exists() && left.len() == 2, "an earlier run's halves are removed, but {left:?}");
        again.write_output("sub/x.f32", b"whole", true).unwrap();
        assert_eq!(std::fs::read(root.path().join("sub/x.f32")).unwrap(), b"whole");
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_is_in_use_or_has_other_results_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run");
        let nothing = |_: &Path| false;
        let first = Folder::create_beside(&path, &[], nothing).unwrap();
        first.write(MANIFEST, |out| out.write_all(b"first")).unwrap();
        let second = Folder::create_beside(&path, &[], nothing).unwrap();
        assert_eq!([first.path(), second.path()], [path.clone(), root.path().join("run-2")]);
        drop((first, second));
        let is_other = |folder: &Path| folder.join(MANIFEST).exists();
        let third = Folder::create_beside(&path, &[], is_other).unwrap();
        assert_eq!(third.path(), root.path().join("run-2"));
        assert_eq!(std::fs::read(path.join(MANIFEST)).unwrap(), b"first");
        drop(third);
        assert_eq!(Folder::create_beside(&path, &[], nothing).unwrap().path(), path);
    }
}
