//! Text that the host makes from the records of `vprintf`: a ring of records, each with a format and a buffer of arguments, as CUDA
//! lays them out.
//!
//! Every argument is aligned to its own size: 4 bytes for an `int` or smaller, 8 for `long` and `long
//! long`, `double` and pointers. Conversions are those of CUDA's `printf`; `%s` follows a pointer, which in a record is an offset. An
//! invalid conversion is written unchanged, as CUDA does.
//!
//! The device's side is the device library (`program/library/printf.ptx`), which describes ring and record.

use std::ops::Range;

/// No string or format is longer; a missing end must not run through all of memory.
const LONGEST: usize = 1 << 16;

/// The position of a record among all bytes ever reserved, and this, are its stamp.
const STAMP: u64 = u64::from_be_bytes(*b"tnir\0\0\0\0");

/// Bytes of a record before its format.
const RECORD_HEADER: u64 = 16;

/// Ring of records in a device's memory, and how far the host has read.
#[derive(Clone, Debug)]
pub struct Ring {
    capacity: u64,
    read: u64,
    lost: u64,
}

impl Ring {
    /// Default size of a ring of records in bytes: that of CUDA's `cudaLimitPrintfFifoSize`.
    pub const DEFAULT_BYTES: u64 = 1 << 20;
    /// Bytes before the records.
    pub const HEADER_BYTES: u64 = 128;

    /// An empty ring for records of this many bytes, in whole words of 8.
    pub fn new(bytes: u64) -> Self {
        Ring { capacity: (bytes / 8 * 8).max(8), read: 0, lost: 0 }
    }

    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> u64 {
        Ring::HEADER_BYTES + self.capacity
    }

    /// First bytes of the ring before anything is printed.
    pub fn header(&self) -> Vec<u8> {
        let mut header = self.capacity.to_le_bytes().to_vec();
        header.resize(Ring::HEADER_BYTES as usize, 0);
        header
    }

    /// The parts of the ring, counted from its header, that hold records which the host has not read; `header` has the current bytes of the
    /// header.
    pub fn unread(&self, header: &[u8]) -> Vec<Range<u64>> {
        let end = reserved(header);
        let first = self.read.max(end.saturating_sub(self.capacity));
        let (from, bytes) = (first % self.capacity, end.saturating_sub(first));
        let whole = bytes.min(self.capacity - from);
        let parts = [(from, whole), (0, bytes - whole)].into_iter().filter(|(_, bytes)| *bytes > 0);
        parts.map(|(from, bytes)| Ring::HEADER_BYTES + from..Ring::HEADER_BYTES + from + bytes).collect()
    }

    /// Bytes of records that newer ones have overwritten before the host read them.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes the bytes of those parts, and appends the text of their records. Older records that newer ones have overwritten are lost; where
    /// a record was still being written then, what overwrote it may be broken.
    pub fn take(&mut self, header: &[u8], bytes: &[u8], output: &mut String) {
        let end = reserved(header);
        self.lost += (end - self.read).saturating_sub(bytes.len() as u64);
        let mut rest = bytes;
        while rest.len() as u64 >= RECORD_HEADER {
            let position = end - rest.len() as u64;
            let (stamp, size, arguments) = (word(rest, 0, 8), word(rest, 8, 4), word(rest, 12, 4));
            let record = rest.get(..size as usize).filter(|record| !record.is_empty());
            match record.filter(|_| stamp == position ^ STAMP) {
                Some(record) => {
                    Line { record, next: arguments }.write(&text(record, RECORD_HEADER), output);
                    rest = &rest[record.len()..];
                }
                // A piece of a lost record.
                None => rest = &rest[8..],
            }
        }
        self.read = end;
    }
}

/// Bytes that have ever been reserved.
fn reserved(header: &[u8]) -> u64 {
    word(header, 8, 8)
}

/// A number in bytes that may end too early, which a broken record's can.
fn word(bytes: &[u8], at: u64, size: u64) -> u64 {
    let byte = |index: u64| usize::try_from(at.wrapping_add(index)).ok().and_then(|at| bytes.get(at));
    (0..size).fold(0, |all, index| all | u64::from(byte(index).copied().unwrap_or(0)) << (8 * index))
}

/// The bytes from an offset up to the zero.
fn text(record: &[u8], at: u64) -> Vec<u8> {
    let bytes = usize::try_from(at).ok().and_then(|at| record.get(at..)).unwrap_or_default();
    bytes.iter().take(LONGEST).copied().take_while(|byte| *byte != 0).collect()
}

