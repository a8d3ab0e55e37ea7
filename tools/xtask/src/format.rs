//! Formats every source file, or checks it: those of `cargo fmt`, and the files that it does not find.
//!
//! `cargo fmt` follows `mod` lines as they are written and expands no macro, so it misses the modules that `components!` and
//! `variants!` declare. Their lines are read here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The edition of every crate, which `rustfmt` needs.
const EDITION: &str = "2024";

/// The macros whose lines declare modules, `pub mod file::Kind;`.
const LISTS: [&str; 3] = [
    "counterpoint_framework::components! {",
    "counterpoint_framework::variants! {",
    "counterpoint::component::variants! {",
];

/// Sources that a build script compiles, which are part of no crate.
const ALONE: [&str; 1] = ["tools/cuda/runtime/library/lib.rs"];

/// Formats, or with `check` fails if something is not formatted.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let root = crate::tree::root()?;
    let mut listed = Vec::new();
    visit(&root, &mut listed)?;
    if listed.is_empty() {
        return Err("no list of components was found: how are they declared now?".to_owned());
    }
    let cargo = |manifest: &str| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["fmt", "--all", "--manifest-path"]).arg(root.join(manifest)).arg("--");
        command
    };
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", EDITION]).args(&listed).args(ALONE.map(|file| root.join(file)));
    // Crates that need more than a Rust toolchain are outside of the workspace.
    let manifests = ["Cargo.toml", "tools/e2e/Cargo.toml", "tools/fuzz/Cargo.toml", "tools/peers/Cargo.toml"];
    for mut command in manifests.into_iter().map(cargo).chain([rustfmt]) {
        command.args(check.then_some("--check"));
        let status = command.status().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        if !status.success() {
            return Err(format!("{:?} failed; `cargo xtask fmt` formats everything", command.get_program()));
        }
    }
    Ok(())
}

/// Adds the files that lists in this folder, and in those below, declare.
fn visit(folder: &Path, listed: &mut Vec<PathBuf>) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "out"].contains(&name.as_str()) {
                visit(&path, listed)?;
            }
        } else if name == "mod.rs" || name == "lib.rs" {
            let text = std::fs::read_to_string(&path).map_err(fail)?;
            for module in modules(&text) {
                let [file, nested] = [format!("{module}.rs"), format!("{module}/mod.rs")];
                let found =
                    [file, nested].map(|name| folder.join(name)).into_iter().find(|path| path.is_file());
                listed.push(found.ok_or_else(|| format!("{}: no file for `{module}`", path.display()))?);
            }
        }
    }
    Ok(())
}

/// The modules that the lists of a file declare.
fn modules(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter_map(move |line| {
        inside = LISTS.contains(&line) || inside && line != "}";
        let line = line.trim_start().strip_prefix("pub ").unwrap_or(line.trim_start());
        let (module, _) = line.strip_prefix("mod ").filter(|_| inside)?.split_once("::")?;
        Some(module)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_lists_are_found() {
        let [components, variants, exported] = LISTS;
        let text = format!(
            "mod lane;\n\n{components}\n    /// Registers.\n    fn register;\n\n    pub mod pcie::PcieLink;\n    \
             mod storage::Storage;\n}}\n\nmod other;\n\n{variants}\n    fn register, of dyn Policy;\n    mod a::B;\n}}\n\n\
             {exported}\n    mod c::D;\n}}\n"
        );
        assert_eq!(modules(&text).collect::<Vec<_>>(), ["pcie", "storage", "a", "c"]);
    }
}
