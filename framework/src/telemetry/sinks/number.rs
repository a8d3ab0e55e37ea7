//! Numbers in files and tables: a derived one has only significant digits, and there is no `-0`.

/// Decimal digits of a derived number: a picosecond in a second, and more digits than any derived number has significant.
const DIGITS: usize = 12;

/// The number to twelve significant digits.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        // Without the sign.
        return 0.0;
    }
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// The number as text, with at most twelve significant digits.
pub fn number(value: f64) -> String {
    rounded(value).to_string()
}

/// A difference as a share, in percent with a sign; of no difference there is no sign.
pub fn signed_percent(share: f64) -> String {
    let text = format!("{:+.1} %", 100.0 * share);
    if share.abs() < 5e-4 { "0.0 %".to_owned() } else { text }
}

/// A number of a statistic as it is written.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    /// A whole number.
    Whole(u64),
    /// A whole number by another: six decimals are enough for a reader, and the same on every host.
    Quotient(u64, u64),
}

impl Figure {
    /// Appends the number to a text.
    pub(super) fn write(self, text: &mut String) {
        match self {
            Figure::Whole(number) => write_whole(number, text),
            Figure::Quotient(_, 0) => text.push('0'),
            Figure::Quotient(part, whole) => text.push_str(&format!("{:.6}", part as f64 / whole as f64)),
        }
    }
}

/// Appends the digits of a number: most of what a run writes.
fn write_whole(number: u64, text: &mut String) {
    let (mut digits, mut first, mut rest) = ([0; 20], 20, number);
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.push_str(std::str::from_utf8(&digits[first..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_numbers_are_short_and_nothing_is_less_than_nothing() {
        let numbers = [0.1 + 0.2, 7603.522 * 1e-6, -0.0, 3.0, 2.0 / 3.0, -1e-30, 123_456_789_012.0];
        let expected = [
            "0.3",
            "0.007603522",
            "0",
            "3",
            "0.666666666667",
            "-0.000000000000000000000000000001",
            "123456789012",
        ];
        assert_eq!(numbers.map(number), expected);
        assert_eq!([-0.0004, 0.0006, -0.5, 0.0].map(signed_percent), ["0.0 %", "+0.1 %", "-50.0 %", "0.0 %"]);
        let figures = [
            Figure::Quotient(1, 3),
            Figure::Quotient(5, 0),
            Figure::Whole(0),
            Figure::Whole(70),
            Figure::Whole(u64::MAX),
        ];
        let mut text = String::new();
        for figure in figures {
            figure.write(&mut text);
            text.push(' ');
        }
        assert_eq!(text, "0.333333 0 0 70 18446744073709551615 ");
        assert!(rounded(f64::INFINITY).is_infinite() && rounded(f64::NAN).is_nan());
    }
}
