//! Shared parts of the tests of committed PTX files.

pub(crate) mod ptxas;

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_archive::Archive;
use counterpoint_ptx::{Kernel, decode, parser};

/// The committed modules by name, in order: files of this crate's tests and of the applications, and the corpus.
pub(crate) fn modules() -> BTreeMap<String, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = corpus();
    let packed = corpus.names().map(|name| (name.to_owned(), text(&corpus, name)));
    let mut found: BTreeMap<String, String> = packed.collect();
    for folder in ["tests", "../../experiments/applications"] {
        collect(&here.join(folder), &mut found);
    }
    assert!(found.len() >= 200, "the walk found {} modules only", found.len());
    found
}

/// The kernels of the applications in other dialects.
pub(crate) fn corpus() -> Archive {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/modules.archive");
    Archive::open(Path::new(path)).unwrap()
}

pub(crate) fn text(archive: &Archive, name: &str) -> String {
    let bytes = archive.read(name).unwrap_or_else(|error| panic!("{name} in the archive: {error}"));
    String::from_utf8(bytes).unwrap()
}

/// The PTX files of a folder and of those within it.
fn collect(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.insert(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
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
