//! A runtime's knowledge of the GPU: constants of a card, and the device's description of itself.

use std::collections::BTreeMap;

use counterpoint::component::{Choice, Params};
use counterpoint::gpu::cta_scheduler::Occupancy;
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::messages::launch::SmResources;
use counterpoint::time::{Bytes, BytesPerSecond, Hertz};

use super::program::Program;
use crate::model::{Latency, Memory};
use crate::schedule::{Card, GpuDescription};

/// A card of Table 2.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Like {
    /// A Tesla C2050.
    C2050,
    /// A GeForce GTX 680.
    Gtx680,
}

/// The model's knowledge of the GPU. Constants that are not given are the card's. SMs, and their resources
/// for blocks, are those of the device.
#[derive(Clone, Debug, Params)]
pub(crate) struct GpuParams {
    /// The card; without it, the one of Table 2 with as many threads on an SM as the device has.
    like: Option<Like>,
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

#[derive(Clone, Debug)]
pub(crate) struct Gpu {
    /// The model's description of the GPU.
    pub(crate) machine: GpuDescription,
    /// The card.
    pub(crate) card: Card,
    /// The clock of its cycles, in Hz.
    pub(super) clock: f64,
    /// The card's threshold of MUR.
    pub(super) mur: f64,
    /// Bytes of a request of the model.
    pub(super) request: f64,
    occupancy: Occupancy,
}

fn with(sm: &SmResources) -> Result<Card, Fault> {
    let found = [Card::C2050, Card::GTX680].into_iter().find(|card| card.machine.offer.threads == sm.threads);
    found.ok_or_else(|| {
        Fault::new(format!(
            "no card of the paper has {} threads on an SM: `gpu.like` says whose constants hold",
            sm.threads
        ))
    })
}

/// The description of the one device.
///
/// # Errors
/// If there is more than one.
fn only(devices: &BTreeMap<u32, Description>) -> Result<&Description, Fault> {
    match devices.values().collect::<Vec<_>>()[..] {
        [description] => Ok(description),
        _ => {
            let count = devices.len();
            Err(Fault::new(format!("a queue of kernels has one GPU; this machine has {count} in use")))
        }
    }
}

/// The card that is given, or the one of Table 2 with as many threads on an SM as the device has.
pub(super) fn card_of(given: Option<Like>, devices: &BTreeMap<u32, Description>) -> Result<Card, Fault> {
    given.map_or_else(|| with(&only(devices)?.sm), |like| Ok(like.card()))
}

impl Like {
    const fn card(self) -> Card {
        match self {
            Like::C2050 => Card::C2050,
            Like::Gtx680 => Card::GTX680,
        }
    }
}

impl GpuParams {
    /// The GPU with the device's description of itself.
    ///
    /// # Errors
    /// If there is more than one device.
    pub(crate) fn gpu(&self, devices: &BTreeMap<u32, Description>) -> Result<Gpu, Fault> {
        let (description, card) = (only(devices)?, card_of(self.like, devices)?);
        let Card { machine: known, .. } = card;
        let clock = self.clock.map_or(card.clock, |clock| clock.get() as f64);
        let bytes = known.memory.bandwidth * card.clock * 128.0;
        let bytes = self.bandwidth.map_or(bytes, |bandwidth| bandwidth.get() as f64);
        let latency = |given: Option<f64>, known: Latency| Latency {
            base: given.unwrap_or(known.base),
            slope: self.slope.unwrap_or(known.slope),
            offset: known.offset,
        };
        let memory = Memory {
            bandwidth: bytes / clock / self.request.get() as f64,
            coalesced: latency(self.latency, known.memory.coalesced),
            uncoalesced: latency(self.uncoalesced_latency.or(self.latency), known.memory.uncoalesced),
            requests: self.uncoalesced_requests.unwrap_or(known.memory.requests),
        };
        let machine = GpuDescription {
            sms: description.capacity.sms,
            schedulers: self.schedulers.unwrap_or(known.schedulers),
            peak_ipc: self.peak_ipc.unwrap_or(known.peak_ipc),
            offer: description.sm,
            memory,
        };
        Ok(Gpu {
            machine,
            card,
            clock,
            mur: card.gpu.alpha_m,
            request: self.request.get() as f64,
            occupancy: self.occupancy.clone(),
        })
    }
}

impl Gpu {
    /// The resources of a kernel's block.
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
