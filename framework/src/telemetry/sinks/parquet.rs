//! Statistics and time series as Parquet, for data frames: the columns of the CSV files, with types.
//!
//! Equal rows give equal bytes. Nothing is compressed: names repeat, so dictionaries make the file small.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::stats::{Statistics, numbers, one_line, unit};
use crate::telemetry::Series;

/// Number of rows that are written together: twice that many are in memory.
const GROUP: usize = 1 << 16;

/// The type of a column's values.
#[derive(Clone, Copy)]
enum Sort {
    /// UTF-8.
    Text,
    Real,
    /// A whole number of 64 bits without a sign.
    Count,
}

/// Writes `path,statistic,value,unit,description`, a row for each number, as [`write_stats`](super::csv::write_stats) does;
/// the value is a double.
///
/// # Errors
/// Those of `out`.
pub fn write_stats(statistics: &Statistics<'_>, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("path", Sort::Text),
        ("statistic", Sort::Text),
        ("value", Sort::Real),
        ("unit", Sort::Text),
        ("description", Sort::Text),
    ];
    let (mut lines, mut text) = (Vec::new(), String::new());
    for row in statistics.rows() {
        for number in numbers(row) {
            text.clear();
            number.value.write(&mut text);
            let value: f64 = text.parse().map_err(io::Error::other)?;
            lines.push((row, number.named(row.label.name), value, number.unit));
        }
    }
    write("stats", &columns, lines.chunks(GROUP), out, |lines, group| {
        texts(group, lines.iter().map(|(row, ..)| row.path.as_str()))?;
        texts(group, lines.iter().map(|(_, name, ..)| &**name))?;
        let values: Vec<f64> = lines.iter().map(|(_, _, value, _)| *value).collect();
        column::<DoubleType>(group, &values)?;
        texts(group, lines.iter().map(|(.., unit)| *unit))?;
        let docs: Vec<String> = lines.iter().map(|(row, ..)| one_line(&row.label)).collect();
        texts(group, docs.iter().map(String::as_str))
    })
}

/// Writes `time_ps,path,statistic,increase,unit`, as [`write_series`](super::csv::write_series) does; times and increases
/// are whole numbers of 64 bits without a sign.
///
/// # Errors
/// Those of `out`.
pub fn write_series(series: &Series, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("time_ps", Sort::Count),
        ("path", Sort::Text),
        ("statistic", Sort::Text),
        ("increase", Sort::Count),
        ("unit", Sort::Text),
    ];
    let mut points = series.points();
    let chunks = std::iter::from_fn(|| Some(points.by_ref().take(GROUP).collect::<Vec<_>>()))
        .take_while(|chunk| !chunk.is_empty());
    write("series", &columns, chunks, out, |points, group| {
        let counters = || points.iter().map(|point| &series.counters[point.counter]);
        // Parquet keeps numbers without a sign as the bits of those with one.
        let times: Vec<i64> = points.iter().map(|point| point.time.as_ps().cast_signed()).collect();
        column::<Int64Type>(group, &times)?;
        texts(group, counters().map(|counter| counter.path.as_str()))?;
        texts(group, counters().map(|counter| counter.label.name))?;
        let increases: Vec<i64> = points.iter().map(|point| point.increase.cast_signed()).collect();
        column::<Int64Type>(group, &increases)?;
        texts(group, counters().map(|counter| unit(&counter.label)))
    })
}

