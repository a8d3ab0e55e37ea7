//! Files that get their names when they are whole.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{PARTIAL, WriteError};

/// The folder of a file; the working directory if its path names none.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file under a unique temporary name in the folder of `path`, and renames it to `path` when it is complete.
///
/// # Errors
/// If the file cannot be written; no part of it remains then, unless removal fails as well.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let parent = parent(path);
    std::fs::create_dir_all(parent)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(PARTIAL);
    // The file gets the usual permissions; a temporary file would be readable by its owner only.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(parent)?;
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// Removes the temporary files that [`write_whole`] left in a folder when it was killed, those of the file `of` or, if `of` is
/// empty, of all files. No other process may be writing them.
///
/// # Errors
/// If one of them cannot be removed.
pub fn remove_halves(folder: &Path, of: &str) -> Result<(), WriteError> {
    let prefix = if of.is_empty() { ".".to_owned() } else { format!(".{of}.") };
    let is_half = |name: &str| name.starts_with(&prefix) && name.ends_with(PARTIAL);
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for half in entries.filter(|entry| is_half(&entry.file_name().to_string_lossy())) {
        match std::fs::remove_file(half.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(WriteError { path: half.path(), error });
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_filled_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("sub/x");
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        assert!(write_whole(&path, |out| out.write_all(b"half").and_then(|()| full())).is_err());
        assert_eq!(std::fs::read_dir(root.path().join("sub")).unwrap().count(), 0);
        write_whole(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn halves_of_a_killed_process_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let names = [".x.h1.partial", ".y.h2.partial", "z.partial", ".x.other", "x"];
        for name in names {
            std::fs::write(root.path().join(name), "half").unwrap();
        }
        let there = || names.map(|name| root.path().join(name).exists());
        remove_halves(root.path(), "x").unwrap();
        assert_eq!(there(), [false, true, true, true, true]);
        remove_halves(root.path(), "").unwrap();
        assert_eq!(there(), [false, false, true, true, true]);
        remove_halves(&root.path().join("nowhere"), "").unwrap();
    }
}
