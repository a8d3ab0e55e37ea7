//! The path of one sort of instruction through operand collectors to its units, and the bookings of instructions there.
//!
//! Instructions enter the collectors in order and leave them when they have their operands: an instruction that waits
//! for a bank does not hold back those behind it. In front of the units the oldest goes first: while its unit is busy,
//! or its result has no free slot in the pipeline of the unit or on the result bus, no younger instruction in front of
//! the units starts (GPGPU-Sim). Instructions book in order, so a slot that an older instruction has booked for a later
//! cycle is free until then.

use super::collector::{Turns, WINDOW};
use super::pipeline_slots::PipelineSlots;
use crate::gpu::sm::params::PipelinePathParams;

/// The most units, pipeline registers and ports of a path (`params.rs`).
const MOST: usize = 64;

/// A calendar of the next turns or cycles, with a number for each.
struct Calendar([(u64, u64); WINDOW as usize]);

impl Calendar {
    fn new() -> Self {
        Calendar([(0, 0); WINDOW as usize])
    }

    #[inline]
    fn at(&self, time: u64) -> u64 {
        let (known, value) = self.0[(time % WINDOW) as usize];
        if known == time { value } else { 0 }
    }

    /// Sets what happens at a time, unless something is known that happens later by a whole [`WINDOW`].
    #[inline]
    fn set(&mut self, time: u64, value: u64) {
        let slot = &mut self.0[(time % WINDOW) as usize];
        if slot.0 <= time {
            *slot = (time, value);
        }
    }
}

/// Bookings of the execution units of a part of an SM in the next cycles.
pub(in crate::gpu::sm) struct Units {
    /// For each cycle, the units that begin an instruction and can begin another one in the next cycle.
    begins: Calendar,
    /// For each cycle, the units with a result that is complete in it.
    results: Calendar,
    /// Results that may be complete in a cycle.
    width: u32,
    /// The last cycle in `begins`.
    last: u64,
}

impl Units {
    /// Units with at most `width` results complete in a cycle.
    pub(in crate::gpu::sm) fn new(width: u32) -> Self {
        Units { begins: Calendar::new(), results: Calendar::new(), width, last: 0 }
    }

    /// The units whose result is complete in the same cycle as this one; `None` if the result bus has no slot left in that cycle.
    /// Results of a latency of [`WINDOW`] or more always find a slot.
    #[inline]
    fn done(&self, cycle: u64, latency: u64) -> Option<u64> {
        if latency >= WINDOW {
            return Some(0);
        }
        let done = self.results.at(cycle + latency);
        // Counting bits is slow on hosts of the baseline.
        let has_room = match self.width {
            1 => done == 0,
            2 => done & done.wrapping_sub(1) == 0,
            width => done.count_ones() < width,
        };
        has_room.then_some(done)
    }

    /// The units that begin an instruction in `cycles` cycles, beginning with `first`.
    #[inline]
    fn begun(&self, first: u64, cycles: u64) -> u64 {
        let begun = self.begins.at(first);
        if cycles > 1 && first < self.last { begun | self.begun_later(first, cycles) } else { begun }
    }

    #[inline(never)]
    fn begun_later(&self, first: u64, cycles: u64) -> u64 {
        let end = (first + cycles).min(self.last + 1);
        (first + 1..end).fold(0, |begun, cycle| begun | self.begins.at(cycle))
    }

    /// A unit begins an instruction in a cycle, with the other units whose result is complete with its own.
    #[inline]
    fn book(&mut self, unit: u32, done: u64, cycle: u64, (latency, initiation): (u64, u64)) {
        let bit = 1_u64.rotate_left(unit);
        if latency < WINDOW {
            self.results.set(cycle + latency, done | bit);
        }
        if initiation == 1 {
            self.begins.set(cycle, self.begins.at(cycle) | bit);
            self.last = self.last.max(cycle);
        }
    }
}

/// The path of one sort of instruction: from when on its slots are free.
pub(in crate::gpu::sm) struct PipelinePath {
    /// Cycles from which on an instruction can be issued into the pipeline registers in front of the collectors.
    pub(in crate::gpu::sm) entries: PipelineSlots,
    /// Turns in which the ports into the collectors and the collectors are free.
    pub(in crate::gpu::sm) inputs: PipelineSlots,
    pub(in crate::gpu::sm) collectors: PipelineSlots,
    pub(in crate::gpu::sm) exit: Exit,
}

