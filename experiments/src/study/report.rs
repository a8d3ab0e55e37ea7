//! The results of a study as a page: figures, tables and manifests in one file that needs nothing else, and beside it every
//! figure as SVG, PNG and CSV.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use counterpoint_report::{Chart, Page, Table, WIDE, png, svg};
use counterpoint_simulation::output::{Folder, MACHINE, MANIFEST, WriteError};

use super::chart::chart;
use super::store::point_folder;
use super::table::Results;
use super::{Study, index};

/// The page.
pub const PAGE: &str = "report.html";
const FIGURES: &str = "figures";

/// Draws the results in the folder of a study, and returns the page's path.
///
/// # Errors
/// If the folder is not that of a study, with the reason, or cannot be written to.
pub fn report(folder: &Path) -> Result<PathBuf, String> {
    let (study, results) = index::read(folder)?;
    let charts: Vec<Chart> = study.figures.iter().map(|figure| chart(figure, &results)).collect();
    write(folder, &study, &results, &charts).map_err(|error| error.to_string())?;
    Ok(folder.join(PAGE))
}

fn write(folder: &Path, study: &Study, results: &Results, charts: &[Chart]) -> Result<(), WriteError> {
    index::write_results(folder, results)?;
    let figures = Folder::at(&folder.join(FIGURES))?;
    for (number, chart) in charts.iter().enumerate() {
        let name = file_name(number, &chart.title);
        figures.write(&format!("{name}.svg"), |out| out.write_all(svg(chart, WIDE).as_bytes()))?;
        figures.write(&format!("{name}.csv"), |out| chart.write_csv(out))?;
        let path = figures.path().join(format!("{name}.png"));
        let drawn = png(chart, &path, WIDE);
        drawn.map_err(|error| WriteError { path, error: std::io::Error::other(error) })?;
    }
    let page = Page {
        title: &study.name,
        description: study.description.as_deref(),
        facts: &facts(study, results),
        charts,
        table: &points(results),
        documents: &documents(study, results, folder),
    };
    Folder::at(folder)?.write(PAGE, |out| out.write_all(page.html().as_bytes()))
}

fn facts(study: &Study, results: &Results) -> String {
    let mut facts = vec![format!("{} of {} points are finished", results.rows.len(), study.points.len())];
    if let Some(paper) = &study.paper {
        let figure = paper.figure.as_ref().map(|figure| format!(", {figure}")).unwrap_or_default();
        facts.insert(0, format!("after {}{figure}", paper.title));
    }
    facts.extend(study.chosen.scale.as_ref().map(|scale| format!("scale {scale}")));
    facts.extend(study.chosen.machine.as_ref().map(|machine| format!("on {machine}")));
    format!("{}.", facts.join("; "))
}

fn points(results: &Results) -> Table {
    let rows = results.rows.iter().map(|row| {
        let value = |name| row.values.get(name).copied();
        (row.labels.clone(), results.names.iter().map(value).collect())
    });
    Table {
        heading: "All points".to_owned(),
        labels: results.dimensions.clone(),
        names: results.names.iter().map(|name| results.heading(name)).collect(),
        rows: rows.collect(),
    }
}

/// The study, the manifest of each point, and every machine once.
fn documents(study: &Study, results: &Results, folder: &Path) -> Vec<(String, String)> {
    let mut documents = vec![("The study".to_owned(), study.text.clone())];
    let mut machines: BTreeMap<String, usize> = BTreeMap::new();
    for row in &results.rows {
        let files = point_folder(folder, &row.key);
        let read = |name: &str| std::fs::read_to_string(files.join(name)).ok();
        let machine = read(MACHINE).map(|text| {
            let next = machines.len() + 1;
            *machines.entry(text).or_insert(next)
        });
        let machine = machine.map(|number| format!(", machine {number}")).unwrap_or_default();
        documents.push((format!("{}{machine}", row.labels.join(" / ")), read(MANIFEST).unwrap_or_default()));
    }
    let mut machines: Vec<(String, usize)> = machines.into_iter().collect();
    machines.sort_by_key(|(_, number)| *number);
    documents.extend(machines.into_iter().map(|(text, number)| (format!("Machine {number}"), text)));
    documents
}

/// A title as the name of a file: `1-speed-up-over-lrr`.
fn file_name(number: usize, title: &str) -> String {
    let mut name = format!("{}", number + 1);
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        name.push('-');
        name.push_str(&word.to_ascii_lowercase());
    }
    name
}
