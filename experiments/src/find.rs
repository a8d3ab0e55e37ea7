//! Where machines and applications are found by name.

use std::path::{Path, PathBuf};

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

/// The file of a name: the path itself, or the first of its places in `start` or a folder above.
///
/// # Errors
/// A sentence with the places that were looked at and the names that exist.
pub fn find(sort: Sort, name: &str, start: &Path) -> Result<String, String> {
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
    let known = list(sort, start);
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
pub fn list(sort: Sort, start: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for folder in start.ancestors() {
        let place = match sort {
            Sort::Machine => folder.join("topologies/systems"),
            Sort::Overlay => folder.join("topologies/overlays"),
            Sort::Application => folder.join("experiments/applications"),
            Sort::Study => folder.join("experiments/studies"),
        };
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
        assert!(find(Sort::Machine, "own.yaml", &inner).unwrap().ends_with("a/b/own.yaml"));
        assert!(find(Sort::Machine, "tiny", &inner).unwrap().ends_with("topologies/systems/tiny.yaml"));
        assert!(find(Sort::Application, "heat", &inner).is_ok());
        let missing = find(Sort::Application, "haet", &inner).unwrap_err();
        assert!(missing.contains("did you mean `heat`?"), "{missing}");
        assert_eq!(list(Sort::Machine, &inner), ["tiny"]);
    }
}
