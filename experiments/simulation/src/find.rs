//! Where machines and applications are found by name.

use std::path::{Path, PathBuf};

use counterpoint_framework::model::Registry;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A machine.
    Machine,
    /// An overlay.
    Overlay,
    /// An application.
    Application,
    /// A study.
    Study,
}

impl Sort {
    /// The places of a name below a project's folder.
    fn places(self, name: &str) -> Vec<String> {
        match self {
            Sort::Machine => vec![
                format!("topologies/{name}"),
                format!("topologies/systems/{name}.yaml"),
                format!("topologies/systems/{name}"),
            ],
            Sort::Overlay => vec![format!("topologies/{name}"), format!("topologies/overlays/{name}.yaml")],
            Sort::Application => vec![format!("experiments/applications/{name}/{name}.yaml")],
            Sort::Study => vec![format!("experiments/studies/{name}.yaml")],
        }
    }

    fn word(self) -> &'static str {
        match self {
            Sort::Machine => "machine",
            Sort::Overlay => "overlay",
            Sort::Application => "application",
            Sort::Study => "study",
        }
    }
}

/// A folder of an extension with files of one sort: machines, overlays and studies as `NAME.yaml`, applications as
/// `NAME/NAME.yaml`.
#[derive(Clone, Debug)]
pub struct Folder {
    sort: Sort,
    path: PathBuf,
}

impl Folder {
    /// A folder below that of a crate (`env!("CARGO_MANIFEST_DIR")`).
    pub fn new(sort: Sort, of_crate: &str, name: &str) -> Self {
        Folder { sort, path: Path::new(of_crate).join(name) }
    }

    /// The folders of extensions that have files of a sort.
    fn of(sort: Sort, registry: &Registry) -> impl Iterator<Item = &Path> {
        registry.all::<Folder>().filter(move |folder| folder.sort == sort).map(|folder| &*folder.path)
    }
}

/// The file of a name: the path itself, the first of its places in `start` or a folder above, or in a folder of an extension.
///
/// # Errors
/// A sentence with the places that were looked at and the names that exist.
pub fn find(sort: Sort, name: &str, start: &Path, registry: &Registry) -> Result<String, String> {
    let given = start.join(name);
    if given.is_file() {
        return Ok(short(&given));
    }
    let places = sort.places(name);
    for folder in start.ancestors() {
        if let Some(found) = places.iter().map(|place| folder.join(place)).find(|path| path.is_file()) {
            return Ok(short(&found));
        }
    }
    for folder in Folder::of(sort, registry) {
        let file = match sort {
            Sort::Application => folder.join(name).join(format!("{name}.yaml")),
            _ => folder.join(format!("{name}.yaml")),
        };
        if file.is_file() {
            return Ok(short(&file));
        }
    }
    let known = list(sort, start, registry);
    let word = sort.word();
    let mut message = format!("there is no {word} `{name}`: neither the file nor {}", places.join(" nor "));
    if let Some(near) =
        counterpoint_framework::model::diagnostics::nearest(name, known.iter().map(String::as_str))
    {
        message.push_str(&format!("\n  help: did you mean `{near}`?"));
    } else if !known.is_empty() {
        message.push_str(&format!("\n  help: there are: {}", known.join(", ")));
    }
    Err(message)
}

/// The names that can be found from a folder, in order.
pub fn list(sort: Sort, start: &Path, registry: &Registry) -> Vec<String> {
    let mut names = Vec::new();
    let place = match sort {
        Sort::Machine => "topologies/systems",
        Sort::Overlay => "topologies/overlays",
        Sort::Application => "experiments/applications",
        Sort::Study => "experiments/studies",
    };
    let above = start.ancestors().map(|folder| folder.join(place));
    for place in above.chain(Folder::of(sort, registry).map(Path::to_owned)) {
        let Ok(entries) = std::fs::read_dir(place) else { continue };
        let paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        names.extend(paths.iter().filter_map(|path| {
            let stem = path.file_stem()?.to_str()?.to_owned();
            let is_one = match sort {
                Sort::Application => path.join(format!("{stem}.yaml")).is_file(),
                _ => path.extension().is_some_and(|extension| extension == "yaml"),
            };
            is_one.then_some(stem)
        }));
    }
    names.sort();
    names.dedup();
    names
}

/// A path as a user would write it from the current folder.
fn short(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_here_and_above() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        let systems = root.path().join("topologies/systems");
        let application = root.path().join("experiments/applications/heat");
        for folder in [&inner, &systems, &application] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(systems.join("tiny.yaml"), "").unwrap();
        std::fs::write(application.join("heat.yaml"), "").unwrap();
        std::fs::write(inner.join("own.yaml"), "").unwrap();
        let mut registry = Registry::default();
        let crate_of = root.path().join("extension");
        std::fs::create_dir_all(crate_of.join("machines")).unwrap();
        std::fs::write(crate_of.join("machines/huge.yaml"), "").unwrap();
        registry.add(Folder::new(Sort::Machine, &crate_of.display().to_string(), "machines"));
        let found = |sort, name| find(sort, name, &inner, &registry);
        assert!(found(Sort::Machine, "own.yaml").unwrap().ends_with("a/b/own.yaml"));
        assert!(found(Sort::Machine, "tiny").unwrap().ends_with("topologies/systems/tiny.yaml"));
        assert!(found(Sort::Machine, "huge").unwrap().ends_with("extension/machines/huge.yaml"));
        assert!(found(Sort::Overlay, "huge").is_err());
        assert!(found(Sort::Application, "heat").is_ok());
        let missing = found(Sort::Application, "haet").unwrap_err();
        assert!(missing.contains("did you mean `heat`?"), "{missing}");
        assert_eq!(list(Sort::Machine, &inner, &registry), ["huge", "tiny"]);
    }
}
