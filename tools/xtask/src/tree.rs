//! The repository as Cargo and Git know it: its root, its crates, and the files that have changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::speeds::output;

pub(crate) struct Crate {
    pub(crate) name: String,
    /// Folder of the crate, relative to the root.
    pub(crate) folder: PathBuf,
    /// Crates of the workspace that it uses, for its tests too.
    uses: BTreeSet<String>,
}

pub(crate) fn root() -> Result<PathBuf, String> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().map_err(|error| error.to_string())
}

/// The command of the release build of this tree, which is built first.
pub(crate) fn released() -> Result<PathBuf, String> {
    let root = root()?;
    let build =
        Command::new(env!("CARGO")).current_dir(&root).args(["build", "--release", "--quiet"]).status();
    if !build.is_ok_and(|status| status.success()) {
        return Err("cargo build --release: failed".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = target.join("release/counterpoint");
    program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))
}

/// Lines that Git prints.
pub(crate) fn git(arguments: &[&str]) -> Result<Vec<String>, String> {
    let text = output(Command::new("git").current_dir(root()?).args(arguments))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The crates of the workspace, by name.
pub(crate) fn crates() -> Result<Vec<Crate>, String> {
    let root = root()?;
    let mut cargo = Command::new(env!("CARGO"));
    let text = output(cargo.current_dir(&root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut crates = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder =
            manifest.parent().and_then(|folder| folder.strip_prefix(&root).ok()).unwrap_or(&manifest);
        let uses = package["dependencies"].as_array().into_iter().flatten();
        let uses = uses.filter(|dependency| dependency["path"].is_string());
        let uses = uses.map(|dependency| text(&dependency["name"])).collect();
        crates.push(Crate { name: text(&package["name"]), folder: folder.to_owned(), uses });
    }
    crates.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(crates)
}

/// The crate of a file: the one with the longest folder above it.
pub(crate) fn owner<'a>(crates: &'a [Crate], file: &Path) -> Option<&'a Crate> {
    let above = crates.iter().filter(|one| file.starts_with(&one.folder));
    above.max_by_key(|one| one.folder.components().count())
}

/// The crates with these names, and all that use one of them.
pub(crate) fn with_users(crates: &[Crate], names: &BTreeSet<String>) -> BTreeSet<String> {
    let mut all = names.clone();
    loop {
        let users = crates.iter().filter(|one| !all.contains(&one.name) && !one.uses.is_disjoint(&all));
        let users: Vec<String> = users.map(|one| one.name.clone()).collect();
        if users.is_empty() {
            return all;
        }
        all.extend(users);
    }
}

/// Files that differ from a commit, those that Git does not know yet among them.
pub(crate) fn changed(since: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = git(&["diff", "--name-only", since])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files.into_iter().map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn files_belong_to_the_nearest_crate_and_crates_have_users() {
        let crates = crates().unwrap();
        let owner = |file: &str| owner(&crates, Path::new(file)).map(|one| one.name.as_str());
        assert_eq!(owner("framework/macros/src/lib.rs"), Some("counterpoint-macros"));
        assert_eq!(owner("framework/src/lib.rs"), Some("counterpoint-framework"));
        assert_eq!(owner("README.md"), None);
        let users = with_users(&crates, &names(&["counterpoint-hardware"]));
        assert!(users.is_superset(&names(&[
            "counterpoint-cli",
            "counterpoint-crcs",
            "counterpoint-simulation"
        ])));
        assert!(!users.contains("counterpoint-ptx") && !users.contains("xtask"));
    }
}
