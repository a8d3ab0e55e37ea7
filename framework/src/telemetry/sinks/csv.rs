//! Statistics, time series and curves as CSV, for spreadsheets and data frames.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::Writer;

use super::stats::{Labels, Statistics, numbers, one_line, unit};
use crate::telemetry::{Curve, Series};
use crate::time::SimTime;

/// Writes `path,statistic,value,unit,description`, a line for each number; those of a distribution are called as in
/// `stats.txt`.
///
/// # Errors
/// Those of `out`.
pub fn write_stats(statistics: &Statistics<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"path,statistic,value,unit,description\n")?;
    let mut docs = Labels::new(|label| field(&one_line(label)).into_owned());
    let mut line = String::new();
    for row in statistics.rows() {
        let (path, doc) = (field(&row.path), docs.of(&row.label));
        for number in numbers(row) {
            line.clear();
            line.extend([&path, ",", &*field(&number.named(row.label.name)), ","]);
            number.value.write(&mut line);
            line.extend([",", &*field(number.unit), ",", doc, "\n"]);
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}

/// A text as a field of a line, in quotes where it could be read as something else.
fn field(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// Writes `time_ps,path,statistic,increase,unit`: the increase within the interval that ends at that time. A
/// counter that did not grow has no line.
///
/// # Errors
/// Those of `out`.
pub fn write_series(series: &Series, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(["time_ps", "path", "statistic", "increase", "unit"])?;
    for point in series.points() {
        let counter = &series.counters[point.counter];
        let (time, increase) = (point.time.as_ps().to_string(), point.increase.to_string());
        table.write_record([&*time, &*counter.path, counter.label.name, &*increase, unit(&counter.label)])?;
    }
    table.flush()
}

/// Six decimals, without a sign where there is nothing.
fn fixed(value: f64) -> String {
    let text = format!("{value:.6}");
    if text == "-0.000000" { "0.000000".to_owned() } else { text }
}

/// Writes `time_ps` and a column for each curve, named with its unit; a line for each time at which one has a point. Where
/// a curve has none the field is empty.
///
/// # Errors
/// Those of `out`.
pub fn write_curves(curves: &[Curve], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    let titles = curves.iter().map(|curve| format!("{} ({})", curve.name, curve.unit));
    table.write_record(std::iter::once("time_ps".to_owned()).chain(titles))?;
    let mut rest: Vec<&[(SimTime, f64)]> = curves.iter().map(|curve| &curve.points[..]).collect();
    while let Some(time) = rest.iter().filter_map(|points| Some(points.first()?.0)).min() {
        let value = |points: &mut &[(SimTime, f64)]| match points.split_first() {
            Some((&(at, value), behind)) if at == time => {
                *points = behind;
                fixed(value)
            }
            _ => String::new(),
        };
        let values: Vec<String> = rest.iter_mut().map(value).collect();
        table.write_record(std::iter::once(time.as_ps().to_string()).chain(values))?;
    }
    table.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Point;
    use crate::telemetry::{CounterName, StatLabel, StatRow, StatValue};

    const LABEL: StatLabel = StatLabel { name: "wait", unit: "cycles", doc: " Waits, \"all\"\n of them." };

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn statistics_have_a_line_a_number_and_quoted_texts() {
        let row = |value| StatRow { path: "sm[0]".to_owned(), label: LABEL, value };
        let spread = StatValue::Distribution { count: 4, sum: 10, min: 1, max: 4, percentiles: [2, 4, 4, 4] };
        let rows = [row(StatValue::Count(7)), row(spread)];
        let statistics = Statistics { run: &rows[..1], components: &rows[1..], ..Statistics::default() };
        let found = text(|out| write_stats(&statistics, out));
        let doc = r#""Waits, ""all"" of them.""#;
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 11);
        assert_eq!(
            lines[..2],
            ["path,statistic,value,unit,description", &format!("sm[0],wait,7,cycles,{doc}")]
        );
        assert_eq!(lines[2], format!("sm[0],wait::count,4,count,{doc}"));
        assert_eq!(lines[4], format!("sm[0],wait::mean,2.500000,cycles,{doc}"));
    }

    #[test]
    fn series_have_a_line_a_point_and_curves_a_column_each() {
        let counters = vec![CounterName { path: "sm[0]".to_owned(), label: LABEL }];
        let points = vec![Point { time: SimTime::from_ps(10), counter: 0, increase: 3 }];
        let series = Series::of(SimTime::from_ps(10), counters, points);
        let found = text(|out| write_series(&series, out));
        assert_eq!(found, "time_ps,path,statistic,increase,unit\n10,sm[0],wait,3,cycles\n");
        let curve = |name, points: &[(u64, f64)]| Curve {
            name,
            unit: "GB/s",
            points: points.iter().map(|&(time, value)| (SimTime::from_ps(time), value)).collect(),
        };
        let curves = [curve("a", &[(0, 0.5), (10, 1.0)]), curve("b", &[(10, 2.0)])];
        let found = text(|out| write_curves(&curves, out));
        assert_eq!(found, "time_ps,a (GB/s),b (GB/s)\n0,0.500000,\n10,1.000000,2.000000\n");
    }
}
