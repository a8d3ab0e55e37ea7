//! SMs with several warp schedulers, and thread blocks as units: "adaptation to GPUs with multiple warp schedulers" and the first of
//! the "two more issues" of section 4.4.
//!
//! Each warp scheduler of an SM is a virtual SM, with its share of the warps and of the bandwidth; the IPC of the SM is that of a virtual
//! SM, times the number of schedulers.

use super::chain::{Unsolvable, ipc};
use super::latency::Memory;
use super::warps::Warps;

/// An SM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sm {
    /// Warp schedulers that issue a warp's instruction per cycle each. Two that take a half warp per cycle each count as one.
    pub schedulers: u32,
    /// The memory as the whole SM sees it.
    pub memory: Memory,
}

/// Blocks of one kernel on an SM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resident {
    /// Thread blocks on the SM.
    pub blocks: u32,
    /// Warps of a block.
    pub warps_per_block: u32,
    /// `R_m`: memory instructions in all instructions, 0 to 1.
    pub memory: f64,
    /// Uncoalesced accesses in all memory instructions, 0 to 1.
    pub uncoalesced: f64,
}

/// The unit that gets idle and ready as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A warp: the chain that the paper describes, and the reference.
    Warp,
    /// A thread block: a chain with far fewer states, for decisions at run time.
    ///
    /// The paper does not give the probabilities of this chain. Here all warps of a block move together, in a round with the probability
    /// that a warp has; a ready block issues an instruction of each of its warps. The ready warps vary more then, there are more rounds
    /// without one, and the IPC is lower: by up to 0.15 of 1 with four to eight blocks of four to eight warps and constant latency (a test
    /// compares both), most in the middle between no and all cycles idle.
    #[default]
    Block,
}

impl Sm {
    /// The IPC of kernels that run together on the SM, or of one alone.
    ///
    /// # Errors
    /// If a kernel has a fraction that is none, or the chain has too many states, or several steady states.
    pub fn ipc<const N: usize>(&self, kernels: [Resident; N], unit: Unit) -> Result<[f64; N], Unsolvable> {
        let schedulers = f64::from(self.schedulers.max(1));
        let memory = Memory { bandwidth: self.memory.bandwidth / schedulers, ..self.memory };
        let own = kernels.map(|kernel| kernel.on_scheduler(schedulers, unit));
        Ok(ipc(own, &memory)?.map(|ipc| ipc * schedulers))
    }
}

impl Resident {
    /// Warps of one scheduler: its whole units, at least one, which hold all its warps. Warps of a block are spread over the schedulers,
    /// so that a scheduler's warps need not be a whole number.
    fn on_scheduler(&self, schedulers: f64, unit: Unit) -> Warps {
        let warps = f64::from(self.blocks) * f64::from(self.warps_per_block) / schedulers;
        let size = match unit {
            Unit::Warp => 1.0,
            Unit::Block => f64::from(self.warps_per_block.max(1)),
        };
        let units = (warps / size).floor().max(1.0);
        Warps {
            units: units as u32,
            per_unit: warps / units,
            memory: self.memory,
            uncoalesced: self.uncoalesced,
        }
    }
}
