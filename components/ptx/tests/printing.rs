//! Every committed PTX file is printed back byte for byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use counterpoint_ptx::{parser, rewrite};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_is_printed_back() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    files(&here.join("tests"), &mut found);
    files(&here.join("../../experiments/applications"), &mut found);
    assert!(found.len() >= 80, "the walk found {} files only", found.len());
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let module = parser::parse(&text).unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
        assert_eq!(rewrite::print(&module), text, "{}", path.display());
    }
}
