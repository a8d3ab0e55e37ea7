//! Quantities as people write them: `4 KiB`, `700 MHz`, `15.75 GB/s`, `12 cycles`, `500 ns`.
//!
//! Every quantity is a whole number of its base unit. Text is read with exact decimal arithmetic, so a value
//! that cannot be held exactly (`0.5 B`) is an error and never rounded; printed text reads back to the same
//! value.

use std::fmt;

use super::SimTime;

/// A unit's symbol and its value in base units.
pub type Unit = (&'static str, u64);

/// Reason why a text is not a quantity: a sentence for the user, without a source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The problem.
    pub message: String,
    /// The correct form.
    pub help: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for UnitError {}

/// A number with a dimension: the common interface of all unit types.
pub trait Quantity: Copy + Ord + fmt::Display {
    /// The dimension with its article, as an error message names it: "a size".
    const DIMENSION: &'static str;
    /// The units, smallest first; the first is the base unit.
    const UNITS: &'static [Unit];

    /// The quantity of that many base units.
    fn from_base(base: u64) -> Self;

    /// Number of base units of the quantity.
    fn base(self) -> u64;

    /// Reads a number and its unit, such as `4 KiB`; both are needed.
    ///
    /// # Errors
    /// If this is no number with a unit of this dimension, is not a whole number of base units, or is too large.
    fn parse(text: &str) -> Result<Self, UnitError> {
        parse(text, Self::DIMENSION, Self::UNITS).map(Self::from_base)
    }
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $dimension:literal, $units:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// A value of `base` base units.
            #[inline]
            pub const fn new(base: u64) -> Self {
                $name(base)
            }

            /// The number of base units.
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The sum, unless it overflows.
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some($name(sum)),
                    None => None,
                }
            }

            /// The product with a plain number, unless it overflows.
            pub const fn checked_mul(self, factor: u64) -> Option<Self> {
                match self.0.checked_mul(factor) {
                    Some(product) => Some($name(product)),
                    None => None,
                }
            }
        }

        quantity_traits!($name, $dimension, $units, $name::new, $name::get);

        impl From<$name> for u64 {
            fn from(quantity: $name) -> u64 {
                quantity.0
            }
        }
    };
}

macro_rules! quantity_traits {
    ($name:ident, $dimension:literal, $units:expr, $from:path, $get:path) => {
        impl Quantity for $name {
            const DIMENSION: &'static str = $dimension;
            const UNITS: &'static [Unit] = $units;

            fn from_base(base: u64) -> Self {
                $from(base)
            }

            fn base(self) -> u64 {
                $get(self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&print(self.base(), Self::UNITS))
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                Self::parse(text)
            }
        }
    };
}

quantity!(
    /// An amount of data. `KB` is 1000 bytes, `KiB` is 1024.
    Bytes,
    "a size",
    &[
        ("B", 1),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("TB", 1_000_000_000_000),
        ("TiB", 1 << 40),
    ]
);
quantity!(
    /// A number of cycles of a component's own clock.
    Cycles,
    "a number of cycles",
    &[("cycles", 1), ("cycle", 1)]
);
quantity!(
    /// A frequency.
    Hertz,
    "a frequency",
    &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)]
);
quantity!(
    /// A data rate. `GB/s` is 10⁹ bytes per second, `GiB/s` is 2³⁰.
    BytesPerSecond,
    "a data rate",
    &[
        ("B/s", 1),
        ("KB/s", 1_000),
        ("KiB/s", 1 << 10),
        ("MB/s", 1_000_000),
        ("MiB/s", 1 << 20),
        ("GB/s", 1_000_000_000),
        ("GiB/s", 1 << 30),
        ("TB/s", 1_000_000_000_000),
        ("TiB/s", 1 << 40),
    ]
);
quantity_traits!(
    SimTime,
    "a time",
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
    SimTime::from_ps,
    SimTime::as_ps
);

/// The time a message takes over a link: in cycles of the sender's clock, or in simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Latency {
    /// Cycles of the sending component's clock.
    Cycles(u64),
    /// Simulated time, whatever the clock.
    Time(SimTime),
}

impl Latency {
    /// Whether a message would arrive in the instant it is sent.
    pub const fn is_zero(self) -> bool {
        match self {
            Latency::Cycles(cycles) => cycles == 0,
            Latency::Time(time) => time.as_ps() == 0,
        }
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency::Cycles(1)
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Latency::Cycles(cycles) => Cycles::new(*cycles).fmt(f),
            Latency::Time(time) => time.fmt(f),
        }
    }
}

impl std::str::FromStr for Latency {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Ok(cycles) = Cycles::parse(text) {
            return Ok(Latency::Cycles(cycles.get()));
        }
        SimTime::parse(text).map(Latency::Time).map_err(|error| UnitError {
            message: error.message,
            help: format!("expected cycles of the sender's clock or a time ({})", symbols(SimTime::UNITS)),
        })
    }
}

