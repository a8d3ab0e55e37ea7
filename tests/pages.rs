//! Tables of a paper's page, held against the studies that compute them.

pub use crate::points::Point;
use crate::points::run_points;

/// Runs the points of a study whose names contain one of these texts, and returns them.
pub fn study(name: &str, arguments: &[&str], filters: &[&str]) -> Vec<Point> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let mut points = Vec::new();
    for filter in filters {
        // The table of a folder has the points of all runs so far.
        points = run_points(name, filter, &out, arguments);
    }
    points
}

/// A value of a point, if it has this column and a number in it.
pub fn value(point: &Point, column: &str) -> Option<f64> {
    point.get(column)?.parse().ok()
}

/// The point whose values of these dimensions are these.
pub fn find<'a>(points: &'a [Point], wanted: &[(&str, &str)]) -> Option<&'a Point> {
    let is_wanted = |point: &&Point| {
        wanted.iter().all(|(name, value)| point.get(*name).is_some_and(|found| found == value))
    };
    points.iter().find(is_wanted)
}

/// A number of a table.
struct Cell {
    row: String,
    column: String,
    number: f64,
    decimals: i32,
}

/// The numbers of a table of a page: what a cell begins with, before a unit or the paper's value in brackets.
pub struct Table(Vec<Cell>);

impl Table {
    /// The first table behind a heading. A row has the name of its cells before the first number, joined by ` / `. A head such as `MI` behind
    /// `C2050: CI` is of the C2050. Several numbers of a cell have their places behind the head: `Pagoda 1`, `Pagoda 2`.
    pub fn of(page: &str, heading: &str) -> Self {
        let is_heading = |line: &str| {
            line.starts_with('#') && line.trim_start_matches('#').trim_start().starts_with(heading)
        };
        let behind = page.lines().skip_while(|line| !is_heading(line));
        let mut lines =
            behind.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let head = heads(lines.next().expect("a table behind the heading"));
        let rows = lines.skip(1).flat_map(|line| {
            let texts = split(line);
            let named = 1 + texts[1..].iter().take_while(|text| numbers(text).is_empty()).count();
            let row = texts[..named].join(" / ");
            let cells = head.iter().zip(texts).skip(named).flat_map(|(column, text)| {
                let found = numbers(&text);
                assert!(!found.is_empty() || ["", "–"].contains(&&*text), "`{text}` is no number");
                let alone = found.len() == 1;
                let named =
                    move |place: usize| if alone { column.clone() } else { format!("{column} {place}") };
                found
                    .into_iter()
                    .zip(1..)
                    .map(move |(number, place)| (named(place), number))
                    .collect::<Vec<_>>()
            });
            let cell = |(column, (number, decimals))| Cell { row: row.clone(), column, number, decimals };
            cells.map(cell).collect::<Vec<_>>()
        });
        Self(rows.collect())
    }

    /// These rows alone.
    #[must_use]
    pub fn rows(self, names: &[&str]) -> Self {
        self.only(names, |cell| &cell.row)
    }

    /// These columns alone.
    #[must_use]
    pub fn columns(self, names: &[&str]) -> Self {
        self.only(names, |cell| &cell.column)
    }

    fn only(mut self, names: &[&str], name: fn(&Cell) -> &String) -> Self {
        self.0.retain(|cell| names.contains(&name(cell).as_str()));
        for wanted in names {
            assert!(self.0.iter().any(|cell| name(cell) == wanted), "the table has no {wanted}");
        }
        self
    }

    /// Compares these columns, each with its column of the study, of the point that `of` finds for a row.
    #[track_caller]
    pub fn assert_columns<'a>(self, names: &[(&str, &str)], of: impl Fn(&str) -> Option<&'a Point>) {
        let shown: Vec<&str> = names.iter().map(|(shown, _)| *shown).collect();
        self.columns(&shown).assert(|row, column| {
            let (_, name) = names.iter().find(|(shown, _)| *shown == column)?;
            value(of(row)?, name)
        });
    }

    /// Compares these columns, each with a point and a column of the study.
    #[track_caller]
    pub fn assert_points(self, cells: &[(&str, Option<&Point>, &str)]) {
        let shown: Vec<&str> = cells.iter().map(|(shown, ..)| *shown).collect();
        self.columns(&shown).assert(|_, column| {
            let (_, point, name) = cells.iter().find(|(shown, ..)| *shown == column)?;
            value((*point)?, name)
        });
    }

    /// Compares each cell with the value that `of` finds by its row and column, to as many decimals as the cell shows.
    #[track_caller]
    pub fn assert(&self, of: impl Fn(&str, &str) -> Option<f64>) {
        let mut wrong = Vec::new();
        for Cell { row, column, number, decimals } in &self.0 {
            let found = of(row, column);
            let is_near = |found: f64| (found - number).abs() <= 0.501 * 10_f64.powi(-decimals);
            if !found.is_some_and(is_near) {
                wrong.push(format!("{row}, {column}: {number} in the page, {found:?} found"));
            }
        }
        assert!(!self.0.is_empty() && wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn split(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The heads of columns, each with the card of a head before it.
fn heads(line: &str) -> Vec<String> {
    let mut card = String::new();
    let head = |cell: String| {
        let (of, column) = cell.split_once(": ").unwrap_or((&card, &cell));
        let head = format!("{of} {column}").trim().to_owned();
        card = of.to_owned();
        head
    };
    split(line).into_iter().map(head).collect()
}

/// Numbers at the beginning of a cell, each with the count of its decimals. A unit or a value in brackets may follow; a cell with other text
/// has no numbers.
fn numbers(text: &str) -> Vec<(f64, i32)> {
    let number = |word: &str| {
        let word = word.replace(',', "");
        let decimals = word.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some((word.parse().ok()?, i32::try_from(decimals).unwrap()))
    };
    let found: Vec<_> = text.split(' ').map_while(number).collect();
    match text.split(' ').nth(found.len()) {
        Some(next) if !next.starts_with(['(', '%']) => Vec::new(),
        _ => found,
    }
}
