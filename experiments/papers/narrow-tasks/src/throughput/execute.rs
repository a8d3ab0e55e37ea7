//! Blocks executed without time on the device's memory, and the demands of each of their warps alone.

use std::sync::Arc;

use counterpoint::kernel::Fault;
use counterpoint::messages::launch::{Launch, fault_of};
use counterpoint::ptx::functional::{Grid, Options};
use counterpoint::ptx::{Kernel, Windows};

use super::GpuContext;
use super::isolated::{Isolated, IsolatedInstruction, Warp};

/// A grid that is executed on behalf of a launch: with its memory, variables and textures.
pub struct Code<'a> {
    /// The launch.
    pub launch: &'a Launch,
    /// The kernel, which may be another one than the launch's.
    pub kernel: &'a Kernel,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The kernel's parameters as it reads them.
    pub params: &'a [u8],
}

impl Code<'_> {
    /// Executes blocks one after another; gives the warps of each.
    pub(super) fn execute(
        &self,
        ctaids: impl Iterator<Item = [u32; 3]>,
        gpu: &mut GpuContext<'_>,
    ) -> Result<Vec<Vec<Warp>>, Fault> {
        let Code { launch, kernel, grid, block, shared, params } = *self;
        let GpuContext { ref mut memory, costs, limit, .. } = *gpu;
        memory.map(&launch.memory);
        let wrong = |what: String| Fault::new(format!("{}, {what}", launch.name()));
        let warps = block.iter().product::<u32>().div_ceil(32);
        let options = Options {
            dynamic_shared_bytes: shared,
            stack: launch.stack,
            limit: limit.saturating_mul(warps.into()),
            windows: Windows::ABOVE_MEMORY,
            textures: Arc::clone(&launch.textures),
            ..Options::default()
        };
        let blocks = Grid::new(kernel, grid, block, params, launch.variables, &options);
        let mut blocks = blocks.map_err(|error| wrong(error.to_string()))?;
        let steps = IsolatedInstruction::all_of(kernel, costs);
        let mut all = Vec::new();
        for ctaid in ctaids {
            let mut isolated = Isolated::new(kernel, &steps, costs, warps);
            let ran = blocks.run_observed(ctaid, &mut memory.flat, &mut isolated);
            let _ = ran.map_err(|failure| fault_of(launch.name(), &failure))?;
            all.push(isolated.warps().collect());
        }
        Ok(all)
    }
}
