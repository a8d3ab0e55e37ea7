//! Index of a study's folder, so that its results can be read without the machines and applications that they
//! came from.

use std::fs;
use std::path::Path;

use counterpoint_framework::topology::Disk;
use counterpoint_simulation::output::{Folder, WriteError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::{Chosen, Study, load};
use super::program::build;
use super::store::PointKey;
use super::table::Results;
use super::values::KnownValues;

/// The study as it was run.
pub const STUDY: &str = "study.yaml";
/// The points and their keys.
pub(crate) const INDEX: &str = "index.json";
/// The results as a table.
pub const RESULTS: &str = "results.csv";

/// A study as executed, and the keys of its points: the files [`STUDY`] and `index.json`.
pub struct Index {
    study: String,
    index: String,
}

/// The file [`INDEX`].
#[derive(Serialize, Deserialize)]
struct Listed {
    /// Version and build of the command that computed the points; empty in folders of versions that did not write it.
    #[serde(default)]
    version: String,
    #[serde(flatten)]
    chosen: Chosen,
    /// The values that the study may name.
    #[serde(default)]
    values: KnownValues,
    points: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    labels: Vec<String>,
    key: PointKey,
}

impl Index {
    /// The index of a study.
    pub fn of(study: &Study, keys: &[PointKey]) -> Self {
        let points = study.points.iter().zip(keys);
        let entry = |(point, key): (&super::Point, &PointKey)| Entry {
            labels: point.labels.clone(),
            key: key.clone(),
        };
        let listed = Listed {
            version: build().to_owned(),
            chosen: study.chosen.clone(),
            values: study.values.clone(),
            points: points.map(entry).collect(),
        };
        let index = serde_json::to_string_pretty(&listed)
            .unwrap_or_else(|error| panic!("the index of a study: {error}"));
        Index { study: study.text.clone(), index: index + "\n" }
    }

    /// Digest that processes must have in common to work at one folder.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for text in [&self.study, &self.index] {
            hasher.update(format!("{}\n", text.len()));
            hasher.update(text);
        }
        hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Writes both files, if they have changed. Returns the version of the command that wrote them before, if it was another one:
    /// points of that version do not count for this one.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Option<String>, WriteError> {
        let before = read_index(folder).ok().map(|index| index.version);
        let place = Folder::at(folder)?;
        for (name, text) in [(STUDY, &self.study), (INDEX, &self.index)] {
            if fs::read(folder.join(name)).is_ok_and(|there| there == text.as_bytes()) {
                continue;
            }
            place.write(name, |out| out.write_all(text.as_bytes()))?;
        }
        Ok(before.filter(|version| !version.is_empty() && version != build()))
    }
}

/// Writes the results of a study as a table.
///
/// # Errors
/// If they cannot be written.
pub fn write_results(folder: &Path, results: &Results) -> Result<(), WriteError> {
    Folder::at(folder)?.write(RESULTS, |out| results.write(out))
}

/// Checks that a folder is that of a study.
///
/// # Errors
/// If the folder is not that of a study, with the reason, or is damaged.
pub fn check(folder: &Path) -> Result<(), String> {
    read_index(folder).map(drop)
}

/// Reads the study of a folder and the results that are there.
///
/// # Errors
/// If the folder is not that of a study, with the reason, or is damaged.
pub fn read(folder: &Path) -> Result<(Study, Results), String> {
    let (study, keys) = read_plan(folder)?;
    let results = Results::read(&study, &keys, folder)?;
    Ok((study, results))
}

/// Reads the study of a folder and the keys of its points.
///
/// # Errors
/// Why the folder is none of a study, or is damaged.
pub fn read_plan(folder: &Path) -> Result<(Study, Vec<PointKey>), String> {
    let index = read_index(folder)?;
    let study = folder.join(STUDY);
    let study = load(&study.to_string_lossy(), &Disk, &index.chosen, folder, &index.values)
        .map_err(|report| report.render())?;
    let keys: Vec<PointKey> = index.points.into_iter().map(|entry| entry.key).collect();
    if keys.len() != study.points.len() {
        let place = folder.join(INDEX);
        return Err(format!("`{}` and `{STUDY}` beside it have different points", place.display()));
    }
    Ok((study, keys))
}

fn read_index(folder: &Path) -> Result<Listed, String> {
    let path = folder.join(INDEX);
    let place = path.display();
    let text = fs::read_to_string(&path).map_err(|error| {
        format!("`{}` is not a folder of a study: cannot read `{place}`: {error}", folder.display())
    })?;
    serde_json::from_str(&text).map_err(|error| format!("`{place}` is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_another_version_is_told() {
        let root = tempfile::tempdir().unwrap();
        let own = |version: &str| {
            let index = format!(
                "{{ \"version\": \"{version}\", \"scale\": null, \"machine\": null, \"points\": [] }}\n"
            );
            Index { study: "counterpoint: 1\n".to_owned(), index }
        };
        let this = own(build());
        assert_eq!(this.write(root.path()).unwrap(), None, "nobody was here");
        assert_eq!(this.write(root.path()).unwrap(), None, "this one was here");
        assert_eq!(own("0.0.1").write(root.path()).unwrap(), None);
        assert_eq!(this.write(root.path()).unwrap(), Some("0.0.1".to_owned()));
        assert_ne!(this.digest(), own("0.0.1").digest());
        // Before an index had a version.
        let old =
            Index { index: "{ \"scale\": null, \"machine\": null, \"points\": [] }\n".to_owned(), ..own("") };
        old.write(root.path()).unwrap();
        assert_eq!(this.write(root.path()).unwrap(), None);
    }
}
