//! The program: what it was linked with.

use std::io;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, FileHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader};
use object::{Endianness, FileKind};

/// The CUDA runtime that a program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The program needs CUDA's runtime as a library of this name, and may insist on its folder.
    Shared {
        /// Name of the library, such as `libcudart.so.12`.
        name: String,
        /// The program names a library folder that precedes all others.
        insists: bool,
    },
    /// The program needs no such library: it has CUDA's runtime in itself, which calls the driver, or calls the driver itself, or is a script, or
    /// starts programs that need CUDA.
    Nothing,
}

/// Looks at a program.
///
/// # Errors
/// It cannot be read.
pub fn inspect(program: &Path) -> io::Result<Needs> {
    let bytes = std::fs::read(program)?;
    if FileKind::parse(&*bytes).ok() != Some(FileKind::Elf64) {
        return Ok(Needs::Nothing);
    }
    let (needed, insists) = libraries(&bytes).unwrap_or_default();
    if let Some(name) = needed.into_iter().find(|name| name.starts_with("libcudart.so")) {
        return Ok(Needs::Shared { name, insists });
    }
    Ok(Needs::Nothing)
}

/// The libraries that a program names, and whether it insists on their folder.
fn libraries(bytes: &[u8]) -> object::Result<(Vec<String>, bool)> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let (mut needed, mut insists) = (Vec::new(), false);
    for section in sections.iter() {
        let Some((entries, strings)) = section.dynamic(endian, bytes)? else { continue };
        let strings = sections.strings(endian, bytes, strings)?;
        for entry in entries {
            let name = || {
                strings.get(entry.d_val(endian) as u32).map(|name| String::from_utf8_lossy(name).into_owned())
            };
            match entry.d_tag(endian) {
                DT_NEEDED => needed.extend(name().ok()),
                DT_RPATH => insists = true,
                _ => {}
            }
        }
    }
    Ok((needed, insists))
}

/// File of a program, found as a shell finds it.
pub(crate) fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
