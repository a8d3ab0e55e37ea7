//! The path of memory instructions to the load-store unit: operand collectors and pipeline registers, in order.
//!
//! Other instructions book their path when they are issued; memory instructions cannot, because the wait of the one in
//! front for memory is unknown. They advance when the unit is done with an instruction.

use std::collections::VecDeque;

use counterpoint_ptx::Access;

use crate::gpu::sm::operands::collector::{OperandCollector, Operands, RegisterFile};
use crate::gpu::sm::operands::pipeline_slots::{NEVER, PipelineSlots};
use crate::gpu::sm::params::SmParams;

/// Work of the unit for an instruction.
pub(super) enum Work {
    /// A kernel parameter, whose value the register has, in this line; none if no lane takes part.
    Parameter(Option<u64>),
    Shared(Box<Access>),
    /// A word of shared memory that all lanes load, at this address.
    Poll(u32),
    /// Constants: an instruction under way, and the lanes that have not been served.
    Constant(u32, u32),
    /// Texels: an instruction under way, and the index of the next line.
    Texels(u32, u32),
    /// Global or local memory: an instruction under way, the lanes whose transaction has not been made, and the index of
    /// the next word of the first of these lanes, if a lane's words are in several lines.
    Lines(u32, u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In the pipeline register in front of the collectors.
    Issued,
    /// In a collector of memory instructions, or in a `shared` one that serves all instructions; the instruction may leave at the
    /// turn `leaves` or later.
    Collecting {
        shared: bool,
        leaves: u64,
    },
    /// In a pipeline register in front of the unit.
    Collected,
    InUnit,
}

/// A memory instruction on its way to the unit.
pub(super) struct Queued {
    pub(super) warp: u32,
    pub(super) pc: u32,
    pub(super) work: Work,
    /// The cycle of its issue.
    pub(super) since: u64,
    /// The part of the SM whose registers it reads.
    core: usize,
    operands: Operands,
    stage: Stage,
    /// The first turn in which it may enter a collector.
    enters: u64,
    /// The first cycle in which the unit may begin.
    ready: u64,
}

/// The places of memory instructions in one of the parts of the SM.
struct SubCoreQueue {
    /// Pipeline registers in front of the collectors that are free.
    entries: usize,
    /// Turns in which the collectors of memory instructions, and the pipeline registers behind collectors, are free.
    collectors: PipelineSlots,
    exits: PipelineSlots,
    /// The number of the first instruction of the part that is in a collector; they leave in order.
    leaving: u64,
}

/// Memory instructions in the order of their issue, which are numbered in this order.
pub(super) struct Queue {
    instructions: VecDeque<Queued>,
    /// The number of the first instruction here, and of the first one that has entered no collector.
    first: u64,
    entering: u64,
    parts: Vec<SubCoreQueue>,
    /// The turn in which the last one entered a collector.
    entered: u64,
    /// The cycle in which the unit can take another instruction.
    free: u64,
}

impl Queue {
    pub(super) fn new(params: &SmParams) -> Self {
        let cores = if params.sub_cores { params.schedulers } else { 1 };
        let path = &params.memory;
        let part = || SubCoreQueue {
            entries: path.issue_width.div_ceil(cores) as usize,
            collectors: PipelineSlots::new(path.collectors.div_ceil(cores)),
            exits: PipelineSlots::new(path.dispatch_width.div_ceil(cores)),
            leaving: NEVER,
        };
        let parts = (0..cores).map(|_| part()).collect();
        Queue { instructions: VecDeque::with_capacity(64), first: 0, entering: 0, parts, entered: 0, free: 0 }
    }

    /// Whether another instruction can be issued in a part.
    #[inline]
    pub(super) fn has_room(&self, core: usize) -> bool {
        self.parts[core].entries > 0
    }

    /// Cycle in which the unit may begin with the first instruction, if there is one.
    #[inline]
    pub(super) fn ready(&self) -> Option<u64> {
        self.instructions.front().map(|first| first.ready)
    }

    #[inline]
    pub(super) fn first(&mut self) -> Option<&mut Queued> {
        self.instructions.front_mut()
    }

