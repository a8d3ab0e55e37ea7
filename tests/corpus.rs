//! Each application has one dialect of its kernels beside it, and the corpus has the others.

use std::collections::BTreeSet;
use std::path::Path;

use crate::launches::DIALECTS;
use crate::support::{CORPUS, root};

/// The PTX files of a folder, by name.
fn ptx(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".ptx")).collect();
    names.sort();
    names
}

/// The folders of a folder, by name.
fn folders(of: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(of)).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn an_application_has_the_dialect_that_it_names_beside_it_and_the_corpus_has_the_others() {
    let mut all: Vec<String> = DIALECTS.iter().map(|dialect| format!("kernel.{dialect}.ptx")).collect();
    all.sort();
    let applications = folders("experiments/applications");
    let mut alone = 0;
    // A program that was recorded has the module that it was compiled to, and its source among the programs.
    for name in applications.iter().filter(|name| !name.starts_with("captured-")) {
        let folder = root().join("experiments/applications").join(name);
        let text = std::fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        let words = text.split(|c: char| c.is_whitespace() || "{},".contains(c));
        for named in words.filter(|word| word.ends_with(".ptx")) {
            assert!(folder.join(named).is_file(), "{name} names {named}");
        }
        let others: Vec<&str> =
            CORPUS.names().filter_map(|file| file.strip_prefix(name.as_str())?.strip_prefix('/')).collect();
        let beside = ptx(&folder);
        if !folder.join("kernel.cu").is_file() {
            assert!(beside.is_empty() && others.is_empty(), "{name} has no kernels of its own");
            continue;
        }
        let [own] = &beside[..] else { panic!("{name} has one dialect beside it, not {beside:?}") };
        assert!(text.contains(own), "{name}.yaml names {own}");
        // Kernels measured on GPGPU-Sim have one dialect.
        if others.is_empty() && (name.starts_with("reference-") || name == "probe-pipeline") {
            alone += 1;
        } else {
            let wanted: Vec<_> = all.iter().filter(|file| *file != own).map(String::as_str).collect();
            assert_eq!(others, wanted, "the corpus of {name}");
        }
    }
    let corpus: BTreeSet<&str> = CORPUS.names().map(|file| file.split('/').next().unwrap()).collect();
    assert!(
        corpus.iter().all(|name| applications.iter().any(|of| of == name)),
        "{corpus:?} are applications"
    );
    assert!(corpus.len() >= 46 && alone <= 18, "{} in the corpus, {alone} alone", corpus.len());
}
