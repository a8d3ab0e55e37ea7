//! Packing, as a build script does it.

use std::io;
use std::path::{Path, PathBuf};

/// The name of the archive in Cargo's `OUT_DIR`.
pub const ARCHIVE: &str = "built-in.tar.lz4";

/// Ends of the names of files that are packed. Others, such as CUDA sources, pages and generated data, are not read by a run.
pub const PACKED: [&str; 3] = ["csv", "ptx", "yaml"];

/// Packs folders of a crate, for its build script. `base` is a folder relative to that of the crate, and `folders` are relative to `base`;
/// the files have their paths below `base` as names. Cargo calls the script again when one of the files changes. Cargo does not watch the
/// folders: a run that generates data beside an application would cause everything to be linked again. A new file is therefore packed when
/// another file changes, or after `touch build.rs`.
///
/// ```no_run
/// fn main() -> std::io::Result<()> {
///     counterpoint_archive::pack(".", &["overlays", "studies"])
/// }
/// ```
///
/// # Errors
/// If a folder cannot be read or has no file to pack, or the archive cannot be written.
pub fn pack(base: &str, folders: &[&str]) -> io::Result<()> {
    let variable = |name: &str| {
        let missing = || io::Error::other(format!("{name} is not set: this is not a build script"));
        std::env::var_os(name).map(PathBuf::from).ok_or_else(missing)
    };
    let base = variable("CARGO_MANIFEST_DIR")?.join(base);
    let (bytes, files) = packed(&base, folders)?;
    for path in files {
        say(&format!("cargo::rerun-if-changed={}", path.display()));
    }
    std::fs::write(variable("OUT_DIR")?.join(ARCHIVE), bytes)
}

/// The archive of folders of `base`, and the files that are in it.
///
/// # Errors
/// As [`pack`].
pub fn packed(base: &Path, folders: &[&str]) -> io::Result<(Vec<u8>, Vec<PathBuf>)> {
    let mut all = Vec::new();
    for folder in folders {
        let files = files(&base.join(folder))?;
        if files.is_empty() {
            let ends = PACKED.join(", ");
            return Err(io::Error::other(format!("{}: no file ends in {ends}", base.join(folder).display())));
        }
        all.extend(files);
    }
    let bytes = archive(base, &all)?;
    Ok((bytes, all))
}

/// The archive of files below `base`, which have their paths there as names.
///
/// # Errors
/// If a file cannot be read.
pub fn archive(base: &Path, files: &[PathBuf]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for path in files {
        let contents = std::fs::read(path)?;
        // The header omits owner, permissions and time, so that equal files give equal archives.
        let mut header = tar::Header::new_gnu();
        header.set_size(contents.len() as u64);
        let name = path.strip_prefix(base).map_err(io::Error::other)?;
        archive.append_data(&mut header, name, &*contents)?;
    }
    Ok(lz4_flex::compress_prepend_size(&archive.into_inner()?))
}

/// The files to pack in a folder and below, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    let entries: io::Result<Vec<PathBuf>> =
        std::fs::read_dir(folder).map_err(named)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| PACKED.iter().any(|packed| end == *packed)) {
            found.push(path);
        }
    }
    Ok(found)
}

#[allow(clippy::print_stdout, reason = "Cargo reads what a build script prints")]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Archive;

    #[test]
    fn what_a_run_reads_is_packed_and_found_again() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["a/b/data", "c", "other"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let long = "add.u32 %r1, %r2;\n".repeat(1000);
        for (name, text) in [
            ("a/b/b.yaml", "text"),
            ("a/b/kernel.ptx", &long),
            ("a/b/kernel.cu", "CUDA"),
            ("a/b/data/x.f32", "made"),
            ("c/table.csv", "1,2"),
            ("other/d.yaml", "elsewhere"),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        let (bytes, files) = packed(root.path(), &["a", "c"]).unwrap();
        assert_eq!(files.len(), 3);
        assert_eq!(bytes, packed(root.path(), &["a", "c"]).unwrap().0);
        assert!(bytes.len() < long.len() / 10, "{} bytes", bytes.len());
        let archive = Archive::new(&bytes).unwrap();
        let names: Vec<_> = archive.names().collect();
        assert_eq!(names, ["a/b/b.yaml", "a/b/kernel.ptx", "c/table.csv"]);
        assert_eq!(archive.read("a/b/kernel.ptx"), Some(long.as_bytes()));
        assert!(archive.has("c/table.csv") && !archive.has("c") && archive.read("a/b/kernel.cu").is_none());
        assert!(Archive::new(b"none").is_err());
    }

    #[test]
    fn a_folder_without_files_is_refused_by_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("empty")).unwrap();
        let refused = |folder: &str| packed(root.path(), &[folder]).unwrap_err().to_string();
        assert!(refused("empty").contains("empty: no file ends in csv, ptx, yaml"));
        assert!(refused("gone").contains("gone: "));
    }
}
