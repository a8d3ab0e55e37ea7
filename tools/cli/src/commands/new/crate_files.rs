//! The crate of a component: its files, and the crates that it uses.

use std::path::PathBuf;

use super::starters::filled;

/// The place of Counterpoint's crates.
pub(super) enum Source {
    /// A checkout, in this folder.
    Checkout(PathBuf),
    /// A repository that Cargo fetches from this address.
    Git(String),
}

/// The command, which `main` alone uses.
const COMMAND: &str = "counterpoint-cli";
/// The crates that it uses, and their folders in a checkout.
const USED: [(&str, &str); 2] = [("counterpoint", "tools/counterpoint"), (COMMAND, "tools/cli")];
/// Crates that the build script uses, which would otherwise have to build the simulator.
const USED_TO_BUILD: [(&str, &str); 1] = [("counterpoint-archive", "experiments/archive")];

/// The files, with dependencies on Counterpoint's crates.
pub(super) fn files(name: &str, source: &Source) -> Vec<(String, String)> {
    let library = name.replace('-', "_");
    let (used, to_build) = (dependencies(&USED, source), dependencies(&USED_TO_BUILD, source));
    let values = [
        ("NAME", name),
        ("LIBRARY", &*library),
        ("DEPENDENCIES", &*used),
        ("BUILD_DEPENDENCIES", &*to_build),
    ];
    let files = [
        ("Cargo.toml".to_owned(), include_str!("../../../templates/component/Cargo.toml.in")),
        ("build.rs".to_owned(), include_str!("../../../templates/component/build.rs.in")),
        ("src/main.rs".to_owned(), include_str!("../../../templates/component/src/main.rs.in")),
        ("src/lib.rs".to_owned(), include_str!("../../../templates/component/src/lib.rs.in")),
        ("src/delay.rs".to_owned(), include_str!("../../../templates/component/src/delay.rs.in")),
        (format!("machines/{name}.yaml"), include_str!("../../../templates/component/machines/machine.yaml")),
    ];
    files.map(|(file, text)| (format!("{name}/{file}"), filled(text, &values))).into()
}

/// Lines of dependencies. The papers and the way to Jaeger, which are features of the command, are not built.
fn dependencies(crates: &[(&str, &str)], source: &Source) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let lines = crates.iter().map(|(name, folder)| {
        let place = match source {
            Source::Checkout(root) => {
                format!("path = \"{}\"", quoted(&root.join(folder).display().to_string()))
            }
            Source::Git(address) => format!("git = \"{}\"", quoted(address)),
        };
        let features = if *name == COMMAND { ", default-features = false" } else { "" };
        format!("{name} = {{ {place}{features} }}")
    });
    lines.collect::<Vec<_>>().join("\n")
}
