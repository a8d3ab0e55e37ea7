//! The libraries, as files.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

/// The library with the functions.
pub(crate) const LIBRARY: &str = "libcounterpoint_cuda.so";

/// Libraries by name, packed.
static PACKED: [(&str, &[u8]); 4] = [
    (LIBRARY, include_bytes!(concat!(env!("OUT_DIR"), "/libcounterpoint_cuda.so.lz4"))),
    ("libcudart.so.11.0", include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.11.0.lz4"))),
    ("libcudart.so.12", include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.12.lz4"))),
    ("libcudart.so.13", include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.13.lz4"))),
];

/// Bytes of nothing, packed, at most: this build has not the library.
const EMPTY: usize = 8;

/// Writes the libraries into a folder. Programs find them by `LD_LIBRARY_PATH`.
///
/// # Errors
/// The folder cannot be written, or this build of the program has no library.
pub fn install(folder: &Path) -> io::Result<()> {
    let place = |name: &str| folder.join(name);
    let with_place =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(with_place)?;
    for (name, packed) in PACKED {
        let bytes = lz4_flex::decompress_size_prepended(packed).map_err(io::Error::other)?;
        let bytes = if bytes.is_empty() { beside_the_program(name)? } else { bytes };
        // Another process may be loading the file of before, so it is replaced and not written over.
        let whole = place(&format!(".{name}.{}", std::process::id()));
        std::fs::write(&whole, bytes).map_err(with_place)?;
        std::fs::rename(&whole, place(name)).map_err(with_place)?;
    }
    Ok(())
}

/// The folder of libraries among the user's caches, made if it is not there.
///
/// # Errors
/// As [`install`].
pub fn cached() -> io::Result<PathBuf> {
    let base = etcetera::choose_base_strategy().map_err(io::Error::other)?;
    let mut key = DefaultHasher::new();
    PACKED.hash(&mut key);
    if PACKED[0].1.len() <= EMPTY {
        beside_the_program(LIBRARY)?.hash(&mut key);
    }
    let key = key.finish();
    let folder = base.cache_dir().join(format!("counterpoint/cuda/{key:016x}"));
    if PACKED.iter().any(|(name, _)| !folder.join(name).is_file()) {
        install(&folder)?;
    }
    Ok(folder)
}

/// A library as a build of the workspace leaves it.
fn beside_the_program(name: &str) -> io::Result<Vec<u8>> {
    let program = std::env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    // The first is up to date when tests run.
    let found =
        ["deps", "."].map(|place| folder.join(place).join(name)).into_iter().find(|path| path.is_file());
    let missing = || {
        io::Error::other(
            "this build has no CUDA library: `cargo build -p counterpoint-cuda-runtime` makes it, and a release has it",
        )
    };
    std::fs::read(found.ok_or_else(missing)?)
}