/// The units' symbols as a list for a message.
pub fn symbols(units: &[Unit]) -> String {
    let names: Vec<&str> = units.iter().map(|unit| unit.0).collect();
    names.join(", ")
}

/// Kind of reason for which a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The text does not begin with a number.
    NoNumber,
    /// The number has no unit.
    NoUnit,
    /// The unit is one of another dimension, or none.
    OtherUnit,
    /// The value needs more than 64 bits of base units.
    TooLarge,
    /// The value is not a whole number of base units.
    NotWhole,
}

/// The number of base units that a text says, in a constant, too: defaults of parameters are read when they are compiled.
///
/// # Errors
/// If the text is no number with one of these units.
pub const fn base_units(text: &str, units: &[Unit]) -> Result<u64, Unread> {
    let (number, symbol) = number_and_symbol(text);
    let Some((mantissa, decimals)) = decimal(number) else { return Err(Unread::NoNumber) };
    if symbol.is_empty() {
        return Err(Unread::NoUnit);
    }
    let mut unit = 0;
    while unit < units.len() && !same(units[unit].0.as_bytes(), symbol.as_bytes()) {
        unit += 1;
    }
    if unit == units.len() {
        return Err(Unread::OtherUnit);
    }
    let Some(scaled) = mantissa.checked_mul(units[unit].1 as u128) else { return Err(Unread::TooLarge) };
    let divisor = 10u128.pow(decimals);
    if !scaled.is_multiple_of(divisor) {
        return Err(Unread::NotWhole);
    }
    let base = scaled / divisor;
    if base > u64::MAX as u128 { Err(Unread::TooLarge) } else { Ok(base as u64) }
}

/// Whether two texts are the same, in a constant.
pub const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

fn parse(text: &str, dimension: &str, units: &[Unit]) -> Result<u64, UnitError> {
    let text = text.trim();
    let message = match base_units(text, units) {
        Ok(base) => return Ok(base),
        Err(Unread::NoNumber) => format!("`{text}` is not {dimension}"),
        Err(Unread::NoUnit) => format!("`{text}` has no unit"),
        Err(Unread::OtherUnit) => format!("`{}` is not a unit for {dimension}", number_and_symbol(text).1),
        Err(Unread::TooLarge) => format!("`{text}` is too large"),
        Err(Unread::NotWhole) => format!("`{text}` is not a whole number of {}", units[0].0),
    };
    Err(UnitError { message, help: format!("expected {dimension} in one of: {}", symbols(units)) })
}

/// The number at the beginning of a text, and what follows it.
const fn number_and_symbol(text: &str) -> (&str, &str) {
    let text = text.trim_ascii();
    let (bytes, mut end) = (text.as_bytes(), 0);
    while end < bytes.len() && matches!(bytes[end], b'0'..=b'9' | b'.' | b'_') {
        end += 1;
    }
    let (number, symbol) = text.split_at(end);
    (number, symbol.trim_ascii_start())
}

/// The digits of a decimal number as an integer, and how many of them follow the point.
///
/// More than 18 of these cannot be exact in any unit and would overflow the power of ten.
pub const fn decimal(text: &str) -> Option<(u128, u32)> {
    let text = text.as_bytes();
    let mut point = 0;
    while point < text.len() && text[point] != b'.' {
        point += 1;
    }
    let (whole, mut fraction) = text.split_at(point);
    if let Some((_, rest)) = fraction.split_first() {
        fraction = rest;
        if !is_number(fraction) {
            return None;
        }
    }
    if !is_number(whole) {
        return None;
    }
    while let Some((b'0' | b'_', rest)) = fraction.split_last() {
        fraction = rest;
    }
    let Some((mantissa, _)) = digits(whole, 0) else { return None };
    match digits(fraction, mantissa) {
        Some((mantissa, decimals)) if decimals <= 18 => Some((mantissa, decimals)),
        _ => None,
    }
}

/// Whether these are digits, with `_` between them at most.
const fn is_number(part: &[u8]) -> bool {
    let mut at = 0;
    while at < part.len() && matches!(part[at], b'0'..=b'9' | b'_') {
        at += 1;
    }
    at == part.len() && at > 0 && part[0] != b'_' && part[at - 1] != b'_'
}

/// A number continued by digits, and the number of these digits; `None` if it is too large.
const fn digits(text: &[u8], mut number: u128) -> Option<(u128, u32)> {
    let (mut count, mut at) = (0, 0);
    while at < text.len() {
        if text[at] != b'_' {
            let Some(tens) = number.checked_mul(10) else { return None };
            let Some(sum) = tens.checked_add((text[at] - b'0') as u128) else { return None };
            (number, count) = (sum, count + 1);
        }
        at += 1;
    }
    Some((number, count))
}

