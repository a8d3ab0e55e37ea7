//! The way of memory instructions to the load-store unit: operand collectors and pipeline registers, in order.
//!
//! Other instructions book their way when they are issued; these cannot, because nobody knows how long the one in
//! front waits for memory.

use std::collections::VecDeque;

use counterpoint_ptx::{Access, RegisterSet};

use crate::gpu::sm::operands::RegisterFile;
use crate::gpu::sm::params::WayParams;

/// What an instruction asks of the unit.
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

/// A memory instruction on its way to the unit.
pub(super) struct Queued {
    pub(super) warp: u32,
    pub(super) pc: u32,
    pub(super) work: Work,
    /// The part of the SM whose registers it reads.
    core: usize,
    reads: RegisterSet,
    /// The first cycle in which the unit may begin.
    ready: u64,
}

/// A cycle that does not come: the instruction has no collector yet.
const NEVER: u64 = u64::MAX;

/// Memory instructions in the order of their issue.
pub(super) struct Queue {
    instructions: VecDeque<Queued>,
    /// Instructions that may be in the unit, in front of it, or in a collector.
    collected: usize,
    capacity: usize,
}

impl Queue {
    pub(super) fn new(way: &WayParams, shared_collectors: u32) -> Self {
        // One is in the unit itself.
        let collected = (way.collectors + shared_collectors + way.dispatch_width + 1) as usize;
        let capacity = collected + way.issue_width as usize;
        Queue { instructions: VecDeque::with_capacity(capacity), collected, capacity }
    }

    /// Whether another instruction can be issued.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.instructions.len() < self.capacity
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
        (core, reads): (usize, RegisterSet),
        registers: &mut [RegisterFile],
        cycle: u64,
    ) {
        let ready = if self.instructions.len() < self.collected {
            collect(warp, &reads, &mut registers[core], cycle, cycle + 1)
        } else {
            NEVER
        };
        self.instructions.push_back(Queued { warp, pc, work, core, reads, ready });
    }

    /// The unit is not done with the first instruction.
    #[inline]
    pub(super) fn go_on(&mut self, rest: Work) {
        if let Some(first) = self.instructions.front_mut() {
            first.work = rest;
        }
    }

    /// The unit is done with the first instruction; those behind it move up.
    #[inline]
    pub(super) fn pop(&mut self, registers: &mut [RegisterFile], cycle: u64) {
        self.instructions.pop_front();
        if let Some(last) = self.instructions.get_mut(self.collected - 1) {
            last.ready = collect(last.warp, &last.reads, &mut registers[last.core], cycle, cycle);
        }
    }
}

/// Reads the operands of an instruction that enters a collector in the cycle `enters`; gives the first cycle in which
/// the unit may begin: two pipeline registers lie between.
fn collect(warp: u32, reads: &RegisterSet, registers: &mut RegisterFile, now: u64, enters: u64) -> u64 {
    let read =
        if reads.as_slice().is_empty() { enters } else { registers.read(warp, reads, now, enters + 1) };
    read + 3
}
