//! Timing of instructions: latency and initiation interval of every class, and the path that a unit's instructions
//! take.

use counterpoint_ptx::{Instruction, Latency, Unit};

use crate::gpu::sm::params::{DoubleOther, FloatCycles, SmParams, TensorParams};

/// The paths of instructions through the SM.
pub(in crate::gpu::sm) const PATHS: usize = 5;
/// The path of integers, single precision and control; of approximations; of double precision.
const SP: usize = 0;
const SFU: usize = 1;
const DP: usize = 2;
/// The path of products of matrices.
const TENSOR: usize = 3;
/// The path of memory accesses.
pub(in crate::gpu::sm) const MEMORY: usize = 4;

const CLASSES: usize = Latency::MatrixBit as usize + 1;

/// Latency, initiation interval and path of every class of instructions.
#[derive(Debug)]
pub struct Units {
    cycles: [(u16, u16); CLASSES],
    tensor: TensorParams,
    dp: usize,
    dp_other: usize,
}

impl Units {
    /// Number of paths of instructions through the SM, in this order: that of integers, single precision and control; of approximations; of
    /// double precision; of products of matrices; of memory accesses.
    pub const PATHS: usize = PATHS;
    /// The path of memory accesses.
    pub const MEMORY: usize = MEMORY;

    /// Those of an SM.
    pub fn new(params: &SmParams) -> Self {
        use Latency::{
            DpAdd, DpDiv, DpMad, DpMax, DpMul, DpOther, DpRoot, FpAdd, FpDiv, FpMad, FpMax, FpMul,
        };
        use Latency::{
            FpOther, FpRoot, IntAdd, IntDiv, IntMad, IntMad24, IntMax, IntMul, IntMul24, IntOther,
        };
        let mut cycles = [(1, 1); CLASSES];
        // At most 501.
        let mut set = |class: Latency, latency: u32, initiation: u32| {
            cycles[class as usize] = (latency as u16, initiation as u16);
        };
        let (int, every) = (&params.int_latency, &params.int_initiation);
        set(IntAdd, int.add, every.add);
        set(IntMax, int.max, every.max);
        set(IntMul, int.mul, every.mul);
        set(IntMad, int.mad, every.mad);
        set(IntDiv, int.div, every.div);
        // The units multiply 32 bits; the mask takes a cycle (GPGPU-Sim).
        set(IntMul24, int.mul + 1, every.mul + 1);
        set(IntMad24, int.mad + 1, every.mad + 1);
        set(Latency::IntShuffle, int.shuffle, every.shuffle);
        set(IntOther, int.other, every.other);
        let mut floats = |classes: [Latency; 7], latency: &FloatCycles, initiation: &FloatCycles| {
            for (class, (latency, initiation)) in
                classes.into_iter().zip(latency.each().into_iter().zip(initiation.each()))
            {
                set(class, latency, initiation);
            }
        };
        let single = [FpAdd, FpMax, FpMul, FpMad, FpDiv, FpRoot, FpOther];
        floats(single, &params.fp_latency, &params.fp_initiation);
        let double = [DpAdd, DpMax, DpMul, DpMad, DpDiv, DpRoot, DpOther];
        floats(double, &params.dp_latency, &params.dp_initiation);
        set(Latency::Sfu, params.sfu_latency, params.sfu_initiation);
        // Double precision may have units of its own.
        let dp = if params.dp.units > 0 { DP } else { SFU };
        let dp_other = match params.dp_other {
            DoubleOther::Sp => SP,
            DoubleOther::Dp => dp,
        };
        Units { cycles, tensor: params.tensor.clone(), dp, dp_other }
    }

    /// Latency and initiation interval.
    #[inline]
    pub(in crate::gpu::sm) fn cycles(&self, class: Latency) -> (u16, u16) {
        self.cycles[class as usize]
    }

    /// Whether there are units for products of matrices.
    pub(in crate::gpu::sm) fn multiplies(&self) -> bool {
        self.tensor.units > 0
    }

    /// Latency and initiation interval of an instruction, in cycles.
    #[inline]
    pub fn cycles_of(&self, instruction: &Instruction) -> (u16, u16) {
        match instruction.work {
            0 => self.cycles(instruction.latency),
            work => self.cycles_of_product(instruction.latency, work),
        }
    }

    #[cold]
    fn cycles_of_product(&self, class: Latency, work: u8) -> (u16, u16) {
        let Some(rate) = self.tensor.rate(class) else { return (1, 1) };
        // At most 32,640.
        let initiation = (u32::from(work) * Instruction::WORK).div_ceil(rate);
        ((self.tensor.latency + initiation - 1) as u16, initiation as u16)
    }

    /// The path that an instruction takes, one of [`Units::PATHS`].
    #[inline]
    pub fn path(&self, unit: Unit, class: Latency) -> usize {
        match unit {
            Unit::Sp | Unit::Control => SP,
            Unit::Dp if class == Latency::DpOther => self.dp_other,
            Unit::Dp => self.dp,
            Unit::Sfu => SFU,
            Unit::Tensor => TENSOR,
            Unit::LdSt => MEMORY,
        }
    }
}
