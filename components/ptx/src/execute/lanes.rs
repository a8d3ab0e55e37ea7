//! The table's operations over 32 lanes.
//!
//! Each operation is a function of its own, compiled twice, for any host of the target and for one with AVX2 and FMA; both give
//! the same bits, because every operation is exact or rounded once, and NaNs are made canonical. It
//! computes all lanes into scratch rows, in a loop without branches that the compiler
//! vectorises (scratch, because the destination may be a source too); lanes that are switched off are
//! left out only when the result is written back. One function of all operations would take the compiler ten times as long.

use std::mem::MaybeUninit;

use crate::isa::float::{self, Mode};
use crate::isa::narrow::{
    self, Brain, E4M3, E5M2, Half, Rounding, Tensor, decode, each, each2, each3, encode,
};
use crate::isa::{integer, packed, table};
use crate::program::{Action, CONSTANT, Instruction, Row};

#[derive(Clone, Copy)]
pub(crate) struct Operands {
    /// The warp's rows.
    pub(crate) rows: *mut Row,
    /// The kernel's constants.
    pub(crate) constants: *const Row,
    /// The warp's predicates.
    pub(crate) predicates: *const u32,
}

impl Operands {
    /// The first row of an operand.
    ///
    /// # Safety
    /// The operand must come from the kernel whose constants these are, and the warp must have the
    /// kernel's rows.
    #[inline(always)]
    pub(crate) unsafe fn row(self, operand: u16) -> *const Row {
        if operand & CONSTANT != 0 {
            // SAFETY: decoding made the index, so it is within the constants.
            unsafe { self.constants.add((operand & !CONSTANT) as usize) }
        } else {
            // SAFETY: as above, for the warp's rows.
            unsafe { self.rows.add(operand as usize) }
        }
    }
}

/// Runs one table instruction; a comparison returns its truth in all lanes as a mask, one of pairs that of the low
/// halves below that of the high ones.
pub(crate) type LaneFunction = unsafe fn(Operands, &Instruction, u32) -> u64;

/// Two rows, enough for 32 words of 64 bits.
type Scratch = MaybeUninit<[Row; 2]>;

/// Computes all lanes of one operation into scratch, which is a reference so that the compiler knows that no source overlaps it.
type Compute = unsafe fn(Operands, &Instruction, &mut Scratch);

/// The best version for this host.
pub(crate) fn best() -> LaneFunction {
    #[cfg(target_arch = "x86_64")]
    if is_extended() {
        return with_avx2::run;
    }
    baseline::run
}

/// Whether the host has AVX2 and FMA, and with them the extensions that every such host has.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_extended() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

trait Source {
    type Value;
    type OperandPlace: Copy;
    unsafe fn place(operands: Operands, operand: u16) -> Self::OperandPlace;
    unsafe fn get(place: Self::OperandPlace, lane: usize) -> Self::Value;
}

/// The destination of a result, by way of scratch.
trait Sink {
    type Value;
    unsafe fn put(scratch: *mut u32, lane: usize, value: Self::Value);
}

macro_rules! integers {
    ($($ty:ty, $word:ty, $widen:ty;)*) => { $(
        impl Source for $ty {
            type Value = $ty;
            type OperandPlace = *const $word;
            #[inline(always)]
            unsafe fn place(operands: Operands, operand: u16) -> *const $word {
                // SAFETY: the caller's.
                unsafe { operands.row(operand).cast() }
            }
            #[inline(always)]
            unsafe fn get(place: *const $word, lane: usize) -> $ty {
                // SAFETY: a lane is below 32 and the rows have 32 words.
                unsafe { *place.add(lane) as $ty }
            }
        }
        impl Sink for $ty {
            type Value = $ty;
            #[inline(always)]
            unsafe fn put(scratch: *mut u32, lane: usize, value: $ty) {
                // Narrow results fill their row with zeros or the sign, so that a register wider than the
                // type holds the value that PTX requires. SAFETY: scratch has 32 words of either size.
                unsafe { *scratch.cast::<$word>().add(lane) = value as $widen as $word }
            }
        }
    )* };
}
integers! {
    u8, u32, u32;
    i8, u32, i32;
    u16, u32, u32;
    i16, u32, i32;
    u32, u32, u32;
    i32, u32, i32;
    u64, u64, u64;
    i64, u64, i64;
}

/// `f32`.
struct F;
/// `f32`, subnormals flushed to zero.
struct Z;
/// `f64`.
struct D;
struct P;

#[inline(always)]
fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

