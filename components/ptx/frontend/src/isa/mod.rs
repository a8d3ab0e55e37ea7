//! The layer of the instruction set: the table, the units and spaces that instructions use, and the lane-wise
//! helpers.

pub mod barrier;
pub mod conversions;
mod dictionary;
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

pub use dictionary::{find, instructions, lane_row, similar};
use forms::{Form, FormRow};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_indexed_by_its_operation() {
        for (index, row) in LANE_ROWS.iter().enumerate() {
            assert_eq!(row.op as usize, index);
        }
    }
}