/// Writes a file of these columns, a row group for each chunk.
fn write<C>(
    name: &str,
    columns: &[(&str, Sort)],
    chunks: impl Iterator<Item = C>,
    out: &mut dyn Write,
    fill: impl Fn(C, &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError>,
) -> io::Result<()> {
    let attempt = || {
        let fields = columns.iter().map(|(name, sort)| field(name, *sort).map(Arc::new));
        let fields = fields.collect::<Result<_, _>>()?;
        let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
        let properties = Arc::new(WriterProperties::builder().build());
        // The file must be one that may go to another thread, which `out` need not be.
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
        for chunk in chunks {
            let mut group = file.next_row_group()?;
            fill(chunk, &mut group)?;
            group.close()?;
        }
        file.into_inner()
    };
    let bytes = attempt().map_err(|error: ParquetError| io::Error::other(error))?;
    out.write_all(&bytes)
}

fn field(name: &str, sort: Sort) -> Result<Type, ParquetError> {
    let (physical, logical) = match sort {
        Sort::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Sort::Real => (Physical::DOUBLE, None),
        Sort::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()
}

fn texts<'a>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    texts: impl Iterator<Item = &'a str>,
) -> Result<(), ParquetError> {
    let texts: Vec<ByteArray> = texts.map(ByteArray::from).collect();
    column::<ByteArrayType>(group, &texts)
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| ParquetError::General("there is no such column".to_owned()))?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::telemetry::Point;
    use crate::telemetry::{CounterName, StatLabel, StatRow, StatValue};
    use crate::time::SimTime;

    const LABEL: StatLabel = StatLabel { name: "wait", unit: "cycles", doc: " Waits,\n of them." };

    fn bytes(write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Vec<u8> {
        let mut files = [Vec::new(), Vec::new()];
        for file in &mut files {
            write(file).unwrap();
        }
        let [one, other] = files;
        assert_eq!(one, other, "the same rows give the same bytes");
        one
    }

    /// The names of the columns, and the rows.
    fn read(bytes: &[u8]) -> (Vec<String>, Vec<Vec<Field>>) {
        let mut written = tempfile::tempfile().unwrap();
        written.write_all(bytes).unwrap();
        let file = SerializedFileReader::new(written).unwrap();
        let schema = file.metadata().file_metadata().schema_descr();
        let names = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        let rows = file.get_row_iter(None).unwrap();
        let fields =
            rows.map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect());
        (names, fields.collect())
    }

    fn text(text: &str) -> Field {
        Field::Str(text.to_owned())
    }

    #[test]
    fn statistics_have_the_rows_of_the_csv_with_types() {
        let row = |value| StatRow { path: "sm[0]".to_owned(), label: LABEL, value };
        let spread = StatValue::Distribution { count: 4, sum: 10, min: 1, max: 4, percentiles: [2, 4, 4, 4] };
        let rows = [row(StatValue::Count(7)), row(spread)];
        let statistics = Statistics { components: &rows, ..Statistics::default() };
        let (names, found) = read(&bytes(|out| write_stats(&statistics, out)));
        assert_eq!(names, ["path", "statistic", "value", "unit", "description"]);
        let line = |name: &str, value| {
            vec![text("sm[0]"), text(name), Field::Double(value), text("cycles"), text("Waits, of them.")]
        };
        assert_eq!((found.len(), &found[0], &found[3]), (10, &line("wait", 7.0), &line("wait::mean", 2.5)));
        assert_eq!(read(&bytes(|out| write_stats(&Statistics::default(), out))).1, [] as [Vec<Field>; 0]);
    }

    #[test]
    fn series_have_a_row_a_point_in_several_groups() {
        let counters = vec![CounterName { path: "sm[0]".to_owned(), label: LABEL }];
        let count = GROUP as u64 + 10;
        let point = |n| Point { time: SimTime::from_ps(n), counter: 0, increase: u64::MAX - n };
        let series = Series::of(SimTime::from_ps(1), counters, (0..count).map(point));
        let (names, found) = read(&bytes(|out| write_series(&series, out)));
        assert_eq!(names, ["time_ps", "path", "statistic", "increase", "unit"]);
        assert_eq!(found.len() as u64, count);
        for n in [0, count - 1] {
            let expected = vec![
                Field::ULong(n),
                text("sm[0]"),
                text("wait"),
                Field::ULong(u64::MAX - n),
                text("cycles"),
            ];
            assert_eq!(found[n as usize], expected);
        }
    }
}
