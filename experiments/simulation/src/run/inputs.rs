//! Input files that did not exist, and were made by their generators.

use std::io;

use crate::application::{InputFile, LoadedApplication};
use crate::find::CACHE_VARIABLE;
use crate::output::{Lock, WriteError, parent, remove_halves, write_whole};

/// Writes the input files that generators make; a user may replace them. If several runs begin together and need the same file, one
/// run writes it. Returns the names of the written files.
///
/// # Errors
/// If a file cannot be written.
pub fn write_inputs(loaded: &LoadedApplication) -> Result<Vec<String>, WriteError> {
    let mut created = Vec::new();
    for input in loaded.files().filter(|input| input.generated) {
        let path = input.place.as_path();
        let write = || {
            let folder = parent(path);
            std::fs::create_dir_all(folder)?;
            let _lock = Lock::take(folder)?;
            if path.exists() {
                return Ok(false);
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            remove_halves(folder, &name).map_err(|left| left.error)?;
            let contents = input.contents()?;
            write_whole(path, |out| out.write_all(&contents))?;
            Ok(true)
        };
        if write().map_err(|error| WriteError { path: path.to_owned(), error: in_cache(error, input) })? {
            created.push(path.display().to_string());
        }
    }
    Ok(created)
}

/// The error with the way to another folder, if the user has not chosen this one.
fn in_cache(error: io::Error, input: &InputFile) -> io::Error {
    match input.is_cached() {
        true => io::Error::new(
            error.kind(),
            format!(
                "{error}\n  help: inputs of built-in applications are kept there; {CACHE_VARIABLE} names another folder"
            ),
        ),
        false => error,
    }
}