    /// Whether the unit's next transaction is of a line, which goes into the L1's pipeline.
    #[inline]
    pub(super) fn has_line(&self) -> bool {
        self.instructions.front().is_some_and(|first| matches!(first.work, Work::Lines(..)))
    }

    /// The instructions in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.instructions.iter()
    }

    /// An instruction is issued.
    pub(super) fn push(
        &mut self,
        (warp, pc): (u32, u32),
        work: Work,
        (core, operands): (usize, Operands),
        (registers, collectors): (&mut [RegisterFile], &mut OperandCollector),
        cycle: u64,
    ) {
        self.parts[core].entries -= 1;
        let enters = registers[core].first_turn(cycle + 1);
        let (since, stage, ready) = (cycle, Stage::Issued, NEVER);
        self.instructions.push_back(Queued { warp, pc, work, since, core, operands, stage, enters, ready });
        self.settle(registers, collectors);
    }

    /// The unit is not done with the first instruction.
    #[inline]
    pub(super) fn continue_first(&mut self, rest: Work) {
        if let Some(first) = self.instructions.front_mut() {
            first.work = rest;
        }
    }

    /// The unit is done with the first instruction in a cycle; those behind it move up.
    pub(super) fn pop(
        &mut self,
        (registers, collectors): (&mut [RegisterFile], &mut OperandCollector),
        cycle: u64,
    ) {
        self.instructions.pop_front();
        self.first += 1;
        self.free = cycle;
        if let Some(first) = self.instructions.front_mut()
            && first.stage == Stage::Collected
        {
            first.stage = Stage::InUnit;
            let (core, ready) = (first.core, first.ready);
            self.parts[core].exits.give_back(registers[core].first_turn((ready - 1).max(cycle)));
            self.leave(core, registers, collectors);
        }
        self.settle(registers, collectors);
    }

    /// Lets every instruction go as far as it can: one that enters a collector may leave it at once, and give it to the next one.
    #[inline(never)]
    fn settle(&mut self, registers: &mut [RegisterFile], collectors: &mut OperandCollector) {
        while let Some(core) = self.enter(registers, collectors) {
            self.leave(core, registers, collectors);
        }
    }

    /// Instructions of a part leave collectors, in order, and the first of all goes to the unit.
    #[inline(always)]
    fn leave(&mut self, core: usize, registers: &[RegisterFile], collectors: &mut OperandCollector) {
        let (part, file) = (&mut self.parts[core], &registers[core]);
        while part.leaving != NEVER && part.exits.earliest() != NEVER {
            let place = (part.leaving - self.first) as usize;
            let one = &mut self.instructions[place];
            let Stage::Collecting { shared, leaves } = one.stage else { return };
            let turn = leaves.max(part.exits.earliest());
            if shared {
                collectors.release(core, turn);
            } else {
                part.collectors.give_back(turn);
            }
            part.exits.take_until(NEVER);
            (one.stage, one.ready) = (Stage::Collected, file.cycle_after(turn) + 1);
            if place == 0 {
                part.exits.give_back(file.first_turn((one.ready - 1).max(self.free)));
                one.stage = Stage::InUnit;
            }
            let collecting = (self.entering - self.first) as usize;
            let next = (place + 1..collecting).find(|place| self.instructions[*place].core == core);
            part.leaving = next.map_or(NEVER, |place| self.first + place as u64);
        }
    }

    /// The first instruction that is in front of the collectors enters one; gives its part, if it has.
    #[inline(always)]
    fn enter(&mut self, registers: &mut [RegisterFile], collectors: &mut OperandCollector) -> Option<usize> {
        let one = self.instructions.get_mut((self.entering - self.first) as usize)?;
        let part = &mut self.parts[one.core];
        let (from, own) = (one.enters.max(self.entered), part.collectors.earliest());
        let (enters, shared) = if own != NEVER {
            part.collectors.take_until(NEVER);
            (from.max(own), false)
        } else {
            (collectors.claim(one.core, from)?, true)
        };
        self.entered = enters;
        part.entries += 1;
        let leaves = registers[one.core].read(one.warp, &one.operands, enters + 1) + 1;
        one.stage = Stage::Collecting { shared, leaves };
        part.leaving = part.leaving.min(self.entering);
        self.entering += 1;
        Some(one.core)
    }
}
