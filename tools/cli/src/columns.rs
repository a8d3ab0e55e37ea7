//! Tables of texts and numbers, and the format of their numbers.

use std::io::{self, Write};

/// Prints lines of equal length in columns, the first `texts` of them to the left, the others to the right.
pub(crate) fn print(lines: &[Vec<String>], texts: usize, out: &mut dyn Write) -> io::Result<()> {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        let cells =
            line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column < texts {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// A number with four significant digits.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    match () {
        () if value == 0.0 => "0".to_owned(),
        () if !(1e-3..1e7).contains(&size) => format!("{value:.3e}"),
        () if size >= 1000.0 => format!("{value:.0}"),
        () if size >= 100.0 => format!("{value:.1}"),
        () if size >= 10.0 => format!("{value:.2}"),
        () if size >= 1.0 => format!("{value:.3}"),
        () => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_have_four_digits_that_matter() {
        let numbers = [0.0, 1.2345, 12.345, 0.012_345, 1234.5, 1.5e-5, -2.0, 3.0e9];
        let expected = ["0", "1.234", "12.35", "0.0123", "1234", "1.500e-5", "-2.000", "3.000e9"];
        assert_eq!(numbers.map(significant), expected);
    }
}
