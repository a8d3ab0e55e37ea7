//! Tables recorded by a run, read again.

use std::path::Path;

use counterpoint_simulation::output::{EXPOSURE, STATS_CSV};
use csv::StringRecord;

/// A line of `stats.csv`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statistic {
    /// `path.name`.
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
}

/// A line of `exposure.csv`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExposedSpan {
    pub(crate) activity: String,
    /// The time that was exposed, in picoseconds.
    pub(crate) exposed: f64,
}

/// The statistics of the run in a folder.
///
/// # Errors
/// If they cannot be read, or are damaged.
pub(crate) fn statistics(folder: &Path) -> Result<Vec<Statistic>, String> {
    read(folder, STATS_CSV, ["path", "statistic", "value", "unit"], |[path, name, value, unit]| {
        Some(Statistic {
            name: format!("{path}.{name}"),
            value: value.parse().ok().filter(|value: &f64| value.is_finite())?,
            unit: unit.to_owned(),
        })
    })
}

/// Exposed time of the run in a folder.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub(crate) fn exposure(folder: &Path) -> Result<Vec<ExposedSpan>, String> {
    read(folder, EXPOSURE, ["activity", "exposed_ps"], |[activity, exposed]| {
        let exposed = exposed.parse().ok().filter(|value: &f64| value.is_finite())?;
        Some(ExposedSpan { activity: activity.to_owned(), exposed })
    })
}

/// The lines of a table, of some columns only.
fn read<T, const COLUMNS: usize>(
    folder: &Path,
    name: &str,
    columns: [&str; COLUMNS],
    line: impl Fn([&str; COLUMNS]) -> Option<T>,
) -> Result<Vec<T>, String> {
    let path = folder.join(name);
    let problem = |error: csv::Error| match error.kind() {
        csv::ErrorKind::Io(error) => format!("cannot read `{}`: {error}", path.display()),
        _ => format!("`{}` is damaged: {error}", path.display()),
    };
    let mut table = csv::Reader::from_path(&path).map_err(problem)?;
    let head = table.headers().map_err(problem)?.clone();
    let mut places = [0; COLUMNS];
    for (place, column) in places.iter_mut().zip(columns) {
        let found = head.iter().position(|title| title == column);
        *place =
            found.ok_or_else(|| format!("`{}` is damaged: it has no column `{column}`", path.display()))?;
    }
    let mut record = StringRecord::new();
    let mut lines = Vec::new();
    while table.read_record(&mut record).map_err(problem)? {
        let number = record.position().map_or(0, csv::Position::line);
        let damaged = || format!("`{}` is damaged in line {number}", path.display());
        lines.push(line(places.map(|place| record.get(place).unwrap_or_default())).ok_or_else(damaged)?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_tables_are_told_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(folder.path().join(STATS_CSV), text).unwrap();
        assert!(statistics(folder.path()).unwrap_err().starts_with("cannot read `"));
        write("path,statistic,value,unit,description\nsm,hits,3,,Hits.\nsm,wait::mean,2.5,cycles,\n");
        let found = statistics(folder.path()).unwrap();
        let expected = Statistic { name: "sm.wait::mean".to_owned(), value: 2.5, unit: "cycles".to_owned() };
        assert_eq!((found.len(), &found[1]), (2, &expected));
        for (text, problem) in [
            ("path,statistic,value,unit\nsm,hits,3,\nsm,hits,many,\n", "is damaged in line 3"),
            ("path,statistic,value,unit\nsm,hits\n", "is damaged: CSV error"),
            ("path,value,unit\n", "has no column `statistic`"),
        ] {
            write(text);
            let error = statistics(folder.path()).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
