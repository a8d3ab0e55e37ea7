//! Points of studies: their tables, and checks of a study at its smallest scale.

use std::collections::BTreeMap;

use counterpoint_cli::{PAPERS, SUCCESS};
use counterpoint_simulation::find::{ProjectFiles, Sort};
use counterpoint_simulation::registry_with;

use crate::command::call;
use crate::support::root;

/// A point of a study: fields by name of the column.
pub type Point = BTreeMap<String, String>;

/// Runs the points of a study whose names contain a text, with more arguments, and returns the table of the folder.
pub fn run_points(name: &str, filter: &str, out: &str, arguments: &[&str]) -> Vec<Point> {
    let words = ["study", name, "--filter", filter, "--out", out, "--quiet"];
    let called = call(&[&words, arguments].concat());
    assert_eq!(called.status, SUCCESS, "{name}: {}", called.err);
    table(&std::fs::read_to_string(format!("{out}/results.csv")).unwrap())
}

/// A table as rows of fields by name of the column.
pub fn table(text: &str) -> Vec<Point> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().unwrap();
    lines.map(|line| names.iter().cloned().zip(line).collect()).collect()
}

/// Name of a study, filter of its points, number of these points, and columns that are above zero in all of them.
pub type Sound = (&'static str, &'static str, usize, &'static [&'static str]);

/// Runs points of studies at their smallest scale. Bounds and speed-ups come from other runs of the same point, so a whole application
/// must be there.
pub fn assert_sound(studies: &[Sound]) {
    assert_sound_on(&[], studies);
}

/// Runs points of studies with more arguments, such as another machine.
pub fn assert_sound_on(arguments: &[&str], studies: &[Sound]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, filter, points, columns) in studies {
        let out = folder.path().join(name).display().to_string();
        let rows = run_points(name, filter, &out, &[&["--scale", "small"], arguments].concat());
        assert_eq!(rows.len(), *points, "{name}");
        for column in *columns {
            for row in &rows {
                let value = row[*column].parse::<f64>().unwrap();
                assert!(value > 0.0 || *column == "lost_percent", "{name} {column}: {value}");
            }
        }
        assert_eq!(call(&["report", &out]).status, SUCCESS, "{name}");
    }
}

/// Runs points of studies on a copy of a named machine with four SMs instead of `sms`: on all SMs, polling warps take most of the time
/// of a run.
pub fn assert_sound_on_four_sms(machine: &str, sms: &str, studies: &[Sound]) {
    let folder = tempfile::tempdir().unwrap();
    let topologies = root().join("topologies");
    let registry = registry_with(PAPERS);
    let files = ProjectFiles::new(&root(), &registry);
    let text = files.text(&files.find(Sort::Machine, machine).unwrap()).unwrap();
    let fewer = text.replace(sms, "sms: 4");
    assert_ne!(fewer, text);
    let path = folder.path().join(format!("{machine}-of-four-sms.yaml"));
    std::fs::write(&path, fewer.replace("../", &format!("{}/", topologies.display()))).unwrap();
    assert_sound_on(&["--machine", &path.display().to_string()], studies);
}
