//! Statistics as `stats.txt`, one line a number in gem5's manner, and as JSON by path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::number::Figure;
use super::quoted;
use crate::telemetry::{PERCENTILES, StatLabel, StatRow, StatValue};

/// The statistics of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics<'a> {
    /// The run ended before everything was done.
    pub partial: bool,
    /// Statistics of the whole run, drawn from the components'.
    pub run: &'a [StatRow],
    /// The components'.
    pub components: &'a [StatRow],
}

impl<'a> Statistics<'a> {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &'a StatRow> {
        self.run.iter().chain(self.components)
    }
}

/// The statistics in the text. The files for programs have all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Statistics that are not zero.
    #[default]
    Counted,
    /// All.
    All,
}

impl Shown {
    fn has(self, value: StatValue) -> bool {
        let is_zero = match value {
            StatValue::Count(count) | StatValue::Distribution { count, .. } => count == 0,
            StatValue::Ratio { part, .. } => part == 0,
        };
        self == Shown::All || !is_zero
    }
}

/// The widths of the columns of the text.
const NAME: usize = 60;
const VALUE: usize = 20;

/// The longest gap before a value.
const SPACES: &str = match std::str::from_utf8(&[b' '; NAME + 1 + VALUE]) {
    Ok(spaces) => spaces,
    Err(_) => unreachable!(),
};

/// Writes `path.name  value  # doc (unit)`, a line for each number. The seconds that the simulation took are for the reader, too:
/// no other file has them, so that the same run leaves the same bytes there.
///
/// # Errors
/// Those of `out`.
pub fn write_text(
    statistics: &Statistics<'_>,
    shown: Shown,
    host_seconds: Option<f64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let state = if statistics.partial { "partial" } else { "complete" };
    writeln!(out, "---------- Begin Simulation Statistics ({state}) ----------")?;
    if let Some(seconds) = host_seconds {
        let (name, doc) = ("host_seconds", "Wall-clock time of the simulation.");
        writeln!(out, "{name:<NAME$} {seconds:>VALUE$.3}  # {doc} (s)")?;
    }
    let mut zeros = 0_u64;
    let (mut docs, mut line, mut number) = (Labels::new(one_line), String::new(), String::new());
    for row in statistics.rows() {
        if !shown.has(row.value) {
            zeros += 1;
            continue;
        }
        let doc = docs.of(&row.label);
        for Number { name, value, unit } in numbers(row) {
            line.clear();
            line.extend([&row.path, ".", row.label.name]);
            if !name.is_empty() {
                line.extend(["::", name]);
            }
            number.clear();
            value.write(&mut number);
            let gap = NAME.saturating_sub(line.chars().count()) + 1 + VALUE.saturating_sub(number.len());
            line.extend([&SPACES[..gap], &number, "  # ", doc, " (", unit, ")\n"]);
            out.write_all(line.as_bytes())?;
        }
    }
    if zeros > 0 {
        writeln!(out, "---------- {zeros} statistics are zero and left out (--stats all) ----------")?;
    }
    writeln!(out, "---------- End Simulation Statistics ----------")
}

/// Writes `{ partial, run: { path: { name: { value, unit, doc } } }, components: { … } }`, in the order of the rows.
///
/// # Errors
/// Those of `out`.
pub fn write_json(statistics: &Statistics<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\n  \"partial\": {}", statistics.partial)?;
    for (name, rows) in [("run", statistics.run), ("components", statistics.components)] {
        write!(out, ",\n  \"{name}\": {{")?;
        write_paths(rows, out)?;
        write!(out, "\n  }}")?;
    }
    writeln!(out, "\n}}")
}

