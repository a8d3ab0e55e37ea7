//! A lock on a folder, which ends with its process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The file that is locked. The file exists while the lock is held.
const NAME: &str = ".lock";

/// A lock on a folder.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Closing it ends the lock.
    _file: File,
}

impl Lock {
    /// Locks a folder, or returns the holder of its lock: `process 1234`.
    ///
    /// # Errors
    /// If the file of the lock cannot be made.
    pub fn try_take(folder: &Path) -> io::Result<Result<Self, String>> {
        let path = folder.join(NAME);
        loop {
            let mut file = open(&path)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    file.read_to_string(&mut holder)?;
                    return Ok(Err(holder.trim().to_owned()));
                }
                Err(TryLockError::Error(error)) => locks_lack(error)?,
                Ok(()) => {}
            }
            if let Some(lock) = Self::of(&path, file)? {
                return Ok(Ok(lock));
            }
        }
    }

    /// Locks a folder, and waits until no other process holds the lock.
    ///
    /// # Errors
    /// If the file of the lock cannot be made.
    pub fn take(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        loop {
            let file = open(&path)?;
            file.lock().or_else(locks_lack)?;
            if let Some(lock) = Self::of(&path, file)? {
                return Ok(lock);
            }
        }
    }

    /// The lock of a file that has been locked, unless its last holder has removed it meanwhile.
    fn of(path: &Path, mut file: File) -> io::Result<Option<Self>> {
        if !is_still(path, &file) {
            return Ok(None);
        }
        file.rewind()?;
        file.set_len(0)?;
        writeln!(file, "process {}", std::process::id())?;
        Ok(Some(Lock { path: path.to_owned(), _file: file }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The removal precedes the end of the lock: the next holder sees that the file has changed.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Some network file systems have no locks; the folder then stays unlocked.
fn locks_lack(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Unsupported { Ok(()) } else { Err(error) }
}

/// Whether a path still names an open file.
#[cfg(unix)]
fn is_still(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(named), Ok(open)) = (std::fs::metadata(path), file.metadata()) else { return false };
    (named.dev(), named.ino()) == (open.dev(), open.ino())
}

/// Whether a path still names an open file, which cannot be removed here.
#[cfg(not(unix))]
fn is_still(path: &Path, _: &File) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_no_file_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::try_take(folder.path()).unwrap().unwrap();
        let holder = Lock::try_take(folder.path()).unwrap().unwrap_err();
        assert_eq!(holder, format!("process {}", std::process::id()));
        let waiting = {
            let path = folder.path().to_owned();
            std::thread::spawn(move || Lock::take(&path).unwrap())
        };
        drop(lock);
        let lock = waiting.join().unwrap();
        assert!(Lock::try_take(folder.path()).unwrap().is_err());
        drop(lock);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