macro_rules! floats {
    ($($name:ident $ty:ty, $word:ty, $nan:literal, $adjust:expr;)*) => { $(
        impl Source for $name {
            type Value = $ty;
            type OperandPlace = *const $word;
            #[inline(always)]
            unsafe fn place(operands: Operands, operand: u16) -> *const $word {
                // SAFETY: the caller's.
                unsafe { operands.row(operand).cast() }
            }
            #[inline(always)]
            unsafe fn get(place: *const $word, lane: usize) -> $ty {
                // SAFETY: a lane is below 32 and the rows have 32 words.
                $adjust(<$ty>::from_bits(unsafe { *place.add(lane) }))
            }
        }
        impl Sink for $name {
            type Value = $ty;
            #[inline(always)]
            unsafe fn put(scratch: *mut u32, lane: usize, value: $ty) {
                let bits = if value.is_nan() { $nan } else { $adjust(value).to_bits() };
                // SAFETY: scratch has 32 words of either size.
                unsafe { *scratch.cast::<$word>().add(lane) = bits }
            }
        }
    )* };
}
floats! {
    F f32, u32, 0x7fff_ffff, |v: f32| v;
    Z f32, u32, 0x7fff_ffff, flush;
    D f64, u64, 0x7ff8_0000_0000_0000, |v: f64| v;
}

/// `.f16`
struct H;
/// `.f16`, subnormals flushed to zero.
struct HZ;
/// `.bf16`
struct B;
/// `.bf16`, subnormals flushed to zero.
struct BZ;
/// `.f16x2`
struct H2;
/// `.f16x2`, subnormals flushed to zero.
struct HZ2;
/// `.bf16x2`
struct B2;
/// `.bf16x2`, subnormals flushed to zero.
struct BZ2;
/// `.e4m3x2`
struct M2;
/// `.e5m2x2`
struct N2;

macro_rules! narrow_floats {
    ($($name:ident $pair:ident $format:ident $bits:literal $flush:literal;)*) => { $(
        impl Source for $name {
            type Value = f64;
            type OperandPlace = *const u32;
            #[inline(always)]
            unsafe fn place(operands: Operands, operand: u16) -> *const u32 {
                // SAFETY: the caller's.
                unsafe { operands.row(operand).cast() }
            }
            #[inline(always)]
            unsafe fn get(place: *const u32, lane: usize) -> f64 {
                // SAFETY: a lane is below 32 and the row has 32 words.
                decode::<$format>(unsafe { *place.add(lane) }, $flush)
            }
        }
        impl Sink for $name {
            type Value = f64;
            #[inline(always)]
            unsafe fn put(scratch: *mut u32, lane: usize, value: f64) {
                let rounded = narrow::round::<$format>(value, Rounding::Nearest);
                // SAFETY: scratch has 32 words.
                unsafe { *scratch.add(lane) = encode::<$format>(rounded, $flush) }
            }
        }
        narrow_floats! { @pair $pair $format $bits $flush }
    )* };
    (@pair $pair:ident $format:ident $bits:literal $flush:literal) => {
        impl Source for $pair {
            type Value = [f64; 2];
            type OperandPlace = *const u32;
            #[inline(always)]
            unsafe fn place(operands: Operands, operand: u16) -> *const u32 {
                // SAFETY: the caller's.
                unsafe { operands.row(operand).cast() }
            }
            #[inline(always)]
            unsafe fn get(place: *const u32, lane: usize) -> [f64; 2] {
                // SAFETY: a lane is below 32 and the row has 32 words.
                let word = unsafe { *place.add(lane) };
                [decode::<$format>(word, $flush), decode::<$format>(word >> $bits, $flush)]
            }
        }
        impl Sink for $pair {
            type Value = [f64; 2];
            #[inline(always)]
            unsafe fn put(scratch: *mut u32, lane: usize, value: [f64; 2]) {
                let half = |value| {
                    encode::<$format>(narrow::round::<$format>(value, Rounding::Nearest), $flush)
                };
                // SAFETY: scratch has 32 words.
                unsafe { *scratch.add(lane) = half(value[0]) | half(value[1]) << $bits }
            }
        }
    };
}
narrow_floats! {
    H H2 Half 16 false;
    HZ HZ2 Half 16 true;
    B B2 Brain 16 false;
    BZ BZ2 Brain 16 true;
}
narrow_floats! { @pair M2 E4M3 8 false }
narrow_floats! { @pair N2 E5M2 8 false }

impl Source for P {
    type Value = bool;
    type OperandPlace = u32;
    #[inline(always)]
    unsafe fn place(operands: Operands, operand: u16) -> u32 {
        // SAFETY: decoding gave the warp this predicate.
        unsafe { *operands.predicates.add(operand as usize) }
    }
    #[inline(always)]
    unsafe fn get(place: u32, lane: usize) -> bool {
        place & (1 << lane) != 0
    }
}

impl Sink for bool {
    type Value = bool;
    #[inline(always)]
    unsafe fn put(scratch: *mut u32, lane: usize, value: bool) {
        // SAFETY: scratch has 32 words.
        unsafe { *scratch.add(lane) = if value { 1 << lane } else { 0 } }
    }
}

/// Two truths, of the halves of pairs.
struct Both;

impl Sink for Both {
    type Value = [bool; 2];
    #[inline(always)]
    unsafe fn put(scratch: *mut u32, lane: usize, value: [bool; 2]) {
        let bit = |truth| if truth { 1 << lane } else { 0 };
        // SAFETY: scratch has two rows of 32 words.
        unsafe {
            *scratch.add(lane) = bit(value[0]);
            *scratch.add(32 + lane) = bit(value[1]);
        }
    }
}

