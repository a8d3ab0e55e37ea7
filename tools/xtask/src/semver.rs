//! Compares the façade `counterpoint` with the last version: `cargo xtask semver`, and part of `cargo xtask slow`.
//!
//! `cargo-semver-checks` looks at one crate at a time and does not follow what a façade exports from others. The names of the façade are
//! therefore compared here, and `cargo-semver-checks` checks the crates that the names come from; only its findings about exported names
//! count. A finding about a name that a crate has twice, exported and not, counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::speeds::output;
use crate::tree::{git, root};

const FACADE: &str = "tools/counterpoint";
const TOOL: &str = "cargo-semver-checks";

/// Crates that the names come from, each with the crate by which the façade exports them.
const CRATES: [(&str, &str); 9] = [
    ("counterpoint-kernel", "counterpoint_framework"),
    ("counterpoint-framework", "counterpoint_framework"),
    ("counterpoint-protocols", "counterpoint_protocols"),
    ("counterpoint-ptx-frontend", "counterpoint_ptx"),
    ("counterpoint-ptx", "counterpoint_ptx"),
    ("counterpoint-hardware", "counterpoint_hardware"),
    ("counterpoint-host-model", "counterpoint_host_model"),
    ("counterpoint-simulation", "counterpoint_simulation"),
    ("counterpoint-experiments", "counterpoint_experiments"),
];

/// Names that the façade exports, by the crate of their path there.
type Exports = BTreeMap<String, BTreeSet<String>>;

/// Fails if something has changed that the version promises: since a commit, or since the commit of the last version.
pub(crate) fn run(baseline: Option<String>) -> Result<(), String> {
    let root = root()?;
    let Some(baseline) = baseline.map_or_else(last_version, |commit| Ok(Some(commit)))? else {
        crate::report("-- the library is younger than the last version, which promised nothing of it");
        return Ok(());
    };
    crate::report(&format!("-- compared with {baseline}"));
    let now = exports(&sources(None)?);
    let mut broken = missing(&exports(&sources(Some(&baseline))?), &now);
    let tool = tool(&root)?;
    for (name, by) in CRATES {
        let mut command = Command::new(&tool);
        command.current_dir(&root).args(["semver-checks", "--package", name, "--baseline-rev", &baseline]);
        command.args(["--release-type", "minor", "--color", "never"]);
        let output = command.output().map_err(|error| format!("{TOOL}: {error}"))?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if !text.contains("Checked [") {
            return Err(format!("{name}: {TOOL} did not compare it\n{text}"));
        }
        let none = BTreeSet::new();
        broken.extend(findings(&text, now.get(by).unwrap_or(&none)));
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("the version must change its second number:\n  {}", broken.join("\n  "))),
    }
}

/// The commit that last changed the version; nothing if it has no façade yet.
fn last_version() -> Result<Option<String>, String> {
    let version = git(&["log", "-1", "--format=%H", "-G^version = ", "--", "Cargo.toml"])?;
    let Some(version) = version.first() else {
        return Err("the history does not reach back to the last version".to_owned());
    };
    let facade = git(&["ls-tree", "--name-only", version, &format!("{FACADE}/Cargo.toml")])?;
    Ok((!facade.is_empty()).then(|| version.clone()))
}

/// The sources of the façade, in a commit or as they are.
fn sources(commit: Option<&str>) -> Result<String, String> {
    let folder = format!("{FACADE}/src");
    let Some(commit) = commit else {
        let files = git(&["ls-files", "--cached", "--others", "--exclude-standard", &folder])?;
        let read = |file: &String| {
            std::fs::read_to_string(root()?.join(file)).map_err(|error| format!("{file}: {error}"))
        };
        return files.iter().map(read).collect();
    };
    let files = git(&["ls-tree", "-r", "--name-only", commit, &format!("{folder}/")])?;
    let show = |file: &String| Ok(git(&["show", &format!("{commit}:{file}")])?.join("\n"));
    files.iter().map(show).collect()
}

/// The names of all `pub use` of a text.
fn exports(text: &str) -> Exports {
    let mut exports = Exports::new();
    for export in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let (path, list) = match export.split_once('{') {
            Some((path, list)) => (path, list),
            None => (export, export.rsplit("::").next().unwrap_or_default()),
        };
        let from = path.split("::").next().unwrap_or_default().to_owned();
        let names = list.trim_end_matches('}').split(',').map(str::trim).filter(|name| !name.is_empty());
        exports.entry(from).or_default().extend(names.map(str::to_owned));
    }
    exports
}

/// Names that are no longer exported.
fn missing(before: &Exports, now: &Exports) -> Vec<String> {
    let all: BTreeSet<&String> = now.values().flatten().collect();
    let gone = before.values().flatten().filter(|name| !all.contains(name));
    gone.map(|name| format!("`{name}` is no longer exported")).collect()
}

/// The findings in the tool's output that concern one of some names.
fn findings(text: &str, names: &BTreeSet<String>) -> Vec<String> {
    let (mut found, mut lint, mut within) = (Vec::new(), "", false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("--- failure ") {
            (lint, within) = (rest.trim_end_matches([' ', '-']), false);
        } else if line.starts_with("Failed in:") {
            within = true;
        } else if let Some(what) = line.strip_prefix("  ").filter(|_| within) {
            let item = what.split([',', '(']).next().unwrap_or_default();
            let item = item.split(" in ").next().unwrap_or_default();
            let mut words = item.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            if words.any(|word| names.contains(word)) {
                found.push(format!("{lint}: {}", what.trim()));
            }
        }
    }
    found
}

/// The program that compares, which is installed below `target` if it is not there.
fn tool(root: &Path) -> Result<PathBuf, String> {
    let place = root.join("target/semver");
    let program = place.join("bin").join(TOOL);
    if !program.is_file() {
        crate::report(&format!("-- installing {TOOL}"));
        let mut cargo = Command::new(env!("CARGO"));
        output(cargo.args(["install", "--quiet", "--locked", TOOL, "--root"]).arg(&place))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_and_missed() {
        let before = exports("#[doc(inline)]\npub use a::b::{\n    C, d,\n};\npub use e::F;\n");
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(before["a"], named(&["C", "d"]));
        assert_eq!(before["e"], named(&["F"]));
        assert_eq!(missing(&before, &exports("pub use a::{C, F};")), ["`d` is no longer exported"]);
    }

    #[test]
    fn findings_about_exported_names_count() {
        let text = "--- failure struct_missing: pub struct removed or renamed ---\n\nDescription:\n  A struct.\n\nFailed in:\n  \
                    struct a::b::C, previously in file /x/C.rs:1\n  struct a::Other, previously in file /x/C.rs:2\n";
        let names = BTreeSet::from(["C".to_owned()]);
        let found = findings(text, &names);
        assert_eq!(
            found,
            ["struct_missing: pub struct removed or renamed: struct a::b::C, previously in file /x/C.rs:1"]
        );
    }
}
