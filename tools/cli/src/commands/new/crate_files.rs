//! The crate of a component: its files, and the crates that it uses.

use std::path::Path;

use super::starters::filled;

/// The crates that it uses, and their folders in a checkout.
const USED: [(&str, &str); 4] = [
    ("counterpoint", "tools/cli"),
    ("counterpoint-framework", "framework"),
    ("counterpoint-protocols", "components/protocols"),
    ("counterpoint-simulation", "experiments/simulation"),
];
/// The same for its build script.
const USED_TO_BUILD: [(&str, &str); 1] = [("counterpoint-archive", "experiments/archive")];

/// The files, with dependencies on a checkout, or on the registry.
pub(super) fn files(name: &str, checkout: Option<&Path>) -> Vec<(String, String)> {
    let library = name.replace('-', "_");
    let (used, to_build) = (dependencies(&USED, checkout), dependencies(&USED_TO_BUILD, checkout));
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

/// Lines of dependencies. The form that is not used is a comment.
fn dependencies(crates: &[(&str, &str)], checkout: Option<&Path>) -> String {
    let lines = crates.iter().flat_map(|(name, folder)| {
        let version = format!("{name} = \"{}\"", env!("CARGO_PKG_VERSION"));
        let path = |from: &Path| {
            let path = from.join(folder).display().to_string();
            format!("{name} = {{ path = \"{}\" }}", path.replace('\\', "\\\\").replace('"', "\\\""))
        };
        match checkout {
            Some(checkout) => [format!("# {version}"), path(checkout)],
            None => [version, format!("# {}", path(Path::new("../counterpoint")))],
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
