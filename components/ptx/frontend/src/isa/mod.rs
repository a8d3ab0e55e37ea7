//! The layer of the instruction set: the table, the units and spaces that instructions use, and the lane-wise
//! helpers.

pub mod barrier;
pub mod conversions;
pub mod float;
pub mod forms;
pub mod half_comparisons;
pub mod half_conversions;
pub mod halves;
pub mod integer;
pub mod matrix;
pub mod memory;
pub mod narrow;
pub mod order;
pub mod packed;
pub mod range;
pub mod rare;
pub mod space;
pub mod spelling;
pub mod table;
pub mod unsupported;
pub mod video;
pub mod warp;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use forms::{FORM_ROWS, Form, FormRow};
pub use memory::{AtomicOperation, AtomicType, CacheOperator};
pub use order::{Order, Reach, Scope};
pub use range::RangeAction;
pub use space::Base;
pub use space::Space;
pub use video::{Second, Video, VideoOp};

/// The execution unit an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Integer and single precision.
    Sp,
    /// Approximations, divisions, roots.
    Sfu,
    /// Double precision.
    Dp,
    /// Loads, stores and atomics.
    LdSt,
    /// Branches, barriers, fences and exits.
    Control,
    /// Products of matrices.
    Tensor,
}

/// The latency class of an instruction: the categories that GPGPU-Sim distinguishes, and those of memory and control.
///
/// `Int` covers integers, logic, moves and predicates, `Fp` and `Dp` single and double precision. `Other` is everything of
/// its kind that has no class of its own: logic, shifts, moves, conversions, comparisons, selections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the categories")]
pub enum Latency {
    IntAdd,
    IntMax,
    IntMul,
    IntMad,
    IntDiv,
    IntMul24,
    IntMad24,
    IntShuffle,
    IntOther,
    FpAdd,
    FpMax,
    FpMul,
    FpMad,
    FpDiv,
    FpRoot,
    FpOther,
    DpAdd,
    DpMax,
    DpMul,
    DpMad,
    DpDiv,
    DpRoot,
    DpOther,
    Sfu,
    Load,
    Store,
    Atomic,
    Branch,
    Barrier,
    Fence,
    Exit,
    /// Products of matrices by the type of their factors: 16 bits, `.tf32`, double precision, 8, 4 and 1 bits.
    MatrixHalf,
    MatrixSingle,
    MatrixDouble,
    MatrixByte,
    MatrixNibble,
    MatrixBit,
}

/// The reading of an operand by a lane-wise operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneType {
    /// A number of this many bits; up to 32 live in one row, 64 in two.
    Bits(u8),
    Predicate,
    /// A predicate for each half of a pair.
    Predicates,
}

/// One row of the table, as data.
#[derive(Debug)]
pub struct LaneRow {
    pub op: LaneOp,
    pub spellings: &'static str,
    pub sources: &'static [LaneType],
    pub result: LaneType,
    pub unit: Unit,
    pub latency: Latency,
    /// Section of the PTX ISA manual.
    pub section: &'static str,
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
    (H) => {
        LaneType::Bits(16)
    };
    (HZ) => {
        LaneType::Bits(16)
    };
    (B) => {
        LaneType::Bits(16)
    };
    (BZ) => {
        LaneType::Bits(16)
    };
    (M2) => {
        LaneType::Bits(16)
    };
    (N2) => {
        LaneType::Bits(16)
    };
    (H2) => {
        LaneType::Bits(32)
    };
    (HZ2) => {
        LaneType::Bits(32)
    };
    (B2) => {
        LaneType::Bits(32)
    };
    (BZ2) => {
        LaneType::Bits(32)
    };
    (Both) => {
        LaneType::Predicates
    };
}

