//! `cargo xtask extension`: builds the crate in `tools/extension`, which is no member of the workspace, against public API alone, tests it,
//! and looks that each of its files is short. Then the same for the crates that `counterpoint new component` writes and that the tutorial makes.

use std::path::Path;
use std::process::Command;

use super::{starter, tutorial};
use crate::tree::root;

const MOST_LINES: usize = 60;
/// Policies that decide by what they hear of a run have some hundred lines.
const WITH_FEEDBACK: [&str; 3] = ["divided.rs", "keeper.rs", "urgent.rs"];
const MOST_WITH_FEEDBACK: usize = 125;

pub(crate) fn run() -> Result<(), String> {
    let root = root()?;
    let folder = root.join("tools/extension");
    for part in ["src", "machines", "overlays", "studies"] {
        let entries = std::fs::read_dir(folder.join(part)).map_err(|error| format!("{part}: {error}"))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{part}: {error}"))?.path();
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let lines = text.lines().count();
            let hears = WITH_FEEDBACK.iter().any(|name| path.ends_with(name));
            let most = if hears { MOST_WITH_FEEDBACK } else { MOST_LINES };
            if lines >= most {
                return Err(format!("{} has {lines} lines, {most} are too many", path.display()));
            }
        }
    }
    // Clippy in the compiler's place: `cargo clippy` would read all that the crate depends on a second time.
    let mut command = cargo(&root, "test")?;
    let status = command.current_dir(&folder).env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").status();
    if !status.map_err(|error| format!("cargo did not start: {error}"))?.success() {
        return Err("the extension: cargo test failed".to_owned());
    }
    starter::run(&root, &root.join("target/release/example-extension"))?;
    tutorial::run(&root)
}

/// A command of Cargo for a crate outside the workspace, with the workspace's target folder and release profile, so that libraries of others are those
/// that the release build has built. Crates of the project are built once more, as their names depend on the workspace: quickly, without optimising.
pub(crate) fn cargo(root: &Path, command: &str) -> Result<Command, String> {
    let read =
        |name: &str| std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let profile = profile(&read("Cargo.toml")?, &read("tools/extension/Cargo.lock")?);
    let file = root.join("target/outside.toml");
    std::fs::write(&file, profile).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut cargo = Command::new("cargo");
    cargo
        .arg(command)
        .arg("--release")
        .arg("--config")
        .arg(file)
        .env("CARGO_TARGET_DIR", root.join("target"));
    Ok(cargo)
}

/// The release profile of a manifest, with no optimisation of the packages that have no source in a lock file.
fn profile(manifest: &str, lock: &str) -> String {
    let mut profile = String::new();
    let mut within = false;
    for line in manifest.lines().filter(|line| !line.starts_with("counterpoint")) {
        if line.starts_with('[') {
            within = line.starts_with("[profile.release");
        }
        if within && !line.starts_with('#') {
            profile += &format!("{line}\n");
        }
    }
    let packages = lock.split("[[package]]").filter(|package| !package.contains("\nsource = "));
    let own =
        packages.filter_map(|package| package.trim_start().strip_prefix("name = \"")?.split('"').next());
    own.for_each(|name| profile += &format!("[profile.release.package.{name}]\nopt-level = 0\n"));
    profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_of_others_are_optimised() {
        let release = "[profile.release]\nlto = \"off\"\n\n[profile.release.package]\n";
        let manifest = format!(
            "[workspace]\nmembers = []\n{release}counterpoint-a = {{ opt-level = 3 }}\n[profile.dist]\nlto = \"thin\"\n"
        );
        let lock = "version = 4\n\n[[package]]\nname = \"counterpoint-a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"b\"\n\
                    source = \"somewhere\"\n";
        let own = "[profile.release.package.counterpoint-a]\nopt-level = 0\n";
        assert_eq!(profile(&manifest, lock), format!("{release}{own}"));
    }
}