/// The end of a path, from its collectors to its units.
pub(in crate::gpu::sm) struct Exit {
    /// For each turn, the instructions that leave the collectors, and how many may.
    leaving: Calendar,
    outputs: u64,
    /// For each cycle, the pipeline registers in front of the units which an instruction passes in one cycle, and how many there are.
    passed: Calendar,
    width: u64,
    /// For each of them, from when until when an instruction stays in it for longer than a cycle.
    kept: [(u64, u64); MOST],
    /// The last cycle in which an instruction leaves.
    last: u64,
    /// From when until when the oldest instruction in front of the units cannot start.
    held: (u64, u64),
    /// Cycles from which on each unit takes an instruction, if it had one that keeps it for several; the first and the last of them.
    free: [u64; MOST],
    all_free: (u64, u64),
    units: u32,
    /// The number of the first unit among all of the part of the SM.
    first_unit: u32,
}

impl PipelinePath {
    /// A path of a part of an SM: `share` gives the part's share of a number of the SM.
    pub(in crate::gpu::sm) fn new(
        params: &PipelinePathParams,
        share: impl Fn(u32) -> u32,
        first_unit: u32,
    ) -> Self {
        let slots = |count: u32| PipelineSlots::new(share(count));
        PipelinePath {
            entries: slots(params.issue_width),
            inputs: slots(params.inputs),
            collectors: slots(params.collectors),
            exit: Exit {
                leaving: Calendar::new(),
                outputs: share(params.outputs).into(),
                passed: Calendar::new(),
                width: share(params.dispatch_width).into(),
                kept: [(0, 0); MOST],
                last: 0,
                held: (0, 0),
                free: [0; MOST],
                all_free: (0, 0),
                units: share(params.units),
                first_unit,
            },
        }
    }

    /// The first cycle in which an entry is free.
    #[inline]
    pub(in crate::gpu::sm) fn accepts_from(&self) -> u64 {
        self.entries.earliest()
    }
}

impl Exit {
    /// Whether the path has no units.
    #[inline]
    pub(in crate::gpu::sm) fn is_empty(&self) -> bool {
        self.units == 0
    }

    /// An instruction that has its operands leaves its collector, in this turn at the earliest, and starts to execute. Gives
    /// the turn in which it leaves and the cycle in which it starts. There must be units.
    #[inline]
    pub(in crate::gpu::sm) fn pass(
        &mut self,
        units: &mut Units,
        (from, turns): (u64, Turns),
        cycles: (u64, u64),
    ) -> (u64, u64) {
        let mut at = (from, turns.cycle(from));
        loop {
            if let Some(starts) = self.leave(units, &mut at, turns, cycles) {
                return (at.0, starts);
            }
        }
    }

    /// An instruction leaves its collector in a turn, whose cycle is known, or in the next one with a pipeline register for it. Gives
    /// the cycle in which it starts; or nothing, and the turn to be tried next. Loops are functions of their own, as most instructions
    /// find their path free.
    #[inline(never)]
    fn leave(
        &mut self,
        units: &mut Units,
        at: &mut (u64, u64),
        turns: Turns,
        (latency, initiation): (u64, u64),
    ) -> Option<u64> {
        let (free, passed) = self.first_free(at.1);
        if free > at.1 {
            *at = (turns.first(free), free);
        }
        let (turn, left) = *at;
        let leaving = self.leaving.at(turn);
        if leaving >= self.outputs {
            *at = (turn + 1, turns.cycle(turn + 1));
            return None;
        }
        let (starts, unit, done) = self.find(units, left + 1, (latency, initiation));
        if starts == left + 1 {
            self.passed.set(left, passed + 1);
        } else if let Some(full) = self.hold(left, starts) {
            *at = (turns.first(full + 1), full + 1);
            return None;
        }
        self.leaving.set(turn, leaving + 1);
        self.last = self.last.max(left);
        units.book(self.first_unit + unit, done, starts, (latency, initiation));
        if initiation > 1 {
            self.keep(unit, starts + initiation);
        }
        Some(starts)
    }

