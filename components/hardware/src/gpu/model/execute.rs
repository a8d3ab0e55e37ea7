//! Blocks executed without time on the device's memory, and what each of their warps would take alone.

use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::launch::Launch;
use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{Grid, Options};

use super::costs::Costs;
use super::isolated::{Isolated, Step, Warp};
use super::memory::DeviceMemory;
use crate::gpu::sm::cta::WINDOWS;

/// What is executed on behalf of a launch.
pub(super) struct Code<'a> {
    pub(super) launch: &'a Launch,
    pub(super) kernel: &'a Kernel,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Dynamic shared memory.
    pub(super) shared: u32,
    pub(super) params: &'a [u8],
    /// Instructions after which a warp is taken to run forever.
    pub(super) limit: u64,
}

impl Code<'_> {
    /// Executes blocks one after another; gives the warps of each.
    pub(super) fn execute(
        &self,
        ctaids: impl Iterator<Item = [u32; 3]>,
        memory: &mut DeviceMemory,
        costs: &Costs,
    ) -> Result<Vec<Vec<Warp>>, Fault> {
        let Code { launch, kernel, grid, block, shared, params, limit } = *self;
        let wrong = |what: String| Fault::new(format!("{}, {what}", launch.name()));
        let warps = block.iter().product::<u32>().div_ceil(32);
        let options = Options {
            dynamic_shared_bytes: shared,
            limit: limit.saturating_mul(warps.into()),
            windows: WINDOWS,
            textures: Arc::clone(&launch.textures),
            ..Options::default()
        };
        let blocks = Grid::new(kernel, grid, block, params, launch.variables, &options);
        let mut blocks = blocks.map_err(|error| wrong(error.to_string()))?;
        let steps = Step::all_of(kernel, costs);
        let mut all = Vec::new();
        for ctaid in ctaids {
            let mut isolated = Isolated::new(kernel, &steps, costs, warps);
            let ran = blocks.run_observed(ctaid, &mut memory.flat, &mut isolated);
            let _ = ran.map_err(|failure| wrong(failure.to_string()))?;
            all.push(isolated.warps().collect());
        }
        Ok(all)
    }
}
