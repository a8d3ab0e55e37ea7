//! The crate that `counterpoint new component` writes: it builds as it is, its test passes, and its machine runs.

use std::path::Path;
use std::process::Command;

use super::extension::cargo;
use super::speeds::output;

const NAME: &str = "starter";

/// The features that the release build has the command with, in a manifest.
pub(crate) const FEATURES: &str = "default-features = true";

/// Writes the crate with a command that is there, builds it on a checkout, and runs its machine.
pub(crate) fn run(root: &Path, command: &Path) -> Result<(), String> {
    // Each checkout always uses the same folder, so that a build of the crate replaces the previous one.
    let name = format!("counterpoint-starter{}", root.display().to_string().replace('/', "-"));
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let result = build(root, command, &folder);
    let removed = std::fs::remove_dir_all(&folder);
    result.and(removed.map_err(|error| format!("{}: {error}", folder.display())))
}

fn build(root: &Path, command: &Path, folder: &Path) -> Result<(), String> {
    let mut new = Command::new(command);
    output(new.current_dir(folder).args(["new", "component", NAME, "--checkout"]).arg(root))?;
    let own = folder.join(NAME);
    // Cargo resolves all versions and features of the manifest as it is written.
    output(Command::new("cargo").current_dir(&own).args(["metadata", "--format-version", "1"]))?;
    // The extension's lock file and the features of the release build avoid a second build of any library.
    std::fs::copy(root.join("tools/extension/Cargo.lock"), own.join("Cargo.lock"))
        .map_err(|error| format!("tools/extension/Cargo.lock: {error}"))?;
    let manifest = own.join("Cargo.toml");
    let wrong = |error: std::io::Error| format!("{}: {error}", manifest.display());
    let text = std::fs::read_to_string(&manifest).map_err(wrong)?;
    let text = text.replace(r#"tools/cli", default-features = false"#, &format!(r#"tools/cli", {FEATURES}"#));
    std::fs::write(&manifest, text).map_err(wrong)?;
    output(cargo(root, "test")?.current_dir(&own))?;
    let words = ["--", "run", NAME, "vecadd", "--set", "app.n=1000"];
    let printed = output(cargo(root, "run")?.current_dir(&own).args(words))?;
    if printed.contains("verified") { Ok(()) } else { Err(format!("the starter's machine: {printed}")) }
}
