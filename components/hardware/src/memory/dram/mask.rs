//! Bits of an address that select channel, row, bank and column, in the notation of GPGPU-Sim's
//! `-gpgpu_mem_addr_mapping`: `dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS`.
//!
//! The channel begins at the bit after `@`; its share of the address is divided out first, so that any number
//! of channels leaves no gaps. The letters are the 64 bits of the rest, the highest first: `R` row, `B` bank,
//! `C` column, `S` column within a burst, `0` ignored. Dots, bars and blanks only separate.

use counterpoint_framework::model::{Diagnostic, Node, Parameter, Reader, TypeInfo};

/// Bits of an address that make a number, the lowest of them its lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(u64);

impl Bits {
    /// Number of bits.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The position of the lowest.
    pub const fn lowest(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// Whether the lowest `count` bits are adjacent.
    pub const fn adjacent(self, count: u32) -> bool {
        count == 0 || (self.0 >> (self.lowest() % 64)).trailing_ones() >= count
    }

    /// The runs of neighbouring bits, the lowest first.
    fn runs(self) -> Vec<Run> {
        let (mut rest, mut below, mut runs) = (self.0, 0, Vec::new());
        while rest != 0 {
            let first = rest.trailing_zeros();
            let length = (rest >> first).trailing_ones();
            let mask = u64::MAX >> (64 - length);
            runs.push(Run { shift: first - below, mask: mask << below });
            rest &= !(mask << first);
            below += length;
        }
        runs
    }
}

/// Neighbouring bits of an address: their shift to their position in the number, and their mask there.
#[derive(Clone, Copy, Debug)]
struct Run {
    shift: u32,
    mask: u64,
}

/// Takes a number out of an address.
#[derive(Clone, Debug)]
pub struct Field(Vec<Run>);

impl From<Bits> for Field {
    fn from(bits: Bits) -> Self {
        Field(bits.runs())
    }
}

impl Field {
    /// The number in this address.
    #[inline]
    pub fn of(&self, address: u64) -> u64 {
        self.0.iter().fold(0, |number, run| number | address >> run.shift & run.mask)
    }
}

/// An address mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMask {
    /// The lowest bit of the channel.
    pub channel: u32,
    /// The bits of the bank, without the channel's.
    pub bank: Bits,
    /// Bits of the row.
    pub row: Bits,
    /// Bits of the column.
    pub column: Bits,
}

/// An error in a mask: its position in the text, and the text expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskError {
    start: usize,
    length: usize,
    message: String,
    help: &'static str,
}

impl AddressMask {
    /// Reads a mask.
    ///
    /// # Errors
    /// Names the first part of the text that is wrong.
    pub fn parse(text: &str) -> Result<Self, MaskError> {
        let error = |start, length, message: String, help| Err(MaskError { start, length, message, help });
        let form = "expected `dramid@BIT;` and 64 letters of R, B, C, S and 0, the highest bit first";
        let Some(rest) = text.strip_prefix("dramid@") else {
            return error(0, text.len(), "the mask does not say where the channel lies".to_owned(), form);
        };
        let start = text.len() - rest.len();
        let Some((bit, letters)) = rest.split_once(';') else {
            return error(start, rest.len(), "no `;` ends the channel's bit".to_owned(), form);
        };
        let Some(channel) = bit.parse().ok().filter(|bit| (7..=32).contains(bit)) else {
            return error(
                start,
                bit.len(),
                format!("`{bit}` is not a bit of the channel"),
                "expected 7 to 32",
            );
        };
        let mut mask =
            AddressMask { channel, bank: Bits::default(), row: Bits::default(), column: Bits::default() };
        let start = start + bit.len() + 1;
        let mut left = 64_u32;
        for (place, letter) in letters.char_indices() {
            let bits = match letter {
                'R' | 'r' => Some(&mut mask.row),
                'B' | 'b' => Some(&mut mask.bank),
                'C' | 'c' | 'S' | 's' => Some(&mut mask.column),
                '0' => None,
                '.' | '|' | ' ' => continue,
                _ => {
                    let message = format!("`{letter}` means nothing in a mask");
                    return error(start + place, letter.len_utf8(), message, form);
                }
            };
            if left == 0 {
                let tail = letters.len() - place;
                return error(start + place, tail, "the mask has more than 64 bits".to_owned(), form);
            }
            left -= 1;
            if let Some(bits) = bits {
                bits.0 |= 1 << left;
            }
        }
        if left > 0 {
            let message = format!("the mask has {} bits", 64 - left);
            return error(start, letters.len(), message, form);
        }
        if mask.bank.count() > 6 {
            return error(start, letters.len(), "the mask has more than 64 banks".to_owned(), form);
        }
        Ok(mask)
    }
}