macro_rules! declare {
    ($($op:ident($($arg:ident: $ty:tt),*) -> $result:tt $body:block
       $unit:ident $latency:ident $section:literal $spellings:literal;)*) => {
        /// A lane-wise operation: one row of the instruction table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum LaneOp { $($op),* }

        pub static LANE_ROWS: &[LaneRow] = &[$(LaneRow {
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

/// The instruction that an opcode names.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    /// A row of the table of lane-wise operations.
    Lane(&'static LaneRow),
    /// A row of the table of the others.
    Form(&'static FormRow),
}

/// The row that an opcode in its canonical spelling names.
pub fn find(opcode: &str) -> Option<Known> {
    let dictionary = dictionary();
    // A memory instruction is listed by its first word, a product of matrices by its first two or one.
    let mut words = opcode.match_indices('.').map(|(at, _)| &opcode[..at]);
    let (one, two) = (words.next(), words.next());
    let head = |words: Option<&str>| dictionary.get(words?).filter(|known| known.is_listed_by_head());
    dictionary.get(opcode).or_else(|| head(one)).or_else(|| head(two)).copied()
}

/// The row of a lane-wise operation.
pub fn lane_row(opcode: &str) -> Option<&'static LaneRow> {
    match dictionary().get(opcode)? {
        Known::Lane(row) => Some(row),
        Known::Form(_) => None,
    }
}

impl Known {
    fn is_listed_by_head(&self) -> bool {
        let Known::Form(row) = self else { return false };
        let memory = matches!(row.form, Form::Load | Form::Store | Form::Atomic);
        memory
            || matches!(
                row.form,
                Form::Product
                    | Form::FragmentProduct
                    | Form::Fragment { .. }
                    | Form::Copy
                    | Form::Surface(_)
                    | Form::MoveVector
                    | Form::BarrierInMemory
            )
    }

    fn section(&self) -> &'static str {
        match self {
            Known::Lane(row) => row.section,
            Known::Form(row) => row.section,
        }
    }
}

/// The spelling nearest to an opcode, for error messages: of the same instruction if there is one, else of
/// one whose name differs by little.
pub fn similar(opcode: &str) -> Option<&'static str> {
    let head = opcode.split('.').next().unwrap_or(opcode);
    let known = || dictionary().keys().filter(|known| !known.contains('/'));
    let same = known().filter(|known| known.split('.').next() == Some(head));
    let nearest = same.min_by_key(|known| strsim::levenshtein(known, opcode));
    let misspelt = || {
        known()
            .filter(|known| strsim::levenshtein(known, opcode) <= 2)
            .min_by_key(|known| strsim::levenshtein(known, opcode))
    };
    nearest.or_else(misspelt).map(String::as_str)
}

/// All spellings of instructions with the manual's section of each; of memory instructions the first word.
pub fn instructions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let listed = dictionary().iter().filter(|(text, _)| !text.contains('/'));
    listed.map(|(text, known)| (text.as_str(), known.section()))
}

fn dictionary() -> &'static BTreeMap<String, Known> {
    static DICTIONARY: OnceLock<BTreeMap<String, Known>> = OnceLock::new();
    DICTIONARY.get_or_init(|| {
        let lanes = LANE_ROWS.iter().map(|row| (row.spellings, Known::Lane(row)));
        let forms = FORM_ROWS.iter().map(|row| (row.spellings, Known::Form(row)));
        let rows = lanes.chain(forms);
        rows.flat_map(|(spellings, known)| {
            let texts = spellings.split_whitespace().flat_map(expand);
            texts.map(move |text| (text, known))
        })
        .collect()
    })
}

/// All texts that match a pattern with `{a|b}`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_share_a_spelling() {
        let lanes = LANE_ROWS.iter().map(|row| (row.section, row.spellings, format!("{:?}", row.op)));
        let forms = FORM_ROWS.iter().map(|row| (row.section, row.spellings, format!("{:?}", row.form)));
        let mut seen = BTreeMap::new();
        for (section, spellings, name) in lanes.chain(forms) {
            assert!(section.starts_with("9.7."));
            for text in spellings.split_whitespace().flat_map(expand) {
                if let Some(other) = seen.insert(text.clone(), name.clone()) {
                    panic!("`{text}` is {other} and {name}");
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
