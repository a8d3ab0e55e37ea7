//! The modules that only tests read: each corpus has them in one archive. `cargo xtask ptx` unpacks the archives, compiles into their
//! folders and packs them again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use counterpoint_archive::{Archive, archive};

use crate::ptx::entries;

/// The folders of the corpora. Modules are in folders of their own below.
pub(crate) const CORPORA: [&str; 2] = ["tests/corpus", "tests/front_ends"];

/// The name of the archive in the folder of a corpus.
const ARCHIVE: &str = "modules.archive";

pub(crate) fn packed(root: &Path, corpus: &str) -> Result<Archive, String> {
    Archive::open(&root.join(corpus).join(ARCHIVE)).map_err(|error| error.to_string())
}

/// Writes all modules of the archives into their folders.
pub(crate) fn unpack(root: &Path) -> Result<(), String> {
    for corpus in CORPORA {
        let modules = packed(root, corpus)?;
        for name in modules.names() {
            let path = root.join(corpus).join(name);
            let folder = path.parent().unwrap_or(root);
            let written = std::fs::create_dir_all(folder)
                .and_then(|()| modules.read(name))
                .and_then(|contents| std::fs::write(&path, contents));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Packs the modules of the folders, and removes them there.
pub(crate) fn pack(root: &Path) -> Result<(), String> {
    for corpus in CORPORA {
        let folder = root.join(corpus);
        let files = modules(&folder)?;
        let bytes = archive(&folder, &files).map_err(|error| format!("{corpus}: {error}"))?;
        std::fs::write(folder.join(ARCHIVE), bytes).map_err(|error| format!("{corpus}: {error}"))?;
    }
    remove(root)
}

/// The modules of the folders that the archives do not have, or have another text of, and those that only the archives have.
pub(crate) fn differences(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for corpus in CORPORA {
        let (packed, folder) = (packed(root, corpus)?, root.join(corpus));
        let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        let there: BTreeSet<String> = modules(&folder)?.iter().map(name).collect();
        let all = there.iter().map(String::as_str).chain(packed.names()).collect::<BTreeSet<&str>>();
        let same = |name: &str| std::fs::read(folder.join(name)).ok() == packed.read(name).ok();
        found.extend(all.into_iter().filter(|name| !same(name)).map(|name| format!("{corpus}/{name}")));
    }
    Ok(found)
}

/// Removes the modules of the folders, and the folders that had nothing else.
fn remove(root: &Path) -> Result<(), String> {
    for path in
        CORPORA.iter().map(|corpus| modules(&root.join(corpus))).collect::<Result<Vec<_>, _>>()?.concat()
    {
        std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // Fails where there is a source beside it, which stays.
        let _ = path.parent().map(std::fs::remove_dir);
    }
    Ok(())
}

/// The modules in the folders of a corpus, in order.
fn modules(corpus: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in entries(corpus)?.iter().filter(|folder| folder.is_dir()) {
        let mut files = entries(folder)?;
        files.retain(|path| path.extension().is_some_and(|end| end == "ptx"));
        found.extend(files);
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_the_same_again_and_a_difference_is_named() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let own = crate::tree::root().unwrap();
        for corpus in CORPORA {
            std::fs::create_dir_all(root.join(corpus)).unwrap();
            std::fs::copy(own.join(corpus).join(ARCHIVE), root.join(corpus).join(ARCHIVE)).unwrap();
        }
        unpack(root).unwrap();
        assert_eq!(differences(root).unwrap(), [""; 0]);
        pack(root).unwrap();
        for corpus in CORPORA {
            let [before, after] =
                [own.as_path(), root].map(|root| std::fs::read(root.join(corpus).join(ARCHIVE)).unwrap());
            assert!(before == after, "{corpus} is packed as `cargo xtask ptx` packs it");
            assert_eq!(modules(&root.join(corpus)).unwrap(), [""; 0].map(PathBuf::from));
        }
        unpack(root).unwrap();
        std::fs::write(root.join("tests/corpus/vecadd/kernel.clang-sm_20.ptx"), "").unwrap();
        std::fs::remove_file(root.join("tests/front_ends/softmax/kernel.triton-sm_80.ptx")).unwrap();
        std::fs::write(root.join("tests/front_ends/softmax/kernel.new.ptx"), "").unwrap();
        let different = [
            "tests/corpus/vecadd/kernel.clang-sm_20.ptx",
            "tests/front_ends/softmax/kernel.new.ptx",
            "tests/front_ends/softmax/kernel.triton-sm_80.ptx",
        ];
        assert_eq!(differences(root).unwrap(), different);
    }
}
