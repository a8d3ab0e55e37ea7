//! Time of the MasterKernel's own work, alone on an SM, and the issue slots that it uses there.

use counterpoint::component::Params;
use counterpoint::time::Cycles;

use crate::task_entry::Demand;
use crate::throughput::state_machine::{Demands, Resource, collecting};

/// The work of a MasterKernel (`cuda/pagoda`): cycles, alone on an SM. All are measured where SMs are stepped, from the
/// times of its writes to the TaskTable; the tests in `tests/measured/master_kernel.rs` are these measurements.
#[derive(Clone, Debug, Params)]
pub(crate) struct MasterParams {
    /// An executor warp's look at its slot.
    #[param(default = "38 cycles", min = "1 cycle")]
    poll: Cycles,
    /// Instructions of it: a load, a comparison, a jump.
    #[param(default = "3", min = "1")]
    poll_instructions: u32,
    /// From an executor's look that finds a warp to the first instruction of the task. Where within its work the scheduler warp lets the
    /// executor go cannot be seen from outside; it is taken to be the end of placing. The model's code around
    /// a task (`task.rs`) sets up a call, too, which is not taken off.
    #[param(default = "419 cycles")]
    begin: Cycles,
    /// From the acknowledgement of a task's last store to the time at which its entry is free at the L2. The executor looks at its slot
    /// again some hundred cycles before that store arrives, which is not modelled.
    #[param(default = "273 cycles")]
    end: Cycles,
    /// Instructions of an executor around a task. It is the increase of its instructions with each task, less
    /// those that it issues while it polls; the number of those turns follows from the other costs, so it is
    /// known to a tenth.
    #[param(default = "64")]
    executor_instructions: u32,
    /// The scheduler warp's look at a row that has nothing for it.
    #[param(default = "255 cycles", min = "1 cycle")]
    look: Cycles,
    /// Instructions of it.
    #[param(default = "36", min = "1")]
    look_instructions: u32,
    /// Additional time of a row whose task waits for the one before it: a look at that one's entry, and a
    /// fence.
    #[param(default = "238 cycles")]
    wait: Cycles,
    /// Additional time when it has come: two entries are written, and the fence waits for that.
    #[param(default = "155 cycles")]
    enable: Cycles,
    /// From a look that finds a task which may be scheduled until its first block can be placed.
    #[param(default = "368 cycles")]
    schedule: Cycles,
    /// Placing a block where slots are free, or all of a task that has neither memory nor a barrier.
    #[param(default = "239 cycles")]
    place: Cycles,
    /// Taking a barrier, or the counter of a block that has memory or a barrier.
    #[param(default = "160 cycles")]
    take: Cycles,
    /// Freeing a piece of memory of 8 KiB that has come back, and allocating one. Both take longer for smaller pieces.
    #[param(default = "2056 cycles")]
    memory: Cycles,
    /// Between two sweeps, for the look at the stop word.
    #[param(default = "162 cycles")]
    sweep: Cycles,
    /// A whole sweep where lanes look at all rows at once, with the look at the stop word, if no task waits for the one before it.
    #[param(default = "396 cycles", min = "1 cycle")]
    lanes: Cycles,
}

/// Costs of the MasterKernel, in the model's units.
#[derive(Clone, Debug)]
pub(super) struct MasterCosts {
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) look: f64,
    pub(super) wait: f64,
    pub(super) enable: f64,
    schedule: f64,
    pub(super) place: f64,
    take: f64,
    memory: f64,
    pub(super) sweep: f64,
    pub(super) lanes: f64,
    pub(super) poll: f64,
    /// Demands in a cycle of a warp that polls, and of a scheduler warp.
    pub(super) polling: Demands,
    pub(super) looking: Demands,
    /// Demands of an executor's work around a task.
    pub(super) executor: Demands,
}

impl MasterCosts {
    pub(super) fn new(params: &MasterParams) -> Self {
        let cycles = |cycles: &Cycles| cycles.get() as f64;
        let (poll, look) = (cycles(&params.poll), cycles(&params.look));
        // One instruction of a round accesses memory: shared memory for a slot, the L2 for an entry.
        let round = |instructions: u32, ports: u64, cycles: f64| {
            let (mut demands, computing) = (Demands::default(), instructions.saturating_sub(1));
            // A register each is read and written.
            let registers = 2 * instructions;
            let visits = [
                (Resource::Issue, instructions, 1),
                (Resource::Sp, computing, 1),
                (Resource::LoadStore, 1, 1),
                (Resource::Banks, registers, 1),
                (Resource::Collectors, computing, collecting(1, 0)),
            ];
            for (resource, times, turns) in visits {
                demands.visit(resource, turns, times.into());
            }
            demands.visit(Resource::Port, 1, ports);
            demands.rates(cycles)
        };
        MasterCosts {
            begin: cycles(&params.begin),
            end: cycles(&params.end),
            look,
            wait: cycles(&params.wait),
            enable: cycles(&params.enable),
            schedule: cycles(&params.schedule),
            place: cycles(&params.place),
            take: cycles(&params.take),
            memory: cycles(&params.memory),
            sweep: cycles(&params.sweep),
            lanes: cycles(&params.lanes),
            poll,
            polling: round(params.poll_instructions, 0, poll),
            looking: round(params.look_instructions, 1, look),
            executor: round(params.executor_instructions.max(1), 0, 1.0),
        }
    }

    /// The time to schedule a task that finds all its needs.
    pub(super) fn schedule(&self, demand: &Demand) -> f64 {
        if !demand.by_block() {
            return self.schedule + self.place;
        }
        let barrier = if demand.barrier { self.take } else { 0.0 };
        let memory = if demand.shared > 0 { self.memory } else { 0.0 };
        self.schedule + f64::from(demand.blocks) * (barrier + memory + self.take + self.place)
    }
}
