//! Time of the SuperKernel's own work, and of spinning for its lock.

use counterpoint::component::Params;
use counterpoint::time::Cycles;

use crate::throughput::state_machine::{Demands, Resource, Warp};

use super::lock::LockCosts;

/// The work of a SuperKernel (`cuda/gemtc`): cycles, seen from the part of the L2 that has the lock.
///
/// Measured on `titanx-maxwell`, where SMs are stepped, with tasks that do next to nothing and one block of 64 threads unless stated otherwise; the
/// tests in `tests/measured/super_kernel.rs` are these measurements. With 1 to 768 blocks the whole kernel
/// then takes 0.98 to 1.03 of its time there.
#[derive(Clone, Debug, Params)]
#[params(moved("around", "it is now `overhead`"))]
pub(crate) struct SuperParams {
    /// From the arrival of a block at its SM to its first look at the lock.
    #[param(default = "172 cycles")]
    begin: Cycles,
    /// How long a block has the lock that takes a task, while few others look at it.
    #[param(default = "454 cycles", min = "1 cycle")]
    take: Cycles,
    /// The same where no task is left: nothing is written.
    #[param(default = "309 cycles", min = "1 cycle")]
    empty: Cycles,
    /// The same for entering a result.
    #[param(default = "463 cycles", min = "1 cycle")]
    enter: Cycles,
    /// From giving back the lock, with a result entered, to the look for the next task.
    #[param(default = "19 cycles")]
    again: Cycles,
    /// From giving back the lock, with a task taken, to the look for entering its result, without the task's
    /// blocks: the rest of 1385 cycles for a task of one block that finds everything in the L2.
    #[param(default = "269 cycles")]
    overhead: Cycles,
    /// Additional cycles of a task's block over those of its warps: the entry is read, and the task function
    /// called. Each further block of a task takes 1116 cycles, 653 of them computed by the model for its
    /// instructions.
    #[param(default = "463 cycles")]
    block: Cycles,
    /// Instructions of a warp around a task: 148 in two warps, 80 of them its block's.
    #[param(default = "34")]
    instructions: u32,
    /// From giving back the lock, with no task taken, to the end of the block.
    #[param(default = "19 cycles")]
    end: Cycles,
    /// From a look at the lock to the next of the same block, as long as the L2 keeps up.
    #[param(default = "160 cycles", min = "1 cycle")]
    spin: Cycles,
    /// Instructions of it.
    #[param(default = "5", min = "1")]
    spin_instructions: u32,
    /// Looks of an SM's blocks that may be on their way to the L2 before its path is full. With 16 and with 32 blocks on each of 24 SMs the
    /// lock is held for three times 384 cycles, with 20 of 320, with 16 of 256, and with 8 blocks on each of 24 of 189.
    #[param(default = "16", min = "1")]
    path: u32,
}

/// Costs of the SuperKernel, in the model's units.
#[derive(Clone, Debug)]
pub(super) struct SuperCosts {
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) lock: LockCosts,
    overhead: f64,
    block: f64,
    /// Demands of the work around a task.
    of_overhead: Demands,
    look: Demands,
}

impl SuperCosts {
    pub(super) fn new(params: &SuperParams) -> Self {
        let cycles = |cycles: &Cycles| cycles.get() as f64;
        let (mut look, computing) =
            (Demands::default(), u64::from(params.spin_instructions.saturating_sub(1)));
        look.visit(Resource::Issue, 1, computing + 1);
        look.visit(Resource::Sp, 1, computing);
        look.visit(Resource::LoadStore, 1, 1);
        look.visit(Resource::Port, 1, 1);
        let mut of_overhead = Demands::default();
        of_overhead.visit(Resource::Issue, 1, params.instructions.into());
        of_overhead.visit(Resource::Sp, 1, params.instructions.into());
        SuperCosts {
            begin: cycles(&params.begin),
            end: cycles(&params.end),
            lock: LockCosts {
                take: params.take.get(),
                empty: params.empty.get(),
                enter: params.enter.get(),
                again: params.again.get(),
                spin: params.spin.get(),
                path: params.path,
            },
            overhead: cycles(&params.overhead),
            block: cycles(&params.block),
            of_overhead,
            look,
        }
    }

    /// Demands in a cycle of a block that spins and looks once in `period` cycles.
    pub(super) fn spinning(&self, period: u64) -> Demands {
        self.look.rates(period as f64)
    }

    /// The work of a SuperKernel's warp for a task whose blocks it executes one after another.
    pub(super) fn task(&self, blocks: &[Warp]) -> (f64, Demands) {
        let (mut cycles, mut demands) = (self.overhead, self.of_overhead.clone());
        for block in blocks {
            cycles += self.block + block.cycles as f64;
            demands = demands.with(&block.demands, 1.0);
        }
        (cycles, demands.rates(cycles))
    }
}
