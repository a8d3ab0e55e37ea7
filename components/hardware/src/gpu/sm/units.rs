//! Execution units: when each is free again, and how long each class of instruction takes.

use counterpoint_ptx::{Latency, Unit};

use super::params::{ClassCycles, SmParams};

/// Latency and initiation interval of every class, and the units' state.
pub(super) struct Units {
    latency: [u32; CLASSES],
    initiation: [u32; CLASSES],
    /// Per unit of each sort, the first cycle in which it takes an instruction.
    free: [Vec<u64>; 3],
}

const CLASSES: usize = 23;

fn sort(unit: Unit) -> Option<usize> {
    match unit {
        Unit::Sp => Some(0),
        Unit::Sfu => Some(1),
        Unit::Dp => Some(2),
        Unit::LdSt | Unit::Control => None,
    }
}

impl Units {
    pub(super) fn new(params: &SmParams) -> Self {
        let table = |int: &ClassCycles, fp: &ClassCycles, dp: &ClassCycles, sfu: u32| {
            let mut cycles = [1; CLASSES];
            let mut set = |class: Latency, value: u32| cycles[class as usize] = value;
            set(Latency::IntAdd, int.add);
            set(Latency::IntMax, int.max);
            set(Latency::IntMul, int.mul);
            set(Latency::IntMad, int.mad);
            set(Latency::IntDiv, int.div);
            set(Latency::FpAdd, fp.add);
            set(Latency::FpMax, fp.max);
            set(Latency::FpMul, fp.mul);
            set(Latency::FpMad, fp.mad);
            set(Latency::FpDiv, fp.div);
            set(Latency::DpAdd, dp.add);
            set(Latency::DpMax, dp.max);
            set(Latency::DpMul, dp.mul);
            set(Latency::DpMad, dp.mad);
            set(Latency::DpDiv, dp.div);
            set(Latency::Sfu, sfu);
            cycles
        };
        let SmParams { sp_units, sfu_units, dp_units, .. } = *params;
        Units {
            latency: table(&params.int_latency, &params.fp_latency, &params.dp_latency, params.sfu_latency),
            initiation: table(
                &params.int_initiation,
                &params.fp_initiation,
                &params.dp_initiation,
                params.sfu_initiation,
            ),
            free: [sp_units, sfu_units, dp_units].map(|count| vec![0; count as usize]),
        }
    }

    /// Whether a unit of this sort takes an instruction in this cycle.
    #[inline]
    pub(super) fn is_free(&self, unit: Unit, cycle: u64) -> bool {
        sort(unit).is_none_or(|sort| self.free[sort].iter().any(|&free| free <= cycle))
    }

    /// Gives an instruction to a free unit; the result is its latency.
    #[inline]
    pub(super) fn start(&mut self, unit: Unit, class: Latency, cycle: u64) -> u64 {
        if let Some(sort) = sort(unit)
            && let Some(free) = self.free[sort].iter_mut().find(|free| **free <= cycle)
        {
            *free = cycle + u64::from(self.initiation[class as usize]);
        }
        u64::from(self.latency[class as usize])
    }

    /// The first cycle after this one in which a unit of this sort is free.
    pub(super) fn next_free(&self, unit: Unit, cycle: u64) -> u64 {
        let free = sort(unit).and_then(|sort| self.free[sort].iter().copied().min());
        free.unwrap_or(0).max(cycle + 1)
    }
}
