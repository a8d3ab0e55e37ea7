//! `cargo xtask extension`: builds the crate in `tools/extension`, which is no member of the workspace, against public API alone, tests it,
//! and looks that each of its files is short. Then the same for the crates that `counterpoint new component` writes and that the tutorial makes.

use std::path::Path;
use std::process::Command;

use super::{starter, tutorial};

/// Lines of a file at most.
const MOST_LINES: usize = 60;

pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    // With the workspace's lock file, profile and target folder, most libraries are those that its tests have built.
    let (folder, target) = (root.join("tools/extension"), root.join("target"));
    for part in ["src", "machines", "overlays", "studies"] {
        let entries = std::fs::read_dir(folder.join(part)).map_err(|error| format!("{part}: {error}"))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{part}: {error}"))?.path();
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let lines = text.lines().count();
            if lines >= MOST_LINES {
                return Err(format!("{} has {lines} lines, {MOST_LINES} are too many", path.display()));
            }
        }
    }
    // Clippy in the compiler's place: `cargo clippy` would read all that the crate depends on a second time.
    let mut command = Command::new("cargo");
    command.current_dir(&folder).arg("test").env("CARGO_TARGET_DIR", &target);
    let status = command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").status();
    if !status.map_err(|error| format!("cargo did not start: {error}"))?.success() {
        return Err("the extension: cargo test failed".to_owned());
    }
    starter::run(&root, &target, &target.join("debug/example-extension"))?;
    tutorial::run(&root, &target)
}
