//! What instructions there are: the table, the units they use and the lane-wise helpers.

pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod memory;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use memory::{AtomicOperation, AtomicType, CacheOperator};

/// The execution unit an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Integer and single precision.
    Sp,
    /// Approximations.
    Sfu,
    /// Double precision.
    Dp,
    /// Loads, stores and atomics.
    LdSt,
    /// Branches, barriers, fences and exits.
    Control,
}

/// The latency class of an instruction: the categories that GPGPU-Sim's configurations give numbers for,
/// and those of memory and control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the categories")]
pub enum Latency {
    IntAdd,
    IntMax,
    IntMul,
    IntMad,
    IntDiv,
    FpAdd,
    FpMax,
    FpMul,
    FpMad,
    FpDiv,
    DpAdd,
    DpMax,
    DpMul,
    DpMad,
    DpDiv,
    Sfu,
    Load,
    Store,
    Atomic,
    Branch,
    Barrier,
    Fence,
    Exit,
}

/// How a lane-wise operation reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneType {
    /// A number of this many bits; up to 32 live in one row, 64 in two.
    Bits(u8),
    /// A predicate.
    Predicate,
}

/// One row of the table, as data.
#[derive(Debug)]
pub(crate) struct LaneRow {
    pub(crate) op: LaneOp,
    pub(crate) spellings: &'static str,
    pub(crate) sources: &'static [LaneType],
    pub(crate) result: LaneType,
    pub(crate) unit: Unit,
    pub(crate) latency: Latency,
    /// Section of the PTX ISA manual.
    pub(crate) section: &'static str,
}

macro_rules! lane_type {
    (u8) => {
        LaneType::Bits(8)
    };
    (i8) => {
        LaneType::Bits(8)
    };
    (u16) => {
        LaneType::Bits(16)
    };
    (i16) => {
        LaneType::Bits(16)
    };
    (u32) => {
        LaneType::Bits(32)
    };
    (i32) => {
        LaneType::Bits(32)
    };
    (F) => {
        LaneType::Bits(32)
    };
    (Z) => {
        LaneType::Bits(32)
    };
    (u64) => {
        LaneType::Bits(64)
    };
    (i64) => {
        LaneType::Bits(64)
    };
    (D) => {
        LaneType::Bits(64)
    };
    (P) => {
        LaneType::Predicate
    };
    (bool) => {
        LaneType::Predicate
    };
}

macro_rules! declare {
    ($($op:ident($($arg:ident: $ty:tt),*) -> $result:tt $body:block
       $unit:ident $latency:ident $section:literal $spellings:literal;)*) => {
        /// A lane-wise operation: one row of the instruction table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub(crate) enum LaneOp { $($op),* }

        /// The table.
        pub(crate) static LANE_ROWS: &[LaneRow] = &[$(LaneRow {
            op: LaneOp::$op,
            spellings: $spellings,
            sources: &[$(lane_type!($ty)),*],
            result: lane_type!($result),
            unit: Unit::$unit,
            latency: Latency::$latency,
            section: $section,
        }),*];
    };
}
table::for_each_lane_op!(declare);

/// The row that an opcode names.
pub(crate) fn lane_row(opcode: &str) -> Option<&'static LaneRow> {
    dictionary().get(opcode).copied()
}

/// Spellings of the same instruction name, nearest first, for error messages.
pub(crate) fn similar(opcode: &str) -> Option<&'static str> {
    let head = opcode.split('.').next().unwrap_or(opcode);
    dictionary()
        .keys()
        .filter(|known| known.split('.').next() == Some(head) && !known.contains('/'))
        .min_by_key(|known| distance(known, opcode))
        .map(String::as_str)
}

/// All spellings of lane-wise instructions with the manual's section of each.
pub fn lane_instructions() -> impl Iterator<Item = (&'static str, &'static str)> {
    dictionary()
        .iter()
        .filter(|(text, _)| !text.contains('/'))
        .map(|(text, row)| (text.as_str(), row.section))
}

fn dictionary() -> &'static BTreeMap<String, &'static LaneRow> {
    static DICTIONARY: OnceLock<BTreeMap<String, &'static LaneRow>> = OnceLock::new();
    DICTIONARY.get_or_init(|| {
        let mut map = BTreeMap::new();
        for row in LANE_ROWS {
            for pattern in row.spellings.split(' ') {
                for text in expand(pattern) {
                    map.insert(text, row);
                }
            }
        }
        map
    })
}

/// All texts that a pattern with `{a|b}` stands for.
fn expand(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((choices, tail)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    let tails = expand(tail);
    let mut texts = Vec::new();
    for choice in choices.split('|') {
        texts.extend(tails.iter().map(|tail| format!("{head}{choice}{tail}")));
    }
    texts
}

/// Levenshtein distance, for "nearest valid name".
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let cost = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_share_a_spelling() {
        let mut seen = BTreeMap::new();
        for row in LANE_ROWS {
            assert!(row.section.starts_with("9.7."));
            for text in row.spellings.split(' ').flat_map(expand) {
                if let Some(other) = seen.insert(text.clone(), row.op) {
                    panic!("`{text}` is {other:?} and {:?}", row.op);
                }
            }
        }
        assert!(seen.len() > 1000);
    }

    #[test]
    fn the_table_is_indexed_by_its_operation() {
        for (index, row) in LANE_ROWS.iter().enumerate() {
            assert_eq!(row.op as usize, index);
        }
    }

    #[test]
    fn the_nearest_spelling_is_offered() {
        assert_eq!(similar("mul.wide.s31"), Some("mul.wide.s32"));
        assert_eq!(similar("frobnicate"), None);
    }
}
