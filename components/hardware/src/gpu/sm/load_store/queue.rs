//! The way of memory instructions to the load-store unit: operand collectors and pipeline registers, in order.
//!
//! Other instructions book their way when they are issued; these cannot, because nobody knows how long the one in
//! front waits for memory. They move on when the unit is done with one.

use std::collections::VecDeque;

use counterpoint_ptx::{Access, FileAccesses};

use crate::gpu::sm::operands::{OperandCollector, RegisterFile};
use crate::gpu::sm::params::SmParams;

/// Work of the unit for an instruction.
pub(super) enum Work {
    /// A kernel parameter, whose value the register has, in this line; none if no lane takes part.
    Parameter(Option<u64>),
    /// Shared memory.
    Shared(Box<Access>),
    /// A word of shared memory that all lanes load, at this address.
    Poll(u32),
    /// Constants: an instruction under way, and the lanes that have not been served.
    Constant(u32, u32),
    /// Texels: an instruction under way, and which of their lines comes next.
    Texels(u32, u32),
    /// Global or local memory: an instruction under way, the lanes whose transaction has not been made, and which word
    /// of the first of them comes next, where a lane's words lie in several lines.
    Lines(u32, u32, u32),
}

/// Where an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In the pipeline register in front of the collectors.
    Issued,
    /// In a collector of memory instructions, or in one that serves every sort; it may leave from this turn on.
    Collecting { collector: Collector, leaves: u64 },
    /// In this pipeline register in front of the unit.
    Collected(usize),
    /// In the unit.
    InUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collector {
    Own(usize),
    Shared,
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
    accesses: FileAccesses,
    stage: Stage,
    /// The first turn in which it may enter a collector.
    enters: u64,
    /// The first cycle in which the unit may begin.
    ready: u64,
}

/// A time that is not known yet.
const NEVER: u64 = u64::MAX;

/// The places of memory instructions in one of the parts of the SM.
struct Part {
    /// Pipeline registers in front of the collectors that are free.
    entries: usize,
    /// Turns in which the collectors of memory instructions, and the pipeline registers behind collectors, are free.
    collectors: Vec<u64>,
    exits: Vec<u64>,
}

/// Memory instructions in the order of their issue.
pub(super) struct Queue {
    instructions: VecDeque<Queued>,
    parts: Vec<Part>,
    /// The turn in which the last one entered a collector.
    entered: u64,
    /// The cycle in which the unit has room for another one.
    free: u64,
}

/// The first place that is free at a known time.
fn first_free(places: &[u64]) -> Option<usize> {
    (0..places.len()).min_by_key(|&place| places[place]).filter(|&place| places[place] != NEVER)
}

impl Queue {
    pub(super) fn new(params: &SmParams) -> Self {
        let cores = if params.sub_cores { params.schedulers } else { 1 };
        let places = |count: u32| count.div_ceil(cores) as usize;
        let way = &params.memory;
        let part = || Part {
            entries: places(way.issue_width),
            collectors: vec![0; places(way.collectors)],
            exits: vec![0; places(way.dispatch_width)],
        };
        let parts = (0..cores).map(|_| part()).collect();
        Queue { instructions: VecDeque::with_capacity(64), parts, entered: 0, free: 0 }
    }

    /// Whether another instruction can be issued in a part.
    #[inline]
    pub(super) fn has_room(&self, core: usize) -> bool {
        self.parts[core].entries > 0
    }

    /// When the unit may begin with the first instruction, if there is one.
    #[inline]
    pub(super) fn ready(&self) -> Option<u64> {
        self.instructions.front().map(|first| first.ready)
    }

    #[inline]
    pub(super) fn first(&mut self) -> Option<&mut Queued> {
        self.instructions.front_mut()
    }

    /// The instructions in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.instructions.iter()
    }

    /// An instruction is issued.
    #[inline]
    pub(super) fn push(
        &mut self,
        (warp, pc): (u32, u32),
        work: Work,
        (core, accesses): (usize, FileAccesses),
        (registers, collectors): (&mut [RegisterFile], &mut OperandCollector),
        cycle: u64,
    ) {
        self.parts[core].entries -= 1;
        let enters = registers[core].first_turn(cycle + 1);
        let (since, stage) = (cycle, Stage::Issued);
        self.instructions.push_back(Queued {
            warp,
            pc,
            work,
            since,
            core,
            accesses,
            stage,
            enters,
            ready: NEVER,
        });
        self.settle(registers, collectors);
    }

    /// The unit is not done with the first instruction.
    #[inline]
    pub(super) fn go_on(&mut self, rest: Work) {
        if let Some(first) = self.instructions.front_mut() {
            first.work = rest;
        }
    }

    /// The unit is done with the first instruction in a cycle; those behind it move up.
    #[inline]
    pub(super) fn pop(
        &mut self,
        (registers, collectors): (&mut [RegisterFile], &mut OperandCollector),
        cycle: u64,
    ) {
        self.instructions.pop_front();
        self.free = cycle;
        self.settle(registers, collectors);
    }

    /// Lets every instruction go as far as it can.
    fn settle(&mut self, registers: &mut [RegisterFile], collectors: &mut OperandCollector) {
        // A place that one leaves may be the one for which another waits, in front of it or behind.
        while self.leave(registers, collectors) | self.enter(registers, collectors) {}
    }

    /// Instructions leave collectors, those of a part in order, and the first of all goes to the unit; gives whether one
    /// has.
    fn leave(&mut self, registers: &[RegisterFile], collectors: &mut OperandCollector) -> bool {
        let (mut moved, mut held) = (false, 0_u32);
        for (position, one) in self.instructions.iter_mut().enumerate() {
            let (part, file) = (&mut self.parts[one.core], &registers[one.core]);
            if let Stage::Collecting { collector, leaves } = one.stage
                && held >> one.core & 1 == 0
            {
                let Some(exit) = first_free(&part.exits) else {
                    held |= 1 << one.core;
                    continue;
                };
                let turn = leaves.max(part.exits[exit]);
                match collector {
                    Collector::Own(place) => part.collectors[place] = turn,
                    Collector::Shared => collectors.release(one.core, turn),
                }
                part.exits[exit] = NEVER;
                (one.stage, one.ready) = (Stage::Collected(exit), file.cycle_after(turn) + 1);
                moved = true;
            }
            if position == 0
                && let Stage::Collected(exit) = one.stage
            {
                part.exits[exit] = file.first_turn((one.ready - 1).max(self.free));
                one.stage = Stage::InUnit;
                moved = true;
            }
        }
        moved
    }

    /// Instructions enter collectors in the order of their issue; gives whether one has.
    fn enter(&mut self, registers: &mut [RegisterFile], collectors: &mut OperandCollector) -> bool {
        let Some(one) = self.instructions.iter_mut().find(|one| one.stage == Stage::Issued) else {
            return false;
        };
        let part = &mut self.parts[one.core];
        let from = one.enters.max(self.entered);
        let (enters, collector) = if let Some(place) = first_free(&part.collectors) {
            let enters = from.max(part.collectors[place]);
            part.collectors[place] = NEVER;
            (enters, Collector::Own(place))
        } else if let Some(enters) = collectors.claim(one.core, from) {
            (enters, Collector::Shared)
        } else {
            return false;
        };
        self.entered = enters;
        part.entries += 1;
        let leaves = registers[one.core].read(one.warp, one.accesses.reads(), enters + 1) + 1;
        one.stage = Stage::Collecting { collector, leaves };
        true
    }
}