fn write_paths(rows: &[StatRow], out: &mut dyn Write) -> io::Result<()> {
    let mut labels = Labels::new(|label| {
        let (name, unit, doc) = (quoted(label.name), quoted(unit(label)), quoted(&one_line(label)));
        (name, format!("\"unit\": {unit}, \"doc\": {doc} }}"))
    });
    let mut line = String::new();
    for (index, rows) in rows.chunk_by(|a, b| a.path == b.path).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}\n    {}: {{", quoted(&rows[0].path))?;
        for (index, row) in rows.iter().enumerate() {
            line.clear();
            line.push_str(if index == 0 { "" } else { "," });
            let (name, rest) = labels.of(&row.label);
            line.extend(["\n      ", name, ": { "]);
            for Number { name, value, .. } in numbers(row) {
                line.extend(["\"", if name.is_empty() { "value" } else { name }, "\": "]);
                value.write(&mut line);
                line.push_str(", ");
            }
            line.push_str(rest);
            out.write_all(line.as_bytes())?;
        }
        write!(out, "\n    }}")?;
    }
    Ok(())
}

/// The unit of a statistic without another.
const COUNT: &str = "count";

pub(super) fn unit(label: &StatLabel) -> &'static str {
    if label.unit.is_empty() { COUNT } else { label.unit }
}

/// A number of a statistic: its name within the statistic, which is empty if there is no other, the number, its unit.
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) value: Figure,
    pub(super) unit: &'static str,
}

impl Number {
    /// The name of a statistic with that of the number.
    pub(super) fn named<'a>(&self, statistic: &'a str) -> Cow<'a, str> {
        match self.name {
            "" => Cow::Borrowed(statistic),
            name => Cow::Owned(format!("{statistic}::{name}")),
        }
    }
}

pub(super) fn numbers(row: &StatRow) -> impl Iterator<Item = Number> {
    let own = unit(&row.label);
    let number = |name, value| Some(Number { name, value, unit: own });
    let mut all = [const { None }; 5 + PERCENTILES.len()];
    match row.value {
        StatValue::Count(count) => all[0] = number("", Figure::Whole(count)),
        StatValue::Ratio { part, whole } => all[0] = number("", Figure::Quotient(part, whole)),
        StatValue::Distribution { count, sum, min, max, percentiles } => {
            all[0] = Some(Number { name: "count", value: Figure::Whole(count), unit: COUNT });
            all[1] = number("sum", Figure::Whole(sum));
            all[2] = number("mean", Figure::Quotient(sum, count));
            all[3] = number("min", Figure::Whole(min));
            for (place, ((name, _), value)) in all[4..].iter_mut().zip(PERCENTILES.iter().zip(percentiles)) {
                *place = number(name, Figure::Whole(value));
            }
            all[4 + PERCENTILES.len()] = number("max", Figure::Whole(max));
        }
    }
    all.into_iter().flatten()
}

/// Texts of labels. Components of a kind have the same labels, so each text is made once.
pub(super) struct Labels<T> {
    make: fn(&StatLabel) -> T,
    /// By the address of the description, which few labels share.
    made: BTreeMap<usize, Vec<(StatLabel, T)>>,
}

impl<T> Labels<T> {
    pub(super) fn new(make: fn(&StatLabel) -> T) -> Self {
        Labels { make, made: BTreeMap::new() }
    }

    pub(super) fn of(&mut self, label: &StatLabel) -> &T {
        let near = self.made.entry(label.doc.as_ptr().addr()).or_default();
        let known = near.iter().position(|(known, _)| known == label);
        let at = known.unwrap_or_else(|| {
            near.push((*label, (self.make)(label)));
            near.len() - 1
        });
        &near[at].1
    }
}

