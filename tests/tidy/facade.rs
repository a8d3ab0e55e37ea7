//! The façade: outside crates, papers among them, use `counterpoint` alone, and all other crates say that they are internal.

use std::fs;
use std::path::Path;

use super::sources;
use crate::support::root;

/// Crates of the repository that a section of a manifest may name besides the façade.
fn allowed(section: &str) -> &'static [&'static str] {
    match section {
        // A build script would otherwise have to build the simulator.
        "build-dependencies" => &["counterpoint-archive"],
        "dev-dependencies" => &["counterpoint-cli", "counterpoint-tests"],
        _ => &[],
    }
}

/// The crates of the repository that a text names, with `-` in their names.
fn ours(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    words.filter(|word| word.starts_with("counterpoint")).map(|word| word.replace('_', "-"))
}

/// Checks each section of a manifest. `main` has the command among its dependencies.
fn check_manifest(place: &str, manifest: &str, has_main: bool) {
    for section in manifest.split("\n[").filter(|section| section.contains("dependencies]\n")) {
        let (heading, lines) = section.split_once("]\n").expect("a heading");
        let keys = lines.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        for key in keys.filter(|key| key.starts_with("counterpoint-")) {
            let is_main = has_main && heading == "dependencies" && key == "counterpoint-cli";
            assert!(is_main || allowed(heading).contains(&key), "{place}: [{heading}] names {key}");
        }
    }
}

/// Checks the code of a crate that has no business with internal ones.
fn check_code(place: &str, code: &str, besides: &[&str]) {
    for name in ours(code).filter(|name| name != "counterpoint") {
        assert!(besides.contains(&&*name), "{place} names {name}: use `counterpoint`");
    }
}

/// Path of a file of the repository, from its root on.
fn place(path: &Path) -> String {
    path.strip_prefix(root()).expect("a file of the repository").to_string_lossy().replace('\\', "/")
}

#[test]
fn papers_use_the_facade_alone() {
    let folder = "experiments/papers/";
    let manifests: Vec<(String, String)> =
        sources("toml").into_iter().map(|(path, text)| (place(&path), text)).collect();
    let mut own = vec![
        "counterpoint-archive".to_owned(),
        "counterpoint-cli".to_owned(),
        "counterpoint-tests".to_owned(),
    ];
    for (place, manifest) in manifests.iter().filter(|(place, _)| place.starts_with(folder)) {
        check_manifest(place, manifest, false);
        own.extend(place[folder.len()..].split('/').next().map(|paper| format!("counterpoint-{paper}")));
    }
    let besides: Vec<&str> = own.iter().map(String::as_str).collect();
    let mut seen = 0;
    for (path, text) in sources("rs") {
        if place(&path).starts_with(folder) {
            check_code(&place(&path), &text, &besides);
            seen += 1;
        }
    }
    assert!(seen > 80 && own.len() > 7, "the walk found {seen} files only");
}

#[test]
fn crates_of_users_use_the_facade_alone() {
    let read = |place: &str| fs::read_to_string(root().join(place)).expect("a file of the repository");
    check_manifest("tools/extension", &read("tools/extension/Cargo.toml"), true);
    let mut seen = 0;
    for (path, text) in sources("rs").into_iter().chain(sources("in")) {
        let place = place(&path);
        if !place.starts_with("tools/extension/") && !place.starts_with("tools/cli/templates/") {
            continue;
        }
        seen += 1;
        let besides: &[&str] = match &*place {
            _ if place.contains("/build.rs") => &["counterpoint-archive"],
            _ if place.contains("/src/main.rs") || place.contains("/tests/") => &["counterpoint-cli"],
            _ => &[],
        };
        // The command fills in the manifests of starters; tests of the command check them.
        check_code(&place, &text, besides);
    }
    assert!(seen > 12, "the walk found {seen} files only");

    let page = read("components/TUTORIAL.md");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    for block in blocks.iter().filter(|block| block.starts_with("rust") || block.starts_with("toml")) {
        let is_main = block.contains("fn main()") || block.starts_with("toml");
        check_code("components/TUTORIAL.md", block, if is_main { &["counterpoint-cli"] } else { &[] });
    }
}

#[test]
fn the_facade_exports_items_by_name() {
    let mut names = 0;
    for (path, text) in sources("rs") {
        if !place(&path).starts_with("tools/counterpoint/src/") {
            continue;
        }
        for export in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            assert!(!export.contains('*'), "{}: pub use {export}", path.display());
            let list = export.split_once('{').map_or(export, |(_, list)| list);
            names += list.split(',').filter(|name| !name.trim_matches(['}', ' ', '\n']).is_empty()).count();
        }
    }
    assert!((200..=390).contains(&names), "the façade exports {names} items");
}

#[test]
fn all_other_crates_say_that_they_are_internal() {
    let public = ["counterpoint", "counterpoint-archive", "counterpoint-cli", "counterpoint-tests", "xtask"];
    let mut seen = 0;
    for (path, manifest) in sources("toml").into_iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let of_workspace = manifest.contains("version.workspace = true");
        let Some(name) = name.filter(|name| of_workspace && !public.contains(name)) else { continue };
        if place(&path).starts_with("experiments/papers/") {
            continue;
        }
        let head = fs::read_to_string(path.with_file_name("src").join("lib.rs")).expect("a library");
        assert!(
            head.contains("\n//! The crate is internal to Counterpoint: depend on `counterpoint`"),
            "{name}"
        );
        seen += 1;
    }
    assert!(seen > 12, "the walk found {seen} crates only");
}
