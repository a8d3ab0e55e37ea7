//! The results of a study as a page: figures, tables and manifests in one file that needs nothing else, and beside it every
//! figure as SVG, PNG and CSV.

mod chart;
mod draw;
mod page;

use std::path::{Path, PathBuf};

pub use chart::{Chart, Dot, Series, chart};

use crate::output::{Folder, WriteError};
use crate::study::Study;
use crate::study::index;
use crate::study::table::Results;

/// The page.
pub const PAGE: &str = "report.html";
/// The folder of the figures.
const FIGURES: &str = "figures";

/// The sizes in which a figure is drawn: for a page on a screen, and for one on a phone.
const WIDE: (u32, u32) = (960, 480);
const NARROW: (u32, u32) = (380, 420);

/// Draws the results that are in the folder of a study, and gives the page's path.
///
/// # Errors
/// Why the folder is none of a study, or cannot be written to.
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
        figures.write(&format!("{name}.svg"), |out| out.write_all(draw::svg(chart, WIDE).as_bytes()))?;
        figures.write(&format!("{name}.csv"), |out| chart.write_csv(out))?;
        let path = figures.path().join(format!("{name}.png"));
        let drawn = draw::png(chart, &path, WIDE);
        drawn.map_err(|error| WriteError { path, error: std::io::Error::other(error) })?;
    }
    let page = page::page(study, results, charts, folder);
    Folder::at(folder)?.write(PAGE, |out| out.write_all(page.as_bytes()))
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