macro_rules! loops {
    ($($op:ident($($arg:ident: $ty:tt),*) -> $result:tt $body:block
       $unit:ident $latency:ident $section:literal $spellings:literal;)*) => {
        /// The loop of each operation.
        #[allow(
            non_snake_case,
            clippy::neg_cmp_op_on_partial_ord,
            clippy::double_comparisons,
            clippy::nonminimal_bool,
            reason = "names are the table's; with NaN, a negated comparison is not the opposite one"
        )]
        mod loops {
            use super::*;

            $(
                #[inline(always)]
                pub(super) unsafe fn $op(operands: Operands, instruction: &Instruction, scratch: *mut u32) {
                    #[inline(always)]
                    fn lane($($arg: <$ty as Source>::Value),*) -> <$result as Sink>::Value $body
                    let mut sources = instruction.sources.iter();
                    $(
                        let operand = sources.next().copied().unwrap_or(0);
                        // SAFETY: decoding filled all sources of the row.
                        let $arg = unsafe { <$ty as Source>::place(operands, operand) };
                    )*
                    for index in 0..32 {
                        // SAFETY: the index is below 32, and scratch holds 32 results.
                        unsafe {
                            let value = lane($(<$ty as Source>::get($arg, index)),*);
                            <$result as Sink>::put(scratch, index, value);
                        }
                    }
                }
            )*
        }
    };
}
table::for_each_lane_op!(loops);

/// A version of all operations, in the order of the table, which is that of their numbers.
macro_rules! version {
    ($name:ident $attributes:tt
     $($op:ident($($arg:ident: $ty:tt),*) -> $result:tt $body:block
       $unit:ident $latency:ident $section:literal $spellings:literal;)*) => {
        #[allow(non_snake_case, reason = "names are the table's")]
        pub(crate) mod $name {
            use super::*;

            $(version! { @operation $attributes $op })*

            static ALL: &[Compute] = &[$($op),*];

            version! { @run $attributes }
        }
    };
    (@operation [$($attribute:tt)*] $op:ident) => {
        $($attribute)*
        unsafe fn $op(operands: Operands, instruction: &Instruction, scratch: &mut Scratch) {
            // SAFETY: handed on to the caller.
            unsafe { loops::$op(operands, instruction, scratch.as_mut_ptr().cast()) }
        }
    };
    (@run [$($attribute:tt)*]) => {
        /// Runs an instruction of the table.
        ///
        /// # Safety
        /// See [`Operands::row`]; all operands of the instruction must fit, and the host must have the version's extensions.
        $($attribute)*
        pub(crate) unsafe fn run(operands: Operands, instruction: &Instruction, mask: u32) -> u64 {
            // SAFETY: handed on to the caller.
            unsafe { body(operands, instruction, mask, ALL) }
        }
    };
}

macro_rules! baseline {
    ($($rows:tt)*) => { version! { baseline [] $($rows)* } };
}
table::for_each_lane_op!(baseline);

#[cfg(target_arch = "x86_64")]
macro_rules! with_avx2 {
    ($($rows:tt)*) => {
        version! { with_avx2 [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]] $($rows)* }
    };
}
#[cfg(target_arch = "x86_64")]
table::for_each_lane_op!(with_avx2);

#[inline(always)]
unsafe fn body(operands: Operands, instruction: &Instruction, mask: u32, all: &[Compute]) -> u64 {
    let mut scratch = Scratch::uninit();
    // SAFETY: handed on to the caller.
    unsafe { all[instruction.op as usize](operands, instruction, &mut scratch) };
    let words: *const u32 = scratch.as_ptr().cast();
    let destination = instruction.destinations[0];
    // SAFETY: the operation filled one row, or two for `LaneWide` and of pairs' truths; the destination is a register.
    unsafe {
        match instruction.action {
            Action::Lane => {
                let to = operands.rows.add(destination as usize);
                blend(&mut (*to).0, &*words.cast::<[u32; 32]>(), mask);
                0
            }
            Action::LaneWide => {
                let to = operands.rows.add(destination as usize).cast::<[u64; 32]>();
                blend(&mut *to, &*words.cast::<[u64; 32]>(), mask);
                0
            }
            Action::ComparePair(_) | Action::SetPair(..) => {
                let bits = &*words.cast::<[[u32; 32]; 2]>();
                u64::from(union(&bits[0])) | u64::from(union(&bits[1])) << 32
            }
            _ => union(&*words.cast::<[u32; 32]>()).into(),
        }
    }
}

/// The bits that any lane has.
#[inline(always)]
fn union(lanes: &[u32; 32]) -> u32 {
    let mut all = 0;
    for lane in lanes {
        all |= lane;
    }
    all
}

/// Writes the lanes in `mask`.
#[inline(always)]
pub(crate) fn blend<T: Copy>(to: &mut [T; 32], from: &[T; 32], mask: u32) {
    if mask == u32::MAX {
        *to = *from;
        return;
    }
    for lane in 0..32 {
        to[lane] = if mask & (1 << lane) != 0 { from[lane] } else { to[lane] };
    }
}