struct Line<'r> {
    record: &'r [u8],
    /// Offset of the next argument.
    next: u64,
}

/// Flags, width and precision of a conversion.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    blank: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// 8, 16, 32 or 64 bits.
    bits: u32,
}

impl Line<'_> {
    fn argument(&mut self, size: u64) -> u64 {
        let at = self.next.next_multiple_of(size);
        self.next = at + size;
        word(self.record, at, size)
    }

    fn write(&mut self, format: &[u8], output: &mut String) {
        let mut rest = format;
        while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
            output.push_str(&String::from_utf8_lossy(&rest[..at]));
            let start = &rest[at..];
            rest = &rest[at + 1..];
            let spec = self.spec(&mut rest);
            let Some((&conversion, tail)) = rest.split_first() else {
                output.push_str(&String::from_utf8_lossy(start));
                return;
            };
            rest = tail;
            let size = u64::from(spec.bits.max(32) / 8);
            match conversion {
                b'%' => output.push('%'),
                b'd' | b'i' => {
                    let raw = self.argument(size);
                    let unused = 64 - spec.bits;
                    let value = ((raw << unused) as i64) >> unused;
                    integer(&spec, value < 0, value.unsigned_abs().to_string(), "", output);
                }
                b'u' | b'x' | b'X' | b'o' => {
                    let value = self.argument(size) & (u64::MAX >> (64 - spec.bits));
                    let (digits, prefix) = match conversion {
                        b'u' => (value.to_string(), ""),
                        b'x' => (format!("{value:x}"), "0x"),
                        b'X' => (format!("{value:X}"), "0X"),
                        _ => (format!("{value:o}"), "0"),
                    };
                    let prefix = if spec.alternate && value != 0 { prefix } else { "" };
                    let unsigned = Spec { plus: false, blank: false, ..spec };
                    integer(&unsigned, false, digits, prefix, output);
                }
                b'c' => {
                    let value = self.argument(4) as u8;
                    pad(&spec, &char::from(value).to_string(), 1, output);
                }
                b'p' => {
                    let value = self.argument(8);
                    let text = format!("{value:#x}");
                    pad(&spec, &text, text.len(), output);
                }
                b's' => {
                    let address = self.argument(8);
                    let bytes = if address == 0 { b"(null)".to_vec() } else { text(self.record, address) };
                    let length = spec.precision.unwrap_or(bytes.len()).min(bytes.len());
                    pad(&spec, &String::from_utf8_lossy(&bytes[..length]), length, output);
                }
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    let value = f64::from_bits(self.argument(8));
                    float(&spec, conversion, value, output);
                }
                _ => {
                    let length = start.len() - rest.len();
                    output.push_str(&String::from_utf8_lossy(&start[..length]));
                }
            }
        }
        output.push_str(&String::from_utf8_lossy(rest));
    }

    fn spec(&mut self, rest: &mut &[u8]) -> Spec {
        let mut spec = Spec { bits: 32, ..Spec::default() };
        while let Some((&byte, tail)) = rest.split_first() {
            match byte {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.blank = true,
                b'0' => spec.zero = true,
                b'#' => spec.alternate = true,
                _ => break,
            }
            *rest = tail;
        }
        if let Some(width) = self.number(rest) {
            spec.left |= width < 0;
            spec.width = width.unsigned_abs().min(LONGEST as u64) as usize;
        }
        if let [b'.', tail @ ..] = *rest {
            *rest = tail;
            let precision = self.number(rest).unwrap_or(0);
            // A negative precision is none.
            spec.precision = usize::try_from(precision).ok().map(|digits| digits.min(LONGEST));
        }
        while let Some((&byte, tail)) = rest.split_first() {
            spec.bits = match byte {
                b'h' => (spec.bits / 2).max(8),
                b'l' | b'j' | b'z' | b't' => 64,
                _ => break,
            };
            *rest = tail;
        }
        spec
    }

    /// Digits, or `*` and an argument.
    fn number(&mut self, rest: &mut &[u8]) -> Option<i64> {
        if let [b'*', tail @ ..] = *rest {
            *rest = tail;
            return Some(i64::from(self.argument(4) as i32));
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (text, tail) = rest.split_at(digits);
        *rest = tail;
        let value = text
            .iter()
            .fold(0i64, |all, digit| all.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        (digits > 0).then_some(value)
    }
}

/// Fills a text of this many bytes up to the width, which counts bytes as C's does.
fn pad(spec: &Spec, text: &str, bytes: usize, output: &mut String) {
    let missing = spec.width.saturating_sub(bytes);
    let blanks = " ".repeat(missing);
    if spec.left {
        output.push_str(text);
        output.push_str(&blanks);
    } else {
        output.push_str(&blanks);
        output.push_str(text);
    }
}

/// Sign, then zeros up to the width if the format requires it, then digits.
fn signed(spec: &Spec, negative: bool, prefix: &str, digits: &str, zeros: bool, output: &mut String) {
    let sign = if negative {
        "-"
    } else if spec.plus {
        "+"
    } else if spec.blank {
        " "
    } else {
        ""
    };
    let length = sign.len() + prefix.len() + digits.len();
    let fill = if zeros && spec.zero && !spec.left { spec.width.saturating_sub(length) } else { 0 };
    let text = format!("{sign}{prefix}{}{digits}", "0".repeat(fill));
    pad(spec, &text, text.len(), output);
}

fn integer(spec: &Spec, negative: bool, digits: String, prefix: &str, output: &mut String) {
    let digits = match spec.precision {
        Some(0) if digits == "0" => String::new(),
        Some(least) => format!("{digits:0>least$}"),
        None => digits,
    };
    signed(spec, negative, prefix, &digits, spec.precision.is_none(), output);
}

fn float(spec: &Spec, conversion: u8, value: f64, output: &mut String) {
    let upper = conversion.is_ascii_uppercase();
    let magnitude = value.abs();
    let digits = if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        "inf".to_owned()
    } else {
        let precision = spec.precision.unwrap_or(6);
        match conversion.to_ascii_lowercase() {
            b'f' => format!("{magnitude:.precision$}"),
            b'e' => exponential(magnitude, precision),
            b'g' => general(magnitude, precision.max(1), spec.alternate),
            _ => hexadecimal(magnitude, spec.precision),
        }
    };
    let digits = if upper { digits.to_ascii_uppercase() } else { digits };
    // The sign of a NaN is not shown: hosts and devices differ in it.
    signed(spec, value.is_sign_negative() && !value.is_nan(), "", &digits, value.is_finite(), output);
}

fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn general(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let text = exponential(value, precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trim = |digits: &str| match digits.contains('.') && !keeps_zeros {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if power < -4 || power >= precision as i32 {
        return format!("{}e{exponent}", trim(mantissa));
    }
    let decimals = (precision as i32 - 1 - power).max(0) as usize;
    trim(&format!("{value:.decimals$}"))
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let exponent = if biased != 0 {
        biased - 1023
    } else if fraction == 0 {
        0
    } else {
        -1022
    };
    let mut leading = u64::from(biased != 0);
    if let Some(digits @ 0..=12) = precision {
        // Round to nearest, ties to even, in the digits that go.
        let dropped = 52 - 4 * digits as u32;
        let whole = leading << 52 | fraction;
        let (kept, rest, half) = (whole >> dropped, whole & ((1 << dropped) - 1), 1u64 << (dropped - 1));
        let rounded = kept + u64::from(rest > half || rest == half && kept & 1 != 0);
        (leading, fraction) = (rounded << dropped >> 52, rounded << dropped & ((1 << 52) - 1));
    }
    let all = format!("{fraction:013x}");
    let digits = match precision {
        Some(count) => format!("{all:0<count$}")[..count].to_owned(),
        None => all.trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{leading}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record at a position: a format, and 32-bit words for its arguments.
    fn record(position: u64, format: &str, words: &[u32]) -> Vec<u8> {
        let arguments = (17 + format.len()).next_multiple_of(8);
        let size = (arguments + 4 * words.len()).next_multiple_of(8);
        let mut bytes = (position ^ STAMP).to_le_bytes().to_vec();
        bytes.extend([size as u32, arguments as u32].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(format.as_bytes());
        bytes.resize(arguments, 0);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.resize(size, 0);
        bytes
    }

    fn header(reserved: u64) -> [u8; 16] {
        let mut header = [0; 16];
        header[8..].copy_from_slice(&reserved.to_le_bytes());
        header
    }

    /// The output of a format with the 32-bit words of its arguments.
    fn printed(format: &str, words: &[u32]) -> String {
        let bytes = record(0, format, words);
        let mut output = String::new();
        let mut ring = Ring::new(1024);
        let header = header(bytes.len() as u64);
        let whole = Ring::HEADER_BYTES..Ring::HEADER_BYTES + bytes.len() as u64;
        assert_eq!(ring.unread(&header), std::slice::from_ref(&whole));
        ring.take(&header, &bytes, &mut output);
        assert!(ring.unread(&header).is_empty());
        output
    }

    fn double(value: f64) -> [u32; 2] {
        [value.to_bits() as u32, (value.to_bits() >> 32) as u32]
    }

    #[test]
    fn integers() {
        let minus = -7i32 as u32;
        assert_eq!(
            printed("%d|%5d|%-5d|%05d|%+d\n", &[minus, minus, minus, minus, 7]),
            "-7|   -7|-7   |-0007|+7\n"
        );
        assert_eq!(printed("%u %x %#X %o %.3d", &[!0, 255, 255, 8, 7]), "4294967295 ff 0XFF 10 007");
        assert_eq!(printed("%hhd %hu %c%%", &[0x1ff, 0x1_0002, 65]), "-1 2 A%");
        // A 64-bit argument is at a multiple of 8.
        assert_eq!(printed("%d %lld %llx", &[1, 0, 2, 1, 3, 4]), "1 4294967298 400000003");
        assert_eq!(printed("%*d|%-*d|%.*f", &[4, 1, 3, 2, 1, 0, 0, 0x3ff8_0000]), "   1|2  |1.5");
    }

    #[test]
    fn floats() {
        let say = |format: &str, value: f64| printed(format, &double(value));
        assert_eq!(say("%f", 1.5), "1.500000");
        assert_eq!(say("%8.2f|", -1.255), "   -1.25|");
        assert_eq!(say("%e", 12345.678), "1.234568e+04");
        assert_eq!(
            [say("%g", 0.0001), say("%g", 0.00001), say("%g", 1e6), say("%G", 1e-10)],
            ["0.0001", "1e-05", "1e+06", "1E-10"]
        );
        assert_eq!([say("%g", 100000.0), say("%.3g", 2.5), say("%#.3g", 2.5)], ["100000", "2.5", "2.50"]);
        assert_eq!([say("%a", 1.5), say("%.1a", 1.999), say("%a", 0.0)], ["0x1.8p+0", "0x2.0p+0", "0x0p+0"]);
        assert_eq!([say("%f", f64::INFINITY), say("%05.1f", f64::NAN)], ["inf", "  nan"]);
    }

    #[test]
    fn strings_pointers_and_conversions_that_are_none() {
        // In the record the format is at 16.
        assert_eq!(printed("[%s] %p %y%", &[17, 0, 0x10, 0]), "[%s] %p %y%] 0x10 %y%");
        assert_eq!(printed("%.2s", &[17, 0]), ".2");
        // Width and precision count bytes, of which this letter has two.
        assert_eq!(printed("%5.2s|%-4.2s|é", &[29, 0, 29, 0]), "   é|é  |é");
        assert_eq!(printed("%s", &[0, 0]), "(null)");
        assert_eq!(printed("%s", &[!0, !0]), "", "a broken pointer has no text");
    }

    #[test]
    fn a_full_ring_keeps_the_newest_records() {
        // Records of 24 bytes in a ring of 64: the third reaches over its end, the fourth begins behind that.
        let texts = ["first", "other", "third", "fours"];
        let records: Vec<Vec<u8>> =
            texts.iter().zip(0..).map(|(text, place)| record(24 * place, text, &[])).collect();
        assert!(records.iter().all(|record| record.len() == 24));
        let mut memory = [0; 64];
        let mut ring = Ring::new(64);
        let mut output = String::new();
        let mut read = |memory: &[u8], ring: &mut Ring, reserved: u64| {
            let parts = ring.unread(&header(reserved));
            let at = |offset: u64| (offset - Ring::HEADER_BYTES) as usize;
            let bytes: Vec<u8> =
                parts.iter().flat_map(|part| memory[at(part.start)..at(part.end)].to_vec()).collect();
            ring.take(&header(reserved), &bytes, &mut output);
            std::mem::take(&mut output)
        };
        for (place, byte) in records[..3].iter().flatten().enumerate() {
            memory[place % 64] = *byte;
        }
        assert_eq!(read(&memory, &mut ring.clone(), 72), "otherthird", "the first was overwritten");
        assert_eq!(read(&memory, &mut ring, 72), "otherthird");
        for (place, byte) in records[3].iter().enumerate() {
            memory[(72 + place) % 64] = *byte;
        }
        assert_eq!(read(&memory, &mut ring, 96), "fours");
        assert_eq!(ring.lost(), 8, "beyond the 64 that the ring holds");
    }
}
