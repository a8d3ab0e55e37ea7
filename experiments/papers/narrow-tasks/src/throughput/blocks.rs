//! Blocks of ordinary kernels: executed when they arrive, and over when the last of their warps has done its work.

use std::collections::BTreeMap;

use counterpoint::kernel::Fault;
use counterpoint::messages::launch::{CtaCounts, LaunchId, RunCta};

use super::GpuContext;
use super::execute::Code;
use super::isolated::Warp;
use super::sm::Worker;

/// A block whose warps are at work.
struct Block {
    launch: LaunchId,
    index: u32,
    /// Warps that have not ended.
    warps: u32,
    since: u64,
    counts: CtaCounts,
}

/// A block that has ended.
pub struct Ended {
    /// Launch of the block.
    pub launch: LaunchId,
    /// Number of the block in its launch.
    pub index: u32,
    /// Counts of the block.
    pub counts: CtaCounts,
    /// Cycles for which the block was resident.
    pub cycles: u64,
}

/// The resident blocks, by their number in the model.
#[derive(Default)]
pub(super) struct Blocks {
    all: BTreeMap<u32, Block>,
    next: u32,
}

impl Blocks {
    /// Whether no blocks are running.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Executes a block, and puts its warps to work.
    pub(super) fn begin(&mut self, message: RunCta, gpu: &mut GpuContext<'_>) -> Result<(), Fault> {
        let RunCta { launch, index, sm, .. } = message;
        let code = Code {
            launch: &launch,
            kernel: &launch.kernel,
            grid: launch.grid,
            block: launch.block,
            shared: launch.dynamic_shared,
            params: &launch.params,
        };
        let warps = code.execute([launch.ctaid(index)].into_iter(), gpu)?.concat();
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let mut counts = CtaCounts::default();
        for Warp { cycles, demands, instructions, threads } in &warps {
            counts.warp_insn += instructions;
            counts.thread_insn += threads;
            let cycles = (cycles + gpu.costs.begin) as f64;
            gpu.sms[sm as usize].begin(Worker::Warp(number), cycles, demands.rates(cycles));
        }
        let block = Block { launch: launch.id, index, warps: warps.len() as u32, since: gpu.cycle, counts };
        self.all.insert(number, block);
        Ok(())
    }

    /// A warp of a block has done its work. Gives the block if it was the last one.
    pub(super) fn end_warp(&mut self, number: u32, cycle: u64) -> Option<Ended> {
        let block = self.all.get_mut(&number)?;
        block.counts.warp_cycles += cycle - block.since;
        block.warps -= 1;
        if block.warps > 0 {
            return None;
        }
        let Block { launch, index, since, counts, .. } = self.all.remove(&number)?;
        Some(Ended { launch, index, counts, cycles: cycle - since })
    }
}
