//! Index of a study's folder, so that its results can be read without the machines and applications that they
//! came from.

use std::fs;
use std::io;
use std::path::Path;

use counterpoint_framework::topology::Disk;
use counterpoint_simulation::output::{Folder, WriteError};
use serde::{Deserialize, Serialize};

use super::plan::{Chosen, Study, load};
use super::store::PointKey;
use super::table::Results;
use super::values::KnownValues;

/// The study as it was run.
pub const STUDY: &str = "study.yaml";
/// The points and their keys.
pub(crate) const INDEX: &str = "index.json";
/// The results as a table.
pub const RESULTS: &str = "results.csv";

/// The file [`INDEX`].
#[derive(Serialize, Deserialize)]
struct Index {
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

/// Writes the study and the keys of its points.
pub(super) fn write(folder: &Path, study: &Study, keys: &[PointKey]) -> Result<(), WriteError> {
    let points = study.points.iter().zip(keys);
    let entry =
        |(point, key): (&super::Point, &PointKey)| Entry { labels: point.labels.clone(), key: key.clone() };
    let index = Index {
        chosen: study.chosen.clone(),
        values: study.values.clone(),
        points: points.map(entry).collect(),
    };
    let folder = Folder::at(folder)?;
    folder.write(STUDY, |out| out.write_all(study.text.as_bytes()))?;
    folder.write(INDEX, |out| {
        serde_json::to_writer_pretty(&mut *out, &index).map_err(io::Error::other)?;
        writeln!(out)
    })
}

/// Writes the results of a study as a table.
///
/// # Errors
/// If they cannot be written.
pub fn write_results(folder: &Path, results: &Results) -> Result<(), WriteError> {
    Folder::at(folder)?.write(RESULTS, |out| results.write(out))
}

/// Whether a folder is one of a study.
///
/// # Errors
/// Why it is none, or that it is damaged.
pub fn check(folder: &Path) -> Result<(), String> {
    read_index(folder).map(drop)
}

/// Reads the study of a folder and the results that are there.
///
/// # Errors
/// Why the folder is none of a study, or is damaged.
pub fn read(folder: &Path) -> Result<(Study, Results), String> {
    let index = read_index(folder)?;
    let study = folder.join(STUDY);
    let study = load(&study.to_string_lossy(), &Disk, &index.chosen, folder, &index.values)
        .map_err(|report| report.render())?;
    let keys: Vec<PointKey> = index.points.into_iter().map(|entry| entry.key).collect();
    if keys.len() != study.points.len() {
        let place = folder.join(INDEX);
        return Err(format!("`{}` and `{STUDY}` beside it have different points", place.display()));
    }
    let results = Results::read(&study, &keys, folder)?;
    Ok((study, results))
}

fn read_index(folder: &Path) -> Result<Index, String> {
    let path = folder.join(INDEX);
    let place = path.display();
    let text = fs::read_to_string(&path).map_err(|error| {
        format!("`{}` is no folder of a study: cannot read `{place}`: {error}", folder.display())
    })?;
    serde_json::from_str(&text).map_err(|error| format!("`{place}` is damaged: {error}"))
}
