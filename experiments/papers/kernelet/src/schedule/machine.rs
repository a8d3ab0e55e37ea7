//! The scheduler's knowledge of a GPU.

use counterpoint::messages::launch::SmResources;

use super::Options;
use super::prune::{Thresholds, ratio};
use crate::model::{Latency, Memory, Sm};
use crate::paper;

const WARP: u32 = 32;

/// Memory of a card in cycles of its model: requests of 128 bytes per cycle; an uncoalesced access has one
/// for each lane.
const fn memory(latency: f64, slope: f64, bytes_per_second: f64, clock: f64) -> Memory {
    let latency = Latency { base: latency, slope, offset: 0.0 };
    let bandwidth = bytes_per_second / clock / 128.0;
    Memory { bandwidth, coalesced: latency, uncoalesced: latency, requests: 32.0 }
}

/// A card of Table 2 as the model knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// The paper's description of the card.
    pub gpu: paper::Gpu,
    /// The clock of the model's cycles, in Hz.
    pub clock: f64,
    /// The scheduler's description of the card. Latency and slope are fitted to the IPC of the paper's
    /// kernels alone on the machine of the same name (example `fit`).
    pub machine: GpuDescription,
}

impl Card {
    /// The C2050. A cycle is one of the hot clock, in which both schedulers issue one instruction together; the paper prints 1147 MHz.
    pub const C2050: Card = Card {
        gpu: paper::C2050,
        clock: 1.15e9,
        machine: GpuDescription::c2050(memory(49.0, 11.38, 144e9, 1.15e9)),
    };

    /// The GTX680. The paper prints 706 MHz.
    pub const GTX680: Card = Card {
        gpu: paper::GTX680,
        clock: 1.006e9,
        machine: GpuDescription::gtx680(memory(71.0, 4.28, 192e9, 1.006e9)),
    };

    /// The card of this name, in letters of any size.
    ///
    /// # Errors
    /// A sentence with the known names.
    pub fn named(name: &str) -> Result<Card, String> {
        let found =
            [Card::C2050, Card::GTX680].into_iter().find(|card| card.gpu.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("`{name}` is not a card of the paper: expected c2050 or gtx680"))
    }

    /// Cycles of all SMs in a second.
    pub fn cycles(&self) -> f64 {
        f64::from(self.machine.sms) * self.clock
    }

    /// Options with the paper's thresholds for this card, and defaults otherwise.
    pub fn options(&self) -> Options {
        let thresholds = Thresholds { pur: self.gpu.alpha_p, mur: self.gpu.alpha_m };
        Options { thresholds, ..Options::default() }
    }
}

/// A GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuDescription {
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Warp schedulers of an SM that issue a warp's instruction per cycle each.
    pub schedulers: u32,
    /// Warp instructions per cycle that an SM issues at most: PUR is relative to this value. The model does
    /// not use it.
    pub peak_ipc: f64,
    /// Resources of an SM for blocks.
    pub offer: SmResources,
    /// Latencies in cycles, and the bandwidth of the GPU in requests per cycle: MUR is measured against it.
    pub memory: Memory,
}

impl GpuDescription {
    /// A C2050. Its two schedulers, of half a warp per cycle each, are one for the model. The resources of an
    /// SM are those of compute capability 2.0 (CUDA C Programming Guide, appendix of compute capabilities);
    /// the paper's latencies are not known.
    pub const fn c2050(memory: Memory) -> Self {
        let offer = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 49152 };
        let paper::Gpu { sms, peak_ipc, .. } = paper::C2050;
        GpuDescription { sms, schedulers: 1, peak_ipc, offer, memory }
    }

    /// A GTX680. The resources of an SM are those of compute capability 3.0. Its schedulers issue one
    /// instruction per cycle in the model, two at most in the peak IPC.
    pub const fn gtx680(memory: Memory) -> Self {
        let offer = SmResources { threads: 2048, ctas: 16, registers: 65536, shared: 49152 };
        let paper::Gpu { sms, schedulers, peak_ipc, .. } = paper::GTX680;
        GpuDescription { sms, schedulers, peak_ipc, offer, memory }
    }

    /// An SM of this GPU.
    pub const fn sm(&self) -> Sm {
        Sm { schedulers: self.schedulers, memory: self.memory }
    }

    /// Active warps in those that an SM may have, 0 to 1.
    pub fn occupancy(&self, blocks_per_sm: u32, warps_per_block: u32) -> f64 {
        f64::from(blocks_per_sm * warps_per_block) / f64::from(self.offer.threads / WARP)
    }

    /// PUR, from the warp instructions of all SMs in this many cycles.
    pub fn pur(&self, instructions: f64, cycles: f64) -> f64 {
        ratio(instructions, cycles, self.peak_ipc * f64::from(self.sms))
    }

    /// MUR, from the reads and writes of DRAM in this many cycles.
    pub fn mur(&self, requests: f64, cycles: f64) -> f64 {
        ratio(requests, cycles, self.memory.bandwidth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{C2050, GTX680, KERNELS};
    use crate::schedule::slices::most;

    /// Blocks of each kernel on an SM of the C2050 that Table 4's occupancy implies.
    const IMPLIED: [u32; 8] = [6, 8, 6, 8, 4, 5, 8, 8];

    /// A5.10, T5.18.
    #[test]
    fn blocks_on_an_sm_of_the_c2050_give_the_occupancy_of_table_4() {
        let machine = GpuDescription::c2050(Memory::constant(400.0));
        for (kernel, implied) in KERNELS.iter().zip(IMPLIED) {
            let found = 100.0 * machine.occupancy(implied, kernel.threads / 32);
            let printed = kernel.c2050.occupancy;
            let meant = if printed == 67.7 { 66.7 } else { printed };
            assert!((found - meant).abs() < 0.05, "{}: {found} is not {meant}", kernel.name);
        }
    }

    /// Threads and block slots limit six of them; MM and MRIQ are limited by a resource that the paper does
    /// not print, here by registers.
    #[test]
    fn resources_allow_as_many_blocks_as_the_occupancy_implies() {
        let machine = GpuDescription::c2050(Memory::constant(400.0));
        for (kernel, implied) in KERNELS.iter().zip(IMPLIED) {
            let registers_per_thread = match kernel.name {
                "MM" => 32,
                "MRIQ" => 25,
                _ => 20,
            };
            let registers = registers_per_thread * kernel.threads;
            let demand = SmResources { threads: kernel.threads, ctas: 1, registers, shared: 0 };
            assert_eq!(most(&machine.offer, &demand), implied, "{}", kernel.name);
        }
    }

    #[test]
    fn ratios_are_of_the_whole_gpu() {
        let machine = GpuDescription::c2050(Memory { bandwidth: 0.98, ..Memory::constant(400.0) });
        assert!((machine.pur(1400.0, 1000.0) - 0.1).abs() < 1e-12);
        assert!((machine.mur(98.0, 1000.0) - 0.1).abs() < 1e-12);
        assert!((C2050.requests_per_cycle(128.0) - 0.98082).abs() < 1e-5);
        assert!((GTX680.requests_per_cycle(128.0) - 2.12465).abs() < 1e-5);
    }
}
