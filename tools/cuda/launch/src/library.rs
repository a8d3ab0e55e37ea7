//! The libraries, as files.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use counterpoint_archive::Archive;
use etcetera::BaseStrategy;

pub(crate) const LIBRARY: &str = "libcounterpoint_cuda.so";

/// An archive of the library with the functions, and of stubs by which programs find it.
static LIBRARIES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/built-in.archive"));

/// A stand-in for NVIDIA's assembler, which hands PTX through.
pub(crate) const ASSEMBLER: &str = "ptxas";
static ASSEMBLER_TEXT: &str = include_str!("ptxas.sh");

/// The link to the command, by which the library starts it for a program that something else has started.
const COMMAND: &str = "counterpoint";

/// Writes the libraries into a folder, with a link to this command. Programs find them by `LD_LIBRARY_PATH`.
///
/// # Errors
/// The folder cannot be written.
pub fn install(folder: &Path) -> io::Result<()> {
    let with_place =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    let replace = |name: &str, make: &dyn Fn(&Path) -> io::Result<()>| {
        // Another process may be loading the old file, so the file is replaced by a rename and not
        // overwritten.
        let whole = folder.join(format!(".{name}.{}", std::process::id()));
        make(&whole).and_then(|()| std::fs::rename(&whole, folder.join(name))).map_err(with_place)
    };
    std::fs::create_dir_all(folder).map_err(with_place)?;
    let libraries = Archive::new(LIBRARIES)?;
    for name in libraries.names() {
        let bytes = libraries.read(name)?;
        replace(name, &|place| std::fs::write(place, &bytes))?;
    }
    replace(ASSEMBLER, &|place| std::fs::write(place, ASSEMBLER_TEXT).and_then(|()| make_executable(place)))?;
    let command = std::env::current_exe()?;
    replace(COMMAND, &|place| link(&command, place))
}

fn make_executable(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

fn link(to: &Path, place: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(to, place);
    #[cfg(not(unix))]
    return Err(io::Error::other(format!("{}: no links to {}", place.display(), to.display())));
}

/// The folder of libraries among the user's caches, made if it is not there.
///
/// # Errors
/// As [`install`].
pub fn cached() -> io::Result<PathBuf> {
    let base = etcetera::choose_base_strategy().map_err(io::Error::other)?;
    let mut key = DefaultHasher::new();
    (LIBRARIES, ASSEMBLER_TEXT).hash(&mut key);
    let folder = base.cache_dir().join(format!("counterpoint/cuda/{:016x}", key.finish()));
    let libraries = Archive::new(LIBRARIES)?;
    if libraries.names().chain([ASSEMBLER]).any(|name| !folder.join(name).is_file()) {
        install(&folder)?;
    }
    Ok(folder)
}
