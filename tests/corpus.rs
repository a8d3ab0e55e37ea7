//! Each application has one dialect of its kernels beside it, and the corpus has the others.

use std::path::Path;

use crate::launches::DIALECTS;
use crate::support::root;

/// The PTX files of a folder, by name; none where there is no folder.
fn ptx(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
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
        let (beside, others) = (ptx(&folder), ptx(&root().join("tests/corpus").join(name)));
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
            let wanted: Vec<_> = all.iter().filter(|file| *file != own).collect();
            assert_eq!(others.iter().collect::<Vec<_>>(), wanted, "the corpus of {name}");
        }
    }
    let corpus = folders("tests/corpus");
    assert!(corpus.iter().all(|name| applications.contains(name)), "{corpus:?} are applications");
    assert!(corpus.len() >= 46 && alone <= 18, "{} in the corpus, {alone} alone", corpus.len());
}
