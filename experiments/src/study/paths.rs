//! Paths of a study's files, and positions of its settings in the study file.

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_framework::model::{Key, Node, SourceMap};
use counterpoint_framework::topology::{beside, flow};
use counterpoint_simulation::application::{SEPARATOR, SETTING_PREFIX};

use super::file::StudyFile;

/// The folders in which a study's names are looked for first.
pub(super) struct NearStudy<'a> {
    /// The study's file.
    pub study: &'a str,
    /// The folder from which it is run.
    pub from: &'a Path,
}

impl NearStudy<'_> {
    /// A name, or the path of the file beside the study that it means where the folder from which it is run has none. Several names with
    /// `+` between them are applications that run together.
    pub(super) fn found(&self, names: &str) -> String {
        let one = |name: &str| {
            let near = beside(self.study, name);
            let is_beside = !self.from.join(name).is_file() && self.from.join(&near).is_file();
            if is_beside { near } else { name.to_owned() }
        };
        names.split(SEPARATOR).map(|name| one(name.trim())).collect::<Vec<_>>().join(SEPARATOR)
    }
}

/// Settings of a study by their texts, each with its position and its text.
pub(super) fn settings_of(file: &StudyFile, sources: &SourceMap) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    let mut add = |prefix: &str, key: &Key, value: &Node| {
        for value in value.as_list().unwrap_or(std::slice::from_ref(value)).iter().chain([value]) {
            let text = format!("{prefix}{}={}", key.name, flow(value));
            let place = format!("{}: {text}", sources.place(key.span));
            places.entry(text).or_insert(place);
        }
    };
    for one in file.machine.0.iter().chain(&file.applications.0) {
        one.set.0.iter().for_each(|(key, value)| add("", key, &value.0));
    }
    for (_, scale) in &file.scales.0 {
        scale.0.iter().for_each(|(key, value)| add(SETTING_PREFIX, key, &value.0));
    }
    for (key, values) in &file.vary.0 {
        values.iter().for_each(|value| add("", key, &value.0));
    }
    for (_, run) in &file.runs.0 {
        let entries = run.0.as_map().unwrap_or_default();
        entries.iter().for_each(|(key, value)| add("", key, value));
    }
    places
}
