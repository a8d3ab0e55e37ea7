//! Statistics as `stats.txt`, one line a number in gem5's manner, and as JSON by path.

use std::io::{self, Write};

use super::quoted;
use crate::model::{PERCENTILES, StatRow, StatValue};

/// Writes `path.name  value  # doc (unit)`, a line for each number.
///
/// # Errors
/// What `out` reports.
pub fn write_text(rows: &[StatRow], partial: bool, out: &mut dyn Write) -> io::Result<()> {
    let state = if partial { "partial" } else { "complete" };
    writeln!(out, "---------- Begin Simulation Statistics ({state}) ----------")?;
    for row in rows {
        let doc = one_line(row.label.doc);
        let unit = if row.label.unit.is_empty() { "count" } else { row.label.unit };
        for (name, value) in numbers(row.value) {
            let name = format!("{}.{}{name}", row.path, row.label.name);
            writeln!(out, "{name:<60} {value:>20}  # {doc} ({unit})")?;
        }
    }
    writeln!(out, "---------- End Simulation Statistics ----------")
}

/// Writes `{ path: { name: { value, unit, doc } } }`, in the order of the rows.
///
/// # Errors
/// What `out` reports.
pub fn write_json(rows: &[StatRow], partial: bool, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\n  \"partial\": {partial},\n  \"components\": {{")?;
    let mut rest = rows;
    let mut comma = "";
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|row| row.path == first.path).count();
        write!(out, "{comma}\n    {}: {{", quoted(&first.path))?;
        comma = ",";
        for (index, row) in rest[..count].iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let value = match row.value {
                StatValue::Count(count) => format!("\"value\": {count}"),
                StatValue::Ratio { part, whole } => format!("\"value\": {}", mean(whole, part)),
                StatValue::Distribution { count, sum, min, max, percentiles } => {
                    let mean = mean(count, sum);
                    let percentiles = PERCENTILES.iter().zip(percentiles);
                    let percentiles: String =
                        percentiles.map(|((name, _), value)| format!("\"{name}\": {value}, ")).collect();
                    format!(
                        "\"count\": {count}, \"sum\": {sum}, \"mean\": {mean}, \"min\": {min}, {percentiles}\"max\": {max}"
                    )
                }
            };
            let (name, unit, doc) =
                (quoted(row.label.name), quoted(row.label.unit), quoted(&one_line(row.label.doc)));
            write!(out, "{comma}\n      {name}: {{ {value}, \"unit\": {unit}, \"doc\": {doc} }}")?;
        }
        write!(out, "\n    }}")?;
        rest = &rest[count..];
    }
    writeln!(out, "\n  }}\n}}")
}

/// The numbers of a statistic, with what is put behind its name for each.
pub(super) fn numbers(value: StatValue) -> Vec<(String, String)> {
    match value {
        StatValue::Count(count) => vec![(String::new(), count.to_string())],
        StatValue::Ratio { part, whole } => vec![(String::new(), mean(whole, part))],
        StatValue::Distribution { count, sum, min, max, percentiles } => {
            let percentiles = PERCENTILES.iter().zip(percentiles);
            let before = [
                ("count", count.to_string()),
                ("sum", sum.to_string()),
                ("mean", mean(count, sum)),
                ("min", min.to_string()),
            ];
            let all =
                before.into_iter().chain(percentiles.map(|((name, _), value)| (*name, value.to_string())));
            let all = all.chain([("max", max.to_string())]);
            all.map(|(name, value)| (format!("::{name}"), value)).collect()
        }
    }
}

/// Six decimals: enough for a reader, and the same on every host.
fn mean(count: u64, sum: u64) -> String {
    if count == 0 { "0".to_owned() } else { format!("{:.6}", sum as f64 / count as f64) }
}

pub(super) fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StatLabel;

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
        write_text(&rows(), false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "---------- Begin Simulation Statistics (complete) ----------",
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
        write_json(&rows(), true, &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["partial"], true);
        let sm = &value["components"]["gpu.sm[0]"];
        assert_eq!(sm["cycles"]["value"], 12);
        assert_eq!(sm["cycles"]["unit"], "cycles");
        assert_eq!((&sm["wait"]["mean"], &sm["wait"]["p99.9"]), (&2.5.into(), &4.into()));
        assert_eq!(value["components"]["host"]["commands"]["doc"], "Commands \"sent\".");
        assert_eq!(value["components"]["host"]["rate"]["value"], 0.375);
    }

    #[test]
    fn nothing_recorded_is_still_valid() {
        let mut out = Vec::new();
        write_json(&[], false, &mut out).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
    }
}
