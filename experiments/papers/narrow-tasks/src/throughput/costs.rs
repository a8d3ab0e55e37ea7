//! Costs of instructions on the model's SMs: the SM's parameters, and the additional latencies of its
//! pipeline.

use counterpoint::component::{Invalid, Params};
use counterpoint::gpu::sm::{SharedBanks, SmParams, Units};
use counterpoint::memory::address_map::{AddressMap, AddressMapParams};
use counterpoint::ptx::Access;
use counterpoint::time::Cycles;

use super::demands::{RESOURCES, Resource, Turns};

/// Latencies of the pipeline beyond an SM's parameters, and those of memory.
#[derive(Clone, Debug, Params)]
pub(super) struct CostParams {
    /// Cycles from the issue of an arithmetic instruction to the issue of its consumer, beyond the latency of the instruction's class,
    /// without register bank conflicts.
    #[param(default = "5 cycles")]
    pipeline: Cycles,
    /// From the arrival of the last warp at a barrier to the next instruction of all.
    #[param(default = "1 cycle", min = "1 cycle")]
    barrier: Cycles,
    /// Cycles from the issue of a shared-memory load to the issue of its consumer, beyond `shared_latency`.
    #[param(default = "4 cycles")]
    shared: Cycles,
    /// Cycles from the issue of a parameter or constant load to the issue of its consumer.
    #[param(default = "3 cycles", min = "1 cycle")]
    parameter: Cycles,
    /// Cycles from the issue of a global load of one sector that hits the L2 to the issue of its consumer.
    #[param(default = "141 cycles", min = "1 cycle")]
    global: Cycles,
    /// Cycles from the issue of an atomic of one lane to the issue of its consumer. Lanes on one word do not wait for each other.
    #[param(default = "142 cycles", min = "1 cycle")]
    atomic: Cycles,
    /// Steps of the network's switches in a cycle, as `network.speedup` of the cycle-level GPU. A packet takes two steps.
    #[param(default = "2", min = "1", max = "16")]
    speedup: u32,
    /// From the arrival of a block at its SM to the first instruction of its warps.
    #[param(default = "4 cycles")]
    begin: Cycles,
}

pub(super) struct Costs {
    pub(super) units: Units,
    pub(super) pairs: bool,
    pub(super) by_sector: bool,
    /// From the issue of the last instruction of a buffer to that of the next one.
    pub(super) fetch: u64,
    pub(super) pipeline: u64,
    pub(super) barrier: u64,
    pub(super) shared: u64,
    pub(super) parameter: u64,
    pub(super) global: u64,
    pub(super) atomic: u64,
    pub(super) begin: u64,
    /// For how much of a cycle a packet has a switch of the network.
    pub(super) packet: f64,
    pub(super) capacity: Turns,
    /// Map from addresses to slices of the L2.
    pub(super) map: AddressMap,
    banks: SharedBanks,
    /// Banks of registers that a warp has, and the turns of the register file in a cycle.
    register_banks: u32,
    register_turns: u64,
}

impl Costs {
    pub(super) fn new(sm: &SmParams, costs: &CostParams, map: &AddressMapParams) -> Result<Self, Invalid> {
        if sm.sp.units == 0 || sm.sfu.units == 0 {
            return Err("sp and sfu need a unit at least".into());
        }
        let parts = if sm.sub_cores { sm.schedulers } else { 1 };
        let register_banks = sm.register_banks / parts;
        if !register_banks.is_power_of_two() {
            return Err("register_banks, shared out among sub-cores, must be a power of two".into());
        }
        let mut capacity = [1.0; RESOURCES];
        capacity[Resource::Issue as usize] = sm.schedulers.into();
        capacity[Resource::Sp as usize] = sm.sp.units.into();
        capacity[Resource::Banks as usize] = f64::from(sm.register_banks * sm.register_turns);
        let collectors = (sm.collectors + sm.sp.collectors).max(1);
        capacity[Resource::Collectors as usize] = f64::from(collectors * sm.register_turns);
        capacity[Resource::Sfu as usize] = sm.sfu.units.into();
        capacity[Resource::Dp as usize] = sm.dp.units.max(1).into();
        capacity[Resource::Tensor as usize] = sm.tensor.units.max(1).into();
        Ok(Costs {
            units: Units::new(sm),
            pairs: sm.issue_width > 1,
            by_sector: sm.l1d.is_bypassed(),
            // A wide fetch decodes in its cycle (`sm/frontend/fetch.rs` of the hardware).
            fetch: if sm.fetch_width > 1 { 1 } else { 2 },
            pipeline: costs.pipeline.get(),
            barrier: costs.barrier.get(),
            shared: sm.shared_latency.get() + costs.shared.get(),
            parameter: costs.parameter.get(),
            global: costs.global.get(),
            atomic: costs.atomic.get(),
            begin: costs.begin.get(),
            packet: 2.0 / f64::from(costs.speedup),
            capacity,
            map: AddressMap::new(map)?,
            banks: SharedBanks::new(sm),
            register_banks,
            register_turns: sm.register_turns.into(),
        })
    }

    /// Turns of the register file by which bank conflicts delay operands.
    pub(super) fn bank_conflicts(&self, reads: &[u8]) -> u64 {
        let in_bank_of = |number: &u8| {
            reads.iter().filter(|&other| u32::from(other ^ number) & (self.register_banks - 1) == 0).count()
        };
        reads.iter().map(in_bank_of).max().unwrap_or(1) as u64 - 1
    }

    /// The delay, in cycles, of an instruction whose operands take `turns` more turns of the register file than one. Without
    /// them it leaves the collector two turns after it enters, and it starts in the next cycle (`sm/operands/`).
    pub(super) fn later(&self, turns: u64) -> u64 {
        (2 + turns) / self.register_turns - 2 / self.register_turns
    }

    /// Cycles that an access to shared memory takes in the load-store unit.
    pub(super) fn conflicts(&self, access: &Access) -> u64 {
        self.banks.cycles(access)
    }
}
