//! Input files that are not there and whose generators have made them.

use std::path::Path;

use crate::application::LoadedApplication;
use crate::output::{Lock, WriteError, parent, remove_halves, write_whole};

/// Writes the input files that generators made; a user who wants others replaces them. Of runs that begin together and want the same
/// file, one writes it. Gives the names of those that were written.
///
/// # Errors
/// If one cannot be written.
pub fn write_inputs(loaded: &LoadedApplication) -> Result<Vec<String>, WriteError> {
    let mut created = Vec::new();
    for input in loaded.files().filter(|input| input.generated) {
        let path = Path::new(&input.path);
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
        if write().map_err(|error| WriteError { path: path.to_owned(), error })? {
            created.push(input.path.clone());
        }
    }
    Ok(created)
}
