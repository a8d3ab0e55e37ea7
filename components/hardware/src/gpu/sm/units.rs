//! How long instructions take: latency and initiation interval of every class, and the way that a unit's instructions
//! go.

use counterpoint_ptx::{Latency, Unit};

use super::params::{ClassCycles, SmParams};

/// The ways of instructions through the SM.
pub(in crate::gpu) const WAYS: usize = 4;
/// The way of memory accesses.
pub(in crate::gpu) const MEMORY: usize = 3;

const CLASSES: usize = 23;
const UNITS: usize = 5;

/// Latency and initiation interval of every class.
pub(in crate::gpu) struct Units {
    cycles: [(u32, u32); CLASSES],
    /// The way of every unit's instructions.
    ways: [usize; UNITS],
}

impl Units {
    pub(in crate::gpu) fn new(params: &SmParams) -> Self {
        let mut cycles = [(1, 1); CLASSES];
        let mut set = |class: Latency, latency, initiation| cycles[class as usize] = (latency, initiation);
        let mut group = |classes: [Latency; 5], latency: &ClassCycles, initiation: &ClassCycles| {
            let each = |cycles: &ClassCycles| [cycles.add, cycles.max, cycles.mul, cycles.mad, cycles.div];
            for (class, (latency, initiation)) in
                classes.into_iter().zip(each(latency).into_iter().zip(each(initiation)))
            {
                set(class, latency, initiation);
            }
        };
        use Latency::{DpAdd, DpDiv, DpMad, DpMax, DpMul, FpAdd, FpDiv, FpMad, FpMax, FpMul};
        use Latency::{IntAdd, IntDiv, IntMad, IntMax, IntMul};
        group([IntAdd, IntMax, IntMul, IntMad, IntDiv], &params.int_latency, &params.int_initiation);
        group([FpAdd, FpMax, FpMul, FpMad, FpDiv], &params.fp_latency, &params.fp_initiation);
        group([DpAdd, DpMax, DpMul, DpMad, DpDiv], &params.dp_latency, &params.dp_initiation);
        set(Latency::Sfu, params.sfu_latency, params.sfu_initiation);
        // Double precision may have units of its own.
        let way = |unit| match unit {
            Unit::Sp | Unit::Control => 0,
            Unit::Dp if params.dp.units > 0 => 2,
            Unit::Sfu | Unit::Dp => 1,
            Unit::LdSt => MEMORY,
        };
        let mut ways = [0; UNITS];
        for unit in [Unit::Sp, Unit::Sfu, Unit::Dp, Unit::LdSt, Unit::Control] {
            ways[unit as usize] = way(unit);
        }
        Units { cycles, ways }
    }

    /// Latency and initiation interval.
    #[inline]
    pub(in crate::gpu) fn cycles(&self, class: Latency) -> (u32, u32) {
        self.cycles[class as usize]
    }

    /// The way that instructions for a unit go.
    #[inline]
    pub(in crate::gpu) fn way(&self, unit: Unit) -> usize {
        self.ways[unit as usize]
    }
}