    /// The first cycle, this one or a later one, at whose end a pipeline register in front of the units is free; and how many
    /// instructions pass in it.
    #[inline]
    fn first_free(&self, mut cycle: u64) -> (u64, u64) {
        // No instruction is kept for longer than the oldest is held.
        if cycle < self.held.1 {
            return self.free_beside_kept(cycle);
        }
        loop {
            let passed = self.passed.at(cycle);
            if passed < self.width {
                return (cycle, passed);
            }
            cycle += 1;
        }
    }

    #[inline(never)]
    fn free_beside_kept(&self, mut cycle: u64) -> (u64, u64) {
        while cycle < self.held.1 {
            let (mut kept, mut end) = (0, u64::MAX);
            for (begin, until) in self.kept.iter().take(self.width as usize) {
                if *begin <= cycle && cycle < *until {
                    kept += 1;
                    end = end.min(*until);
                }
            }
            let passed = self.passed.at(cycle);
            if kept >= self.width {
                cycle = end;
            } else if passed + kept >= self.width {
                cycle += 1;
            } else {
                return (cycle, passed);
            }
        }
        self.first_free(cycle)
    }

    /// A unit takes the next instruction in a cycle.
    #[inline]
    fn keep(&mut self, unit: u32, until: u64) {
        self.free[unit as usize % MOST] = until;
        let (mut first, mut last) = (u64::MAX, 0);
        for free in self.free.iter().take(self.units as usize) {
            (first, last) = (first.min(*free), last.max(*free));
        }
        self.all_free = (first, last);
    }

    /// An instruction that leaves its collector in a cycle stays in its pipeline register until it starts, unless those that leave
    /// later, and have booked before, need it: gives the cycle in which they do.
    #[inline(never)]
    fn hold(&mut self, left: u64, starts: u64) -> Option<u64> {
        let from = left + 1;
        let full = (from..starts.min(self.last + 1)).find(|cycle| self.first_free(*cycle).0 > *cycle);
        if full.is_some() {
            return full;
        }
        let (mut place, mut earliest) = (0, u64::MAX);
        for (number, (_, end)) in self.kept.iter().take(self.width as usize).enumerate() {
            if *end < earliest {
                (place, earliest) = (number, *end);
            }
        }
        self.kept[place] = (left, starts);
        let (begin, end) = self.held;
        if (begin..=end).contains(&from) {
            self.held = (begin, starts.max(end));
        } else if starts > end {
            self.held = (from, starts);
        }
        None
    }

    /// The first cycle, at or after `from`, in which no older instruction waits, a unit is free and the result has a slot. Returns also
    /// the unit, and the units whose results are complete together with this one.
    #[inline]
    fn find(&self, units: &Units, from: u64, cycles: (u64, u64)) -> (u64, u32, u64) {
        let cycle = self.not_held(from.max(self.all_free.0));
        match self.takes(units, cycle, cycles) {
            Some((unit, done)) => (cycle, unit, done),
            None => self.find_later(units, cycle + 1, cycles),
        }
    }

    #[inline(never)]
    fn find_later(&self, units: &Units, mut cycle: u64, cycles: (u64, u64)) -> (u64, u32, u64) {
        loop {
            cycle = self.not_held(cycle);
            if let Some((unit, done)) = self.takes(units, cycle, cycles) {
                return (cycle, unit, done);
            }
            cycle += 1;
        }
    }

    /// The first cycle, this one or a later one, in which no older instruction waits in front of the units.
    #[inline]
    fn not_held(&self, cycle: u64) -> u64 {
        let (begin, end) = self.held;
        if begin <= cycle && cycle < end { end } else { cycle }
    }

    /// The first unit that takes an instruction in a cycle, if there is one and the result has a slot; and the units whose results are
    /// complete together with this one.
    #[inline]
    fn takes(&self, units: &Units, cycle: u64, (latency, initiation): (u64, u64)) -> Option<(u32, u64)> {
        let done = units.done(cycle, latency)?;
        let mut taken = (done | units.begun(cycle, initiation)).rotate_right(self.first_unit);
        if cycle < self.all_free.1 {
            taken |= self.kept_from(cycle);
        }
        let unit = (!taken).trailing_zeros();
        (unit < self.units).then_some((unit, done))
    }

    /// The units that an instruction keeps beyond a cycle.
    #[inline(never)]
    fn kept_from(&self, cycle: u64) -> u64 {
        let all = self.free.iter().take(self.units as usize).enumerate();
        all.fold(0, |taken, (unit, free)| taken | u64::from(*free > cycle) << unit)
    }
}
