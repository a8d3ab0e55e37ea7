//! Packing, as a build script does it.

use std::io;
use std::path::{Path, PathBuf};

use crate::archive::MAGIC;

/// The name of the archive in Cargo's `OUT_DIR`.
pub const ARCHIVE: &str = "built-in.archive";

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
    let mut index = MAGIC.to_vec();
    let mut contents = Vec::new();
    put(&mut index, files.len())?;
    for path in files {
        let packed = lz4_flex::compress_prepend_size(&std::fs::read(path)?);
        let name = path.strip_prefix(base).map_err(io::Error::other)?;
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        let name = parts.join("/");
        put(&mut index, name.len())?;
        index.extend_from_slice(name.as_bytes());
        put(&mut index, packed.len())?;
        contents.extend(packed);
    }
    index.append(&mut contents);
    Ok(index)
}

fn put(bytes: &mut Vec<u8>, number: usize) -> io::Result<()> {
    let number = u32::try_from(number).map_err(io::Error::other)?;
    bytes.extend_from_slice(&number.to_le_bytes());
    Ok(())
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
        let cut = bytes[..bytes.len() - 1].to_vec();
        let archive = Archive::new(bytes).unwrap();
        let names: Vec<_> = archive.names().collect();
        assert_eq!(names, ["a/b/b.yaml", "a/b/kernel.ptx", "c/table.csv"]);
        assert_eq!(archive.read("a/b/kernel.ptx").unwrap(), long.as_bytes());
        assert!(archive.has("c/table.csv") && !archive.has("c") && archive.read("a/b/kernel.cu").is_err());
        assert!(Archive::new(b"none").is_err() && Archive::new(cut).is_err());
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
