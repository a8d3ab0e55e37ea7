//! Shared parts of the tests of committed PTX files.

pub(crate) mod ptxas;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use counterpoint_ptx::{Kernel, decode, parser};

/// The committed files, in order: those of this crate's tests, of the applications, and the corpus.
pub(crate) fn files() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["tests", "../../experiments/applications", "../../tests/corpus"] {
        collect(&here.join(folder), &mut found);
    }
    assert!(found.len() >= 200, "the walk found {} files only", found.len());
    found.sort();
    found
}

/// The PTX files of a folder and of those within it.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

/// The kernels of a module by name, all decoded at once; each is supported.
pub(crate) fn compiled(text: &str) -> BTreeMap<String, Kernel> {
    let kernels = parser::parse(text).and_then(|module| decode::decode(&module));
    let kernels = kernels.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let named = kernels.into_iter().map(|kernel| {
        assert!(kernel.unsupported().is_empty(), "{:?}", kernel.unsupported());
        (kernel.name().to_owned(), kernel)
    });
    named.collect()
}