/// The shortest exact text of up to three decimals; of equally short ones that in the largest unit.
fn print(base: u64, units: &[Unit]) -> String {
    let plain = |unit: &Unit| format!("{base} {}", unit.0);
    let mut best = plain(&units[0]);
    if base == 0 {
        return best;
    }
    for &(symbol, multiplier) in &units[1..] {
        let thousandths = u128::from(base) * 1000;
        if base < multiplier || thousandths % u128::from(multiplier) != 0 {
            continue;
        }
        let (whole, rest) = (base / multiplier, thousandths / u128::from(multiplier) % 1000);
        let number = format!("{whole}.{rest:03}");
        let number = number.trim_end_matches('0').trim_end_matches('.');
        let text = format!("{number} {symbol}");
        // The singular of "cycles" is the only unit whose symbol depends on the number.
        if symbol == "cycle" && base != 1 {
            continue;
        }
        if text.len() <= best.len() {
            best = text;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_parse_exactly() {
        assert_eq!("4 KiB".parse(), Ok(Bytes::new(4096)));
        assert_eq!("32 KB".parse(), Ok(Bytes::new(32_000)));
        assert_eq!("15.75 GB/s".parse(), Ok(BytesPerSecond::new(15_750_000_000)));
        assert_eq!("700MHz".parse(), Ok(Hertz::new(700_000_000)));
        assert_eq!("12 cycles".parse(), Ok(Cycles::new(12)));
        assert_eq!("1 cycle".parse(), Ok(Cycles::new(1)));
        assert_eq!("2 us".parse(), Ok(SimTime::from_ps(2_000_000)));
        assert_eq!("1.5 ms".parse(), Ok(SimTime::from_ps(1_500_000_000)));
        // 0.1 has no finite binary expansion, so a detour over f64 would show here.
        assert_eq!("0.1 ns".parse(), Ok(SimTime::from_ps(100)));
        assert_eq!("1_024 B".parse(), Ok(Bytes::new(1024)));
    }

    #[test]
    fn what_cannot_be_held_exactly_is_an_error() {
        let message = |text: &str| Bytes::parse(text).unwrap_err().message;
        assert_eq!(message("15.75"), "`15.75` has no unit");
        assert_eq!(message("1 MHz"), "`MHz` is not a unit for a size");
        assert_eq!(message("0.3 B"), "`0.3 B` is not a whole number of B");
        assert_eq!(message("99999999999 TiB"), "`99999999999 TiB` is too large");
        for text in ["", "KiB", "-4 KiB", "1.2.3 B", ". B", "1. B", "_1 B", "0x10 B"] {
            assert!(Bytes::parse(text).is_err(), "{text}");
        }
        let long = format!("0.{} s", "1".repeat(60));
        assert!(SimTime::parse(&long).is_err());
        assert!(SimTime::parse(&format!("{} s", "9".repeat(60))).is_err());
        let help = Hertz::parse("700").unwrap_err().help;
        assert_eq!(help, "expected a frequency in one of: Hz, kHz, MHz, GHz");
    }

    #[test]
    fn printing_picks_the_short_exact_unit() {
        assert_eq!(Bytes::new(131_072).to_string(), "128 KiB");
        assert_eq!(Bytes::new(32_000).to_string(), "32 KB");
        assert_eq!(Bytes::new(1025).to_string(), "1025 B");
        assert_eq!(Bytes::new(0).to_string(), "0 B");
        assert_eq!(BytesPerSecond::new(15_750_000_000).to_string(), "15.75 GB/s");
        assert_eq!(Hertz::new(924_000_000).to_string(), "924 MHz");
        assert_eq!(SimTime::from_ps(1_500_000_000).to_string(), "1.5 ms");
        assert_eq!(Cycles::new(1).to_string(), "1 cycle");
        assert_eq!(Cycles::new(12).to_string(), "12 cycles");
    }

    #[test]
    fn what_is_printed_reads_back() {
        for base in [0, 1, 7, 999, 1000, 1024, 1536, 4097, 1_500_000, 123_456_789, u64::MAX] {
            assert_eq!(Bytes::new(base).to_string().parse(), Ok(Bytes::new(base)));
            assert_eq!(Cycles::new(base).to_string().parse(), Ok(Cycles::new(base)));
            assert_eq!(SimTime::from_ps(base).to_string().parse(), Ok(SimTime::from_ps(base)));
        }
    }

    #[test]
    fn a_latency_is_cycles_or_time() {
        assert_eq!("8 cycles".parse(), Ok(Latency::Cycles(8)));
        assert_eq!("500 ns".parse(), Ok(Latency::Time(SimTime::from_ns(500))));
        assert!("8".parse::<Latency>().is_err());
        assert!("0 ns".parse::<Latency>().is_ok_and(Latency::is_zero));
    }
}
