//! The text that `vprintf` writes: a format and a buffer of arguments, as CUDA lays them out.
//!
//! Every argument lies at a multiple of its own size: 4 bytes for an `int` or smaller, 8 for `long` and `long
//! long`, `double` and pointers. Conversions are those of CUDA's `printf`; `%s` follows a pointer into
//! memory. An invalid conversion is written unchanged, as CUDA does.

use crate::execute::Access;

/// Reads memory for one lane: a byte at a generic address.
pub type ReadByte<'a> = &'a mut dyn FnMut(usize, u64) -> Option<u8>;

/// No string or format is longer; a missing end must not run through all of memory.
const LONGEST: usize = 1 << 16;

/// Appends the output of a `vprintf`'s lanes, lowest lane first, and gives the number of arguments of each;
/// the error is the lane and the address that could not be read.
pub fn print(access: &Access, read: ReadByte<'_>, output: &mut String) -> Result<[u32; 32], (usize, u64)> {
    let mut counts = [0; 32];
    for (lane, count) in counts.iter_mut().enumerate() {
        if access.mask >> lane & 1 == 0 {
            continue;
        }
        let format = access.addresses[lane];
        if format == 0 {
            *count = u32::MAX;
            continue;
        }
        let word = |row: usize| u64::from(access.values[row].0[lane]);
        let mut line = Line { lane, read, next: word(0) | word(1) << 32, count: 0 };
        let format = line.text(format)?;
        line.write(&format, output)?;
        *count = line.count;
    }
    Ok(counts)
}

struct Line<'r, 'f> {
    lane: usize,
    read: &'r mut (dyn FnMut(usize, u64) -> Option<u8> + 'f),
    /// Address of the next argument.
    next: u64,
    count: u32,
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

impl Line<'_, '_> {
    fn byte(&mut self, address: u64) -> Result<u8, (usize, u64)> {
        (self.read)(self.lane, address).ok_or((self.lane, address))
    }

    /// The bytes up to the zero.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, (usize, u64)> {
        let mut bytes = Vec::new();
        while bytes.len() < LONGEST {
            match self.byte(address.wrapping_add(bytes.len() as u64))? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(bytes)
    }

    fn argument(&mut self, size: u64) -> Result<u64, (usize, u64)> {
        self.next = self.next.next_multiple_of(size);
        let mut value = 0;
        for index in 0..size {
            value |= u64::from(self.byte(self.next + index)?) << (8 * index);
        }
        self.next += size;
        self.count += 1;
        Ok(value)
    }