impl Parameter for AddressMask {
    fn describe() -> TypeInfo {
        TypeInfo::plain("an address mask, as `dramid@8;`, then R, B, C, S or 0 for each of 64 bits")
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Some(text) = node.as_scalar() else {
            let message = format!("expected an address mask, found {}", node.shape());
            reader.report(Diagnostic::new(node.span, message));
            return None;
        };
        match AddressMask::parse(text) {
            Ok(mask) => Some(mask),
            Err(MaskError { start, length, message, help }) => {
                // A quoted text begins one byte into its span.
                let quote = (node.span.end - node.span.start) as usize - text.len();
                let place = node.span.part(start + quote / 2, length);
                reader.report(Diagnostic::new(place, message).help(help));
                None
            }
        }
    }
}

/// Bits of an address that select row, bank and column: row, bank and column from high to low, or as a mask gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramOrder(pub Option<AddressMask>);

impl Parameter for DramOrder {
    fn describe() -> TypeInfo {
        TypeInfo::plain(
            "`row-bank-column`, or an address mask: `dramid@8;`, then R, B, C, S or 0 for each of 64 bits",
        )
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.as_scalar() {
            Some("row-bank-column") => Some(DramOrder(None)),
            Some(text) if !text.starts_with("dramid@") => {
                reader.unknown_choice(node, &["row-bank-column", "dramid@BIT;MASK"]);
                None
            }
            _ => AddressMask::from_node(node, reader).map(|mask| DramOrder(Some(mask))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterpoint_framework::model::{Diagnostics, Families, Report, SourceMap, yaml};

    const FERMI: &str = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS";

    fn refusal<T: Parameter>(text: &str) -> String {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let file = sources.add("m.yaml", text);
        let node = yaml::parse(file, &sources, &mut diagnostics).unwrap();
        let families = Families::default();
        assert!(T::from_node(&node, &mut Reader::new(&families, &mut diagnostics)).is_none());
        Report::new(&diagnostics, sources).render()
    }

    #[test]
    fn letters_are_bits() {
        let mask = AddressMask::parse(FERMI).unwrap();
        assert_eq!(mask.channel, 8);
        assert_eq!(mask.bank, Bits(0b1110_0001_0000_0000));
        assert_eq!(mask.row, Bits(0x0fff_0000));
        assert_eq!(mask.column, Bits(0b0001_1110_1111_1111));
        assert_eq!(Field::from(mask.bank).of(0b1010_0001_0000_0000), 0b1011);
        assert_eq!(Field::from(mask.column).of(0xffff_ffff), 0xfff);
        assert!(mask.bank.adjacent(0) && mask.bank.adjacent(1) && !mask.bank.adjacent(2));
        assert_eq!(Field::from(Bits(u64::MAX)).of(u64::MAX), u64::MAX);
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, messages) in [
            ("8;RR", ["m.yaml:1:1: error: the mask does not say where the channel lies", "| ^^^^"]),
            ("dramid@8", ["m.yaml:1:8: error: no `;` ends the channel's bit", "^"]),
            ("dramid@x;0", ["m.yaml:1:8: error: `x` is not a bit of the channel", "expected 7 to 32"]),
            ("dramid@8;00R.RX", ["m.yaml:1:15: error: `X` means nothing in a mask", "^"]),
            ("'dramid@8;00R.RX'", ["m.yaml:1:16: error: `X` means nothing in a mask", "^"]),
            ("dramid@8;R", ["m.yaml:1:10: error: the mask has 1 bits", "64 letters"]),
            ("[1]", ["m.yaml:1:1: error: expected an address mask, found a list", "^"]),
        ] {
            let report = refusal::<AddressMask>(text);
            assert!(messages.iter().all(|message| report.contains(message)), "{report}");
        }
        let long = refusal::<DramOrder>(&format!("{FERMI}.BB"));
        assert!(long.contains("m.yaml:1:82: error: the mask has more than 64 bits"), "{long}");
        let near = refusal::<DramOrder>("row-bank-colum");
        assert!(near.contains("did you mean `row-bank-column`?"), "{near}");
    }
}
