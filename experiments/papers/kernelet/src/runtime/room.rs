//! Room on SMs.

use counterpoint::messages::launch::SmResources;

use super::gpu::Gpu;
use super::program::Program;
use crate::schedule::slices::{Fill, feasible, most};

/// The SMs of a run, and the needs of its kernels' blocks on them.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) sms: u32,
    pub(super) offer: SmResources,
    /// Resources that one block of each kernel needs.
    pub(super) demands: Vec<SmResources>,
}

impl Room {
    /// Resources of a GPU, and the demands of these kernels.
    pub(super) fn new(gpu: &Gpu, programs: &[Program]) -> Self {
        let demands = programs.iter().map(|program| gpu.demand(program)).collect();
        Room { sms: gpu.machine.sms, offer: gpu.machine.offer, demands }
    }

    /// Blocks of two kernels on an SM.
    pub(super) fn pairs(&self, kernels: [usize; 2], fill: Fill) -> Vec<[u32; 2]> {
        feasible(&self.offer, kernels.map(|kernel| &self.demands[kernel]), fill)
    }

    /// Blocks of a kernel alone on an SM.
    pub(super) fn most(&self, kernel: usize) -> u32 {
        most(&self.offer, &self.demands[kernel])
    }
}
