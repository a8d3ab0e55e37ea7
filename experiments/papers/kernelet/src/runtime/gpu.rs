//! What a runtime knows of the GPU: constants of a card, and what the device says of itself.

use std::collections::BTreeMap;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Choice, Params};
use counterpoint_framework::time::{Bytes, BytesPerSecond, Hertz};
use counterpoint_hardware::gpu::cta_scheduler::Occupancy;
use counterpoint_protocols::bus::Description;
use counterpoint_protocols::launch::SmResources;

use super::program::Program;
use crate::model::{Latency, Memory};
use crate::paper::{C2050, GTX680};
use crate::schedule::{C2050_CLOCK, C2050_MEMORY, GTX680_CLOCK, GTX680_MEMORY, Machine};

/// A card of Table 2.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Card {
    /// A Tesla C2050.
    C2050,
    /// A GeForce GTX 680.
    Gtx680,
}

/// What the model knows of the GPU. Constants that are not given are the card's. SMs, and what they offer to blocks, are those of the
/// device.
#[derive(Clone, Debug, Params)]
pub(super) struct GpuParams {
    /// The card; without it, the one of Table 2 with as many threads on an SM as the device has.
    like: Option<Card>,
    /// The clock of the model's cycles: a scheduler of the model issues an instruction of a warp in each.
    clock: Option<Hertz>,
    /// Warp schedulers of an SM in the model.
    #[param(min = "1", max = "64")]
    schedulers: Option<u32>,
    /// Warp instructions that an SM issues in a cycle at most, for PUR.
    #[param(min = "0.001", max = "1000")]
    peak_ipc: Option<f64>,
    /// `L0`: cycles of a coalesced access without contention.
    #[param(min = "1", max = "1000000")]
    latency: Option<f64>,
    /// The same of an uncoalesced access.
    #[param(min = "1", max = "1000000")]
    uncoalesced_latency: Option<f64>,
    /// `a0`: cycles for each warp of an SM that waits, in the cycles in which the GPU's memory serves a request.
    #[param(min = "0", max = "1000000")]
    slope: Option<f64>,
    /// Requests of an uncoalesced access.
    #[param(min = "1", max = "32")]
    uncoalesced_requests: Option<f64>,
    /// The bandwidth of the GPU's memory.
    bandwidth: Option<BytesPerSecond>,
    /// Bytes of a request.
    #[param(default = "128 B", min = "1 B", max = "4 KiB")]
    request: Bytes,
    /// How SMs allot their resources to blocks: as the CTA scheduler has it.
    occupancy: Occupancy,
}

/// The GPU of a run.
#[derive(Clone, Debug)]
pub(super) struct Gpu {
    /// What the model knows of it.
    pub(super) machine: Machine,
    /// The clock of its cycles, in Hz.
    pub(super) clock: f64,
    /// The card's threshold of MUR.
    pub(super) mur: f64,
    /// Bytes of a request of the model.
    pub(super) request: f64,
    occupancy: Occupancy,
}

/// What is known of a card.
struct Constants {
    machine: fn(Memory) -> Machine,
    /// The clock of the model's cycles.
    clock: f64,
    memory: Memory,
    /// `alpha_m`.
    mur: f64,
}

impl Card {
    /// The card with such SMs.
    fn with(sm: &SmResources) -> Result<Self, Fault> {
        let all = [(Card::C2050, Machine::c2050 as fn(Memory) -> Machine), (Card::Gtx680, Machine::gtx680)];
        let memory = Memory::constant(1.0);
        let found = all.into_iter().find(|(_, machine)| machine(memory).offer.threads == sm.threads);
        let unknown = || {
            Fault::new(format!(
                "no card of the paper has {} threads on an SM: `gpu.like` says whose constants hold",
                sm.threads
            ))
        };
        found.map(|(card, _)| card).ok_or_else(unknown)
    }

    const fn constants(self) -> Constants {
        match self {
            Card::C2050 => Constants {
                machine: Machine::c2050,
                clock: C2050_CLOCK,
                memory: C2050_MEMORY,
                mur: C2050.alpha_m,
            },
            Card::Gtx680 => Constants {
                machine: Machine::gtx680,
                clock: GTX680_CLOCK,
                memory: GTX680_MEMORY,
                mur: GTX680.alpha_m,
            },
        }
    }
}

impl GpuParams {
    /// The GPU with what the device says of itself.
    ///
    /// # Errors
    /// If there is more than one device.
    pub(super) fn gpu(&self, devices: &BTreeMap<u32, Description>) -> Result<Gpu, Fault> {
        let [description] = &devices.values().collect::<Vec<_>>()[..] else {
            let count = devices.len();
            return Err(Fault::new(format!(
                "a queue of kernels has one GPU; this machine has {count} in use"
            )));
        };
        let constants = self.like.map_or_else(|| Card::with(&description.sm), Ok)?.constants();
        let clock = self.clock.map_or(constants.clock, |clock| clock.get() as f64);
        let card = constants.memory;
        let bytes = self.bandwidth.map_or(card.bandwidth * constants.clock * 128.0, |it| it.get() as f64);
        let latency = |given: Option<f64>, known: Latency| Latency {
            base: given.unwrap_or(known.base),
            slope: self.slope.unwrap_or(known.slope),
            offset: known.offset,
        };
        let memory = Memory {
            bandwidth: bytes / clock / self.request.get() as f64,
            coalesced: latency(self.latency, card.coalesced),
            uncoalesced: latency(self.uncoalesced_latency.or(self.latency), card.uncoalesced),
            requests: self.uncoalesced_requests.unwrap_or(card.requests),
        };
        let known = (constants.machine)(memory);
        let machine = Machine {
            sms: description.capacity.sms,
            schedulers: self.schedulers.unwrap_or(known.schedulers),
            peak_ipc: self.peak_ipc.unwrap_or(known.peak_ipc),
            offer: description.sm,
            memory,
        };
        Ok(Gpu {
            machine,
            clock,
            mur: constants.mur,
            request: self.request.get() as f64,
            occupancy: self.occupancy.clone(),
        })
    }
}

impl Gpu {
    /// What a block of a kernel is allotted.
    pub(super) fn demand(&self, program: &Program) -> SmResources {
        let launch = &program.whole;
        let shared = launch.kernel.shared_bytes() + launch.shared;
        self.occupancy.allotted(launch.block.iter().product(), launch.registers, shared)
    }

    /// Warps of a block of a kernel.
    pub(super) fn warps(&self, program: &Program) -> u32 {
        program.whole.block.iter().product::<u32>().div_ceil(32)
    }
}

#[cfg(test)]
mod tests;
