//! A CSV text with named columns, and its errors by line.

use std::path::Path;

use counterpoint::component::{Diagnostic, Diagnostics, FileId, SourceMap, Span};
use csv::StringRecord;

/// A CSV text and the name that errors give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// Text of the file. The first line has the names of the columns, in any order; unknown columns are
    /// ignored.
    pub text: &'a str,
}

/// A CSV file that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    name: String,
    text: String,
}

impl Text {
    /// Reads a file.
    ///
    /// # Errors
    /// A sentence with the path, if it cannot be read.
    pub fn read(path: &Path) -> Result<Text, String> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        Ok(Text { name: path.display().to_string(), text })
    }

    /// The text with the name of the file.
    pub fn source(&self) -> Source<'_> {
        Source { name: &self.name, text: &self.text }
    }
}

/// The rows of a text, each with the wanted columns in their order.
pub(super) struct Table<const COLUMNS: usize> {
    columns: [&'static str; COLUMNS],
    pub(super) rows: Vec<Row<COLUMNS>>,
}

pub(super) struct Row<const COLUMNS: usize> {
    /// The whole line.
    pub(super) span: Span,
    cells: [String; COLUMNS],
}

#[derive(Clone, Copy)]
pub(super) enum Numbers {
    /// Above 0.
    Positive,
    /// 0 and above.
    NotNegative,
    /// 0 to 1.
    Fraction,
}

impl Numbers {
    fn has(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Numbers::Positive => number > 0.0,
                Numbers::NotNegative => number >= 0.0,
                Numbers::Fraction => (0.0..=1.0).contains(&number),
            }
    }

    fn say(self) -> &'static str {
        match self {
            Numbers::Positive => "a number above 0",
            Numbers::NotNegative => "a number that is not below 0",
            Numbers::Fraction => "a number from 0 to 1",
        }
    }
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// The rows of a text. Lines that are none, and columns that lack, are reported.
    pub(super) fn read(
        source: Source<'_>,
        columns: [&'static str; COLUMNS],
        sources: &mut SourceMap,
        errors: &mut Diagnostics,
    ) -> Self {
        let file = sources.add(source.name, source.text);
        let mut table = Table { columns, rows: Vec::new() };
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source.text.as_bytes());
        let head = match reader.headers() {
            Ok(head) => head.clone(),
            Err(error) => {
                errors.error(line_at(source.text, file, 0), error.to_string());
                return table;
            }
        };
        let mut places = [None; COLUMNS];
        for (place, column) in places.iter_mut().zip(columns) {
            *place = head.iter().position(|title| title == column);
            if place.is_none() {
                let problem =
                    Diagnostic::new(line_at(source.text, file, 0), format!("there is no column `{column}`"));
                errors.report(problem.suggest(column, &head));
            }
        }
        if places.contains(&None) {
            return table;
        }
        let cell = |record: &StringRecord, place: Option<usize>| {
            place.and_then(|place| record.get(place)).unwrap_or_default().to_owned()
        };
        for record in reader.into_records() {
            match record {
                Ok(record) => {
                    let start = record.position().map_or(0, csv::Position::byte);
                    let span = line_at(source.text, file, start as usize);
                    table.rows.push(Row { span, cells: places.map(|place| cell(&record, place)) });
                }
                Err(error) => {
                    let start = error.position().map_or(0, csv::Position::byte);
                    let span = line_at(source.text, file, start as usize);
                    errors.error(span, "the line does not have as many cells as there are columns");
                }
            }
        }
        table
    }

    pub(super) fn text<'a>(&self, row: &'a Row<COLUMNS>, column: &str) -> &'a str {
        let place = self.columns.iter().position(|name| *name == column);
        place.map_or("", |place| row.cells[place].as_str())
    }

    /// The number of a cell. One that is none, or not among those that it may be, is reported.
    pub(super) fn number(
        &self,
        row: &Row<COLUMNS>,
        column: &str,
        numbers: Numbers,
        errors: &mut Diagnostics,
    ) -> f64 {
        let text = self.text(row, column);
        match text.parse::<f64>() {
            Ok(number) if numbers.has(number) => number,
            _ => {
                errors.error(row.span, format!("`{text}` in `{column}` is not {}", numbers.say()));
                1.0
            }
        }
    }

    /// The whole number of a cell, from `least` on. One that is none is reported.
    pub(super) fn whole(
        &self,
        row: &Row<COLUMNS>,
        column: &str,
        least: u32,
        errors: &mut Diagnostics,
    ) -> u32 {
        let text = self.text(row, column);
        match text.parse::<u32>() {
            Ok(number) if number >= least => number,
            _ => {
                errors
                    .error(row.span, format!("`{text}` in `{column}` is not a whole number from {least} on"));
                least
            }
        }
    }
}

/// The line that begins at a byte, or behind the ends of lines that are there.
fn line_at(text: &str, file: FileId, from: usize) -> Span {
    let rest = text.get(from..).unwrap_or_default();
    let start = from + rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    let line = text.get(start..).unwrap_or_default();
    let length = line.find(['\r', '\n']).unwrap_or(line.len());
    Span { file, start: start as u32, end: (start + length) as u32 }
}
