//! The comparison as one page of HTML that needs nothing else: tables, and a plot of ours over theirs.

use std::fmt::Write;

use counterpoint_framework::telemetry::sinks::signed_percent;

use super::{Row, Validation, spread};

/// Side of the plot, and the room around it, in pixels.
const SIDE: f64 = 480.0;
const MARGIN: f64 = 50.0;

/// The page.
pub fn page(validation: &Validation) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Beside GPGPU-Sim 4.2</title>\n<style>\
         body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right}\
         td:nth-child(-n+3),th:nth-child(-n+3),td:nth-child(7),th:nth-child(7){text-align:left}tr:nth-child(even){background:#f3f3f3}</style>\n\
         <h1>Beside GPGPU-Sim 4.2</h1>\n",
    );
    out.push_str(&plot(&validation.rows));
    out.push_str("<table>\n<tr><th>machine<th>of<th>quantity<th>ours<th>GPGPU-Sim<th>difference<th>cause\n");
    for row in &validation.rows {
        let difference = row.difference().map_or("–".to_owned(), signed_percent);
        let Row { machine, of, quantity, ours, theirs, .. } = row;
        let cause = match (&row.cause, row.is_off()) {
            (Some(cause), _) => cause,
            (None, true) => "not known",
            (None, false) => "",
        };
        let _ = writeln!(
            out,
            "<tr><td>{machine}<td>{of}<td>{quantity}<td>{}<td>{}<td>{difference}<td>{cause}",
            number(*ours),
            number(*theirs)
        );
    }
    out.push_str("</table>\n");
    for (title, rows) in [("cycles", true), ("latencies", false)] {
        let chosen =
            validation.rows.iter().filter(|row| if rows { row.counts() } else { row.of == "latency" });
        if let Some((mean, worst)) = spread(chosen) {
            let _ = writeln!(
                out,
                "<p>{title}: {:.1} % apart on average, {:.1} % at worst.</p>",
                100.0 * mean,
                100.0 * worst
            );
        }
    }
    out
}

/// Formats whole numbers without decimals, others with one.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") }
}

/// Ours over theirs, both logarithmic. On the line they are equal.
fn plot(rows: &[Row]) -> String {
    let points: Vec<(&Row, f64, f64)> = rows
        .iter()
        .filter(|row| row.ours > 0.0 && row.theirs > 0.0)
        .map(|row| (row, row.theirs.log10(), row.ours.log10()))
        .collect();
    let all = || points.iter().flat_map(|(_, x, y)| [*x, *y]);
    let (low, high) = (all().fold(f64::MAX, f64::min).floor(), all().fold(f64::MIN, f64::max).ceil());
    if points.is_empty() {
        return String::new();
    }
    let x = |value: f64| MARGIN + SIDE * (value - low) / (high - low);
    let y = |value: f64| MARGIN + SIDE * (high - value) / (high - low);
    let whole = SIDE + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"{whole}\" font-size=\"11\">\n"
    );
    let line = |out: &mut String, from: (f64, f64), to: (f64, f64), color: &str| {
        let (x1, y1, x2, y2) = (x(from.0), y(from.1), x(to.0), y(to.1));
        let _ = writeln!(
            out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>"
        );
    };
    for decade in low as i32..=high as i32 {
        let at = f64::from(decade);
        line(&mut out, (at, low), (at, high), "#ddd");
        line(&mut out, (low, at), (high, at), "#ddd");
        let (below, left) = (MARGIN + SIDE + 16.0, MARGIN - 6.0);
        let _ =
            writeln!(out, "<text x=\"{:.1}\" y=\"{below}\" text-anchor=\"middle\">1e{decade}</text>", x(at));
        let _ = writeln!(out, "<text x=\"{left}\" y=\"{:.1}\" text-anchor=\"end\">1e{decade}</text>", y(at));
    }
    line(&mut out, (low, low), (high, high), "#888");
    for (row, theirs, ours) in &points {
        let color = if row.of == "latency" { "#c60" } else { "#06c" };
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{color}\"><title>{}, {}, {}: {} beside {}</title></circle>",
            x(*theirs),
            y(*ours),
            row.machine,
            row.of,
            row.quantity,
            number(row.ours),
            number(row.theirs)
        );
    }
    let (middle, below) = (MARGIN + SIDE / 2.0, MARGIN + SIDE + 36.0);
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">GPGPU-Sim</text>");
    let _ = writeln!(
        out,
        "<text x=\"14\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle})\">ours</text>\n</svg>"
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_point_and_a_line_for_each_figure() {
        let row = |ours, theirs| Row {
            machine: "m".into(),
            of: "k".into(),
            quantity: "cycles".into(),
            ours,
            theirs,
            limit: 50.0,
            cause: None,
        };
        let rows = vec![row(110.0, 100.0), row(900.0, 1000.0), row(0.0, 0.0)];
        let page = page(&Validation { rows, speeds: Vec::new() });
        assert_eq!(page.matches("<circle").count(), 2, "nothing has no logarithm");
        assert_eq!(page.matches("<tr><td>").count(), 3);
        assert_eq!(page.matches("not known").count(), 1, "only one is off");
        for part in ["+10.0 %", "-10.0 %", "10.0 % apart on average, 10.0 % at worst"] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
