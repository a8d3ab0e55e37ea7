//! The tree keeps its promises: heads of modules, sizes of files, no leftovers.

use std::fs;
use std::path::PathBuf;

use crate::support::root;

/// Every source file of the repository, with its text.
fn sources(extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry of it").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "out" {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push((path.clone(), fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_module_says_what_it_is() {
    let files = sources("rs");
    assert!(files.len() > 80, "the walk found {} files only", files.len());
    for (path, text) in files {
        assert!(text.starts_with("//!"), "{} has no head", path.display());
    }
}

#[test]
fn files_stay_small() {
    for (path, text) in sources("rs") {
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

#[test]
fn nothing_is_left_over() {
    // Spelled so that this file does not contain them.
    let words = ["TO", "FIX"].iter().zip(["DO", "ME"]).map(|(a, b)| format!("{a}{b}"));
    let leftovers: Vec<String> =
        words.chain(["dbg", "todo", "unimplemented"].map(|name| format!("{name}!("))).collect();
    for (path, text) in sources("rs") {
        if path.ends_with("tidy.rs") {
            continue;
        }
        for word in &leftovers {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}

#[test]
fn layers_do_not_reach_upwards() {
    let forbidden = [
        ("framework", "counterpoint_hardware"),
        ("framework", "counterpoint_ptx"),
        ("components/ptx", "counterpoint_framework"),
        ("components/hardware", "counterpoint_host_model"),
        ("host-model", "counterpoint_hardware"),
        ("framework/src/kernel", "crate::model"),
        ("framework/src/kernel", "crate::topology"),
        ("framework/src/model", "crate::topology"),
    ];
    for (path, text) in sources("rs") {
        let place = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        for (folder, name) in forbidden {
            assert!(!(place.starts_with(folder) && text.contains(name)), "{place} names {name}");
        }
    }
}