    fn write(&mut self, format: &[u8], output: &mut String) -> Result<(), (usize, u64)> {
        let mut rest = format;
        while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
            output.push_str(&String::from_utf8_lossy(&rest[..at]));
            let start = &rest[at..];
            rest = &rest[at + 1..];
            let spec = self.spec(&mut rest)?;
            let Some((&conversion, tail)) = rest.split_first() else {
                output.push_str(&String::from_utf8_lossy(start));
                return Ok(());
            };
            rest = tail;
            let size = u64::from(spec.bits.max(32) / 8);
            match conversion {
                b'%' => output.push('%'),
                b'd' | b'i' => {
                    let raw = self.argument(size)?;
                    let unused = 64 - spec.bits;
                    let value = ((raw << unused) as i64) >> unused;
                    integer(&spec, value < 0, value.unsigned_abs().to_string(), "", output);
                }
                b'u' | b'x' | b'X' | b'o' => {
                    let value = self.argument(size)? & (u64::MAX >> (64 - spec.bits));
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
                    let value = self.argument(4)? as u8;
                    pad(&spec, &char::from(value).to_string(), output);
                }
                b'p' => {
                    let value = self.argument(8)?;
                    pad(&spec, &format!("{value:#x}"), output);
                }
                b's' => {
                    let address = self.argument(8)?;
                    let bytes = if address == 0 { b"(null)".to_vec() } else { self.text(address)? };
                    let length = spec.precision.unwrap_or(bytes.len()).min(bytes.len());
                    pad(&spec, &String::from_utf8_lossy(&bytes[..length]), output);
                }
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    let value = f64::from_bits(self.argument(8)?);
                    float(&spec, conversion, value, output);
                }
                _ => {
                    let length = start.len() - rest.len();
                    output.push_str(&String::from_utf8_lossy(&start[..length]));
                }
            }
        }
        output.push_str(&String::from_utf8_lossy(rest));
        Ok(())
    }

    fn spec(&mut self, rest: &mut &[u8]) -> Result<Spec, (usize, u64)> {
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
        if let Some(width) = self.number(rest)? {
            spec.left |= width < 0;
            spec.width = width.unsigned_abs().min(LONGEST as u64) as usize;
        }
        if let [b'.', tail @ ..] = *rest {
            *rest = tail;
            let precision = self.number(rest)?.unwrap_or(0);
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
        Ok(spec)
    }

    /// Digits, or `*` and an argument.
    fn number(&mut self, rest: &mut &[u8]) -> Result<Option<i64>, (usize, u64)> {
        if let [b'*', tail @ ..] = *rest {
            *rest = tail;
            return Ok(Some(i64::from(self.argument(4)? as i32)));
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (text, tail) = rest.split_at(digits);
        *rest = tail;
        let value = text
            .iter()
            .fold(0i64, |all, digit| all.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        Ok((digits > 0).then_some(value))
    }
}

fn pad(spec: &Spec, text: &str, output: &mut String) {
    let missing = spec.width.saturating_sub(text.chars().count());
    let blanks = " ".repeat(missing);
    if spec.left {
        output.push_str(text);
        output.push_str(&blanks);
    } else {
        output.push_str(&blanks);
        output.push_str(text);
    }
}

/// Sign, then zeros up to the width if that is asked for, then digits.
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
    pad(spec, &format!("{sign}{prefix}{}{digits}", "0".repeat(fill)), output);
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

    /// The output of a format with the 32-bit words that follow it in memory.
    fn printed(format: &str, words: &[u32]) -> (String, u32) {
        let mut memory = format.as_bytes().to_vec();
        memory.push(0);
        let start = memory.len().next_multiple_of(8);
        memory.resize(start, 0);
        memory.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let mut access = Access { mask: 1, ..Access::default() };
        access.addresses[0] = 0x1000;
        access.values[0].0[0] = 0x1000 + start as u32;
        let mut output = String::new();
        let mut read = |_: usize, address: u64| memory.get(address as usize - 0x1000).copied();
        let counts = print(&access, &mut read, &mut output).unwrap();
        (output, counts[0])
    }

    fn double(value: f64) -> [u32; 2] {
        [value.to_bits() as u32, (value.to_bits() >> 32) as u32]
    }

    #[test]
    fn integers() {
        let minus = -7i32 as u32;
        assert_eq!(
            printed("%d|%5d|%-5d|%05d|%+d\n", &[minus, minus, minus, minus, 7]).0,
            "-7|   -7|-7   |-0007|+7\n"
        );
        assert_eq!(printed("%u %x %#X %o %.3d", &[!0, 255, 255, 8, 7]).0, "4294967295 ff 0XFF 10 007");
        assert_eq!(printed("%hhd %hu %c%%", &[0x1ff, 0x1_0002, 65]), ("-1 2 A%".to_owned(), 3));
        // A 64-bit argument lies at a multiple of 8.
        assert_eq!(printed("%d %lld %llx", &[1, 0, 2, 1, 3, 4]).0, "1 4294967298 400000003");
        assert_eq!(printed("%*d|%-*d|%.*f", &[4, 1, 3, 2, 1, 0, 0, 0x3ff8_0000]).0, "   1|2  |1.5");
    }

    #[test]
    fn floats() {
        let say = |format: &str, value: f64| printed(format, &double(value)).0;
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
    fn strings_pointers_and_what_is_none() {
        let (text, count) = printed("[%s] %p %y%", &[0x1001, 0, 0x10, 0]);
        assert_eq!((text.as_str(), count), ("[%s] %p %y%] 0x10 %y%", 2));
        assert_eq!(printed("%.2s", &[0x1001, 0]).0, ".2");
        assert_eq!(printed("%s", &[0, 0]).0, "(null)");
    }

    #[test]
    fn what_cannot_be_read_is_an_error_with_its_lane() {
        let mut access = Access { mask: 0b100, ..Access::default() };
        access.addresses = [5; 32];
        let mut output = String::new();
        assert_eq!(print(&access, &mut |_, _| None, &mut output), Err((2, 5)));
        access.addresses = [0; 32];
        assert_eq!(print(&access, &mut |_, _| None, &mut output).unwrap()[2], u32::MAX);
    }
}
