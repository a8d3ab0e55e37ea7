//! Files that are in the program.

use std::io;
use std::sync::OnceLock;

use counterpoint_archive::Archive;
use counterpoint_framework::model::Registry;

/// Prefix of the paths of built-in files: `built-in:topologies/systems/tiny.yaml`.
pub const BUILT_IN: &str = "built-in:";

/// The files of a crate, as its build script packs them (`counterpoint_archive::pack`): machines as `machines/NAME.yaml`, modules, overlays,
/// studies and figures for validation so, too, and applications as `applications/NAME/NAME.yaml`. [`built_in!`](crate::built_in) makes it.
#[derive(Debug)]
pub struct BuiltIn {
    folder: &'static str,
    bytes: &'static [u8],
    archive: OnceLock<Archive>,
}

/// The files that the build script of this crate has packed, for `Registry::add`. The argument is the place that they have among all built-in
/// files, such as the name of the crate. A file of the same path in the working directory or above it is taken in the place of a
/// built-in one.
#[macro_export]
macro_rules! built_in {
    ($folder:expr) => {
        $crate::find::BuiltIn::new($folder, include_bytes!(concat!(env!("OUT_DIR"), "/built-in.archive")))
    };
}

impl BuiltIn {
    /// Files below a folder of the built-in ones, from the bytes of an archive.
    pub const fn new(folder: &'static str, bytes: &'static [u8]) -> Self {
        BuiltIn { folder, bytes, archive: OnceLock::new() }
    }

    /// Folder of these files among all built-in files.
    pub(super) fn folder(&self) -> &'static str {
        self.folder
    }

    fn archive(&self) -> &Archive {
        self.archive.get_or_init(|| match Archive::new(self.bytes) {
            Ok(archive) => archive,
            Err(error) => panic!("the files that `{}` carries are not an archive: {error}", self.folder),
        })
    }

    /// The name in the archive of a built-in file.
    fn own<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.folder.is_empty() { Some(path) } else { path.strip_prefix(self.folder)?.strip_prefix('/') }
    }
}

/// Whether there is a built-in file of this path, without [`BUILT_IN`].
pub(super) fn has(path: &str, registry: &Registry) -> bool {
    registry.all::<BuiltIn>().any(|files| files.own(path).is_some_and(|own| files.archive().has(own)))
}

/// The contents of a built-in file.
pub(super) fn read(path: &str, registry: &Registry) -> io::Result<Vec<u8>> {
    let mut all = registry.all::<BuiltIn>().filter_map(|files| Some((files.archive(), files.own(path)?)));
    let (archive, own) = all.find(|(archive, own)| archive.has(own)).ok_or(io::ErrorKind::NotFound)?;
    archive.read(own)
}

/// The paths of all built-in files below a folder, relative to it.
pub(super) fn below(folder: &str, registry: &Registry) -> Vec<String> {
    let inside = |path: &str| Some(path.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
    let paths = |files: &BuiltIn| -> Vec<String> {
        let names = files.archive().names();
        names.filter_map(|name| inside(&joined(files.folder, name))).collect()
    };
    registry.all::<BuiltIn>().flat_map(paths).collect()
}

/// A path below a folder, which may have no name.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