/// The description of a statistic on one line.
pub(super) fn one_line(label: &StatLabel) -> String {
    label.doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::StatLabel;

    fn rows() -> Vec<StatRow> {
        let row = |path: &str, name, unit, doc, value| StatRow {
            path: path.to_owned(),
            label: StatLabel { name, unit, doc },
            value,
        };
        let spread = StatValue::Distribution { count: 4, sum: 10, min: 1, max: 4, percentiles: [2, 4, 4, 4] };
        vec![
            row("gpu.sm[0]", "cycles", "cycles", " Cycles with\n a warp.", StatValue::Count(12)),
            row("gpu.sm[0]", "wait", "", "Waits.", spread),
            row("host", "commands", "", "Commands \"sent\".", StatValue::Count(3)),
            row("host", "rate", "", "Commands a page.", StatValue::Ratio { part: 3, whole: 8 }),
        ]
    }

    #[test]
    fn text_has_a_line_for_each_number() {
        let mut out = Vec::new();
        let rows = rows();
        let statistics = Statistics { run: &rows[..1], components: &rows[1..], ..Statistics::default() };
        write_text(&statistics, Shown::All, Some(1.23456), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "---------- Begin Simulation Statistics (complete) ----------",
                "host_seconds 1.235 # Wall-clock time of the simulation. (s)",
                "gpu.sm[0].cycles 12 # Cycles with a warp. (cycles)",
                "gpu.sm[0].wait::count 4 # Waits. (count)",
                "gpu.sm[0].wait::sum 10 # Waits. (count)",
                "gpu.sm[0].wait::mean 2.500000 # Waits. (count)",
                "gpu.sm[0].wait::min 1 # Waits. (count)",
                "gpu.sm[0].wait::p50 2 # Waits. (count)",
                "gpu.sm[0].wait::p90 4 # Waits. (count)",
                "gpu.sm[0].wait::p99 4 # Waits. (count)",
                "gpu.sm[0].wait::p99.9 4 # Waits. (count)",
                "gpu.sm[0].wait::max 4 # Waits. (count)",
                "host.commands 3 # Commands \"sent\". (count)",
                "host.rate 0.375000 # Commands a page. (count)",
                "---------- End Simulation Statistics ----------",
            ]
        );
    }

    #[test]
    fn json_groups_by_component_and_parses() {
        let mut out = Vec::new();
        let rows = rows();
        let statistics = Statistics { partial: true, run: &rows[2..], components: &rows[..2] };
        write_json(&statistics, &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["partial"], true);
        let sm = &value["components"]["gpu.sm[0]"];
        assert_eq!(sm["cycles"]["value"], 12);
        assert_eq!(sm["cycles"]["unit"], "cycles");
        assert_eq!((&sm["wait"]["mean"], &sm["wait"]["p99.9"]), (&2.5.into(), &4.into()));
        assert_eq!((&sm["wait"]["count"], &sm["wait"]["unit"]), (&4.into(), &"count".into()));
        assert_eq!(value["run"]["host"]["commands"]["doc"], "Commands \"sent\".");
        assert_eq!(value["run"]["host"]["rate"]["value"], 0.375);
    }

    #[test]
    fn text_leaves_zeros_out_unless_all_are_wanted() {
        let value = |value| StatRow {
            path: "x".to_owned(),
            label: StatLabel { name: "n", unit: "", doc: "N." },
            value,
        };
        let nothing = StatValue::Distribution { count: 0, sum: 0, min: 0, max: 0, percentiles: [0; 4] };
        let rows =
            [StatValue::Count(0), nothing, StatValue::Ratio { part: 0, whole: 8 }, StatValue::Count(1)];
        let rows = rows.map(value);
        let statistics = Statistics { components: &rows, ..Statistics::default() };
        let lines = |shown: Shown| {
            let mut out = Vec::new();
            write_text(&statistics, shown, None, &mut out).unwrap();
            String::from_utf8(out).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let counted = lines(Shown::Counted);
        assert_eq!((counted.len(), lines(Shown::All).len()), (4, 2 + 1 + 9 + 1 + 1));
        assert!(counted[1].starts_with("x.n "), "{counted:?}");
        assert!(counted[2].contains(" 3 statistics are zero "), "{counted:?}");
    }

    #[test]
    fn nothing_recorded_is_still_valid() {
        let mut out = Vec::new();
        write_json(&Statistics::default(), &mut out).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
    }
}
