//! The end of a path: instructions leave their operand collectors and start in a unit.
//!
//! In front of the units the oldest goes first: while its unit is busy, or its result has no free slot in the pipeline of the unit or on
//! the result bus, no younger instruction in front of the units starts (GPGPU-Sim). Instructions book in order, so a slot that an older
//! instruction has booked for a later cycle is free until then.

use super::collector::{Turns, WINDOW};
use super::uses::Uses;
use crate::gpu::sm::params::PipelinePathParams;

/// The most units of a path (`params.rs`).
const MOST: usize = 64;

/// A calendar of the next cycles, with a set of units for each.
struct Calendar([(u64, u64); WINDOW as usize]);

impl Calendar {
    fn new() -> Self {
        Calendar([(0, 0); WINDOW as usize])
    }

    #[inline(always)]
    fn at(&self, time: u64) -> u64 {
        let (known, value) = self.0[(time % WINDOW) as usize];
        if known == time { value } else { 0 }
    }

    /// Sets what happens at a time, unless something is known that happens later by a whole [`WINDOW`].
    #[inline(always)]
    fn set(&mut self, time: u64, value: u64) {
        let slot = &mut self.0[(time % WINDOW) as usize];
        if slot.0 <= time {
            *slot = (time, value);
        }
    }
}

/// Bookings of the execution units of a part of an SM in the next cycles.
pub(super) struct Units {
    /// For each cycle, the units that begin an instruction and can begin another one in the next cycle.
    begins: Calendar,
    /// For each cycle, the units with a result that is complete in it.
    results: Calendar,
    /// Results that may be complete in a cycle.
    width: u32,
    /// The last cycle in `begins`.
    last: u64,
}

/// Time that an instruction takes: its latency, and the cycles for which it occupies its unit.
#[derive(Clone, Copy)]
pub(super) struct Occupancy {
    pub(super) latency: u64,
    pub(super) initiation: u64,
}

/// A unit that takes an instruction in a cycle.
#[derive(Clone, Copy)]
struct Found {
    starts: u64,
    /// A bit of the unit.
    unit: u64,
    /// The units whose result is complete together with that of the instruction, and those that begin together with it.
    done: u64,
    begun: u64,
}

impl Units {
    /// Units with at most `width` results complete in a cycle.
    pub(super) fn new(width: u32) -> Self {
        Units { begins: Calendar::new(), results: Calendar::new(), width, last: 0 }
    }

    /// The units whose result is complete in a cycle.
    #[inline(always)]
    fn done(&self, cycle: u64, latency: u64) -> u64 {
        if latency < WINDOW { self.results.at(cycle + latency) } else { 0 }
    }

    /// Whether the result bus has a slot in a cycle beside the results of some units.
    #[inline(always)]
    fn has_room(&self, done: u64) -> bool {
        // Counting bits is slow on hosts of the baseline.
        match self.width {
            _ if done == 0 => true,
            2 => done & done.wrapping_sub(1) == 0,
            width => done.count_ones() < width,
        }
    }

    /// The units that begin an instruction in cycles after the first, up to `cycles` of them.
    #[inline(never)]
    fn begun_later(&self, first: u64, cycles: u64) -> u64 {
        let end = (first + cycles).min(self.last + 1);
        (first + 1..end).fold(0, |begun, cycle| begun | self.begins.at(cycle))
    }

    /// A unit begins an instruction. Results of a latency of [`WINDOW`] or more always find a slot.
    #[inline(always)]
    fn book(&mut self, Found { starts, unit, done, begun }: Found, occupancy: Occupancy) {
        if occupancy.latency < WINDOW {
            self.results.set(starts + occupancy.latency, done | unit);
        }
        if occupancy.initiation == 1 {
            self.begins.set(starts, begun | unit);
            self.last = self.last.max(starts);
        }
    }
}

/// The end of a path, from its collectors to its units.
pub(super) struct Exit {
    /// Pipeline registers in front of the units, by the cycles at whose ends they hold an instruction.
    registers: Uses,
    /// Ports out of the collectors, by turn, if there are fewer than pipeline registers behind them.
    outputs: Option<Box<Uses>>,
    /// From when until when the oldest instruction in front of the units cannot start.
    held: (u64, u64),
    /// Cycles from which on each unit takes an instruction, if it had one that keeps it for several; the first and the last of them.
    free: [u64; MOST],
    all_free: (u64, u64),
    /// The units of the path among all of the part of the SM, as bits; the first of them, and their number.
    units: u64,
    first: u32,
    count: u32,
}

impl Exit {
    /// The end of a path of a part of an SM: `share` gives the part's share of a number of the SM.
    pub(super) fn new(params: &PipelinePathParams, share: impl Fn(u32) -> u32, first: u32) -> Self {
        let (outputs, registers) = (share(params.outputs), share(params.dispatch_width));
        let count = share(params.units);
        let units = (0..count).fold(0, |units, unit| units | 1 << (first + unit));
        Exit {
            registers: Uses::new(registers),
            outputs: (outputs < registers).then(|| Uses::new(outputs).into()),
            held: (0, 0),
            free: [0; MOST],
            all_free: (0, 0),
            units,
            first,
            count,
        }
    }

    /// Whether the path has no units.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.units == 0
    }

    /// An instruction that is issued in a cycle (`now`) and has its operands leaves its collector, in this turn at the earliest, and starts
    /// to execute. Gives the turn in which it leaves and the cycle in which it starts. There must be units.
    #[inline(always)]
    pub(super) fn leave(
        &mut self,
        units: &mut Units,
        (now, turns): (u64, Turns),
        mut turn: u64,
        occupancy: Occupancy,
    ) -> (u64, u64) {
        self.registers.pass(now);
        if let Some(outputs) = &mut self.outputs {
            outputs.pass(turns.first(now));
        }
        let mut left = turns.cycle(turn);
        let found = loop {
            if self.registers.are_full(left) {
                left = self.registers.free_after(left);
                turn = turns.first(left);
            }
            if let Some(outputs) = &self.outputs
                && outputs.are_full(turn)
            {
                turn += 1;
                left = turns.cycle(turn);
                continue;
            }
            let found = self.find(units, left + 1, occupancy);
            if found.starts == left + 1 {
                self.registers.add(left);
                break found;
            }
            let full = self.hold(left, found.starts);
            if full == found.starts {
                break found;
            }
            left = full + 1;
            turn = turns.first(left);
        };
        if let Some(outputs) = &mut self.outputs {
            outputs.add(turn);
        }
        units.book(found, occupancy);
        if occupancy.initiation > 1 {
            self.keep(found.unit, found.starts + occupancy.initiation);
        }
        (turn, found.starts)
    }

    /// A unit takes the next instruction in a cycle.
    #[inline]
    fn keep(&mut self, unit: u64, until: u64) {
        let place = (unit.trailing_zeros() - self.first) as usize % MOST;
        self.free[place] = until;
        let (mut first, mut last) = (u64::MAX, 0);
        for free in self.free.iter().take(self.count as usize) {
            (first, last) = (first.min(*free), last.max(*free));
        }
        self.all_free = (first, last);
    }

    /// An instruction that leaves its collector in a cycle stays in its pipeline register until it starts, unless those that leave
    /// later, and have booked before, need it: gives the cycle in which they do, or that of its start.
    #[inline(never)]
    fn hold(&mut self, left: u64, starts: u64) -> u64 {
        let from = left + 1;
        if let Some(full) = self.registers.first_full(from, starts) {
            return full;
        }
        (left..starts).for_each(|cycle| self.registers.add(cycle));
        let (begin, end) = self.held;
        if (begin..=end).contains(&from) {
            self.held = (begin, starts.max(end));
        } else if starts > end {
            self.held = (from, starts);
        }
        starts
    }

    /// The first cycle, at or after `from`, in which no older instruction waits, a unit is free and the result has a slot.
    #[inline(always)]
    fn find(&self, units: &Units, from: u64, occupancy: Occupancy) -> Found {
        let Occupancy { latency, initiation } = occupancy;
        // Most find that nothing waits, and that no unit is occupied for longer.
        if from < self.held.1.max(self.all_free.1) {
            return self.find_later(units, from, occupancy);
        }
        let (done, begun) = (units.done(from, latency), units.begins.at(from));
        let free = self.units & !(done | begun);
        if free != 0 && units.has_room(done) && (initiation == 1 || from >= units.last) {
            return Found { starts: from, unit: first_of(free), done, begun };
        }
        self.find_later(units, from, occupancy)
    }

    #[inline(never)]
    fn find_later(&self, units: &Units, from: u64, Occupancy { latency, initiation }: Occupancy) -> Found {
        let mut starts = from.max(self.all_free.0);
        loop {
            let (begin, end) = self.held;
            if begin <= starts && starts < end {
                starts = end;
            }
            let (done, begun) = (units.done(starts, latency), units.begins.at(starts));
            if units.has_room(done) {
                let mut taken = done | begun;
                if initiation > 1 && starts < units.last {
                    taken |= units.begun_later(starts, initiation);
                }
                if starts < self.all_free.1 {
                    taken |= self.kept_from(starts);
                }
                let free = self.units & !taken;
                if free != 0 {
                    return Found { starts, unit: first_of(free), done, begun };
                }
            }
            starts += 1;
        }
    }

    /// The units that an instruction keeps beyond a cycle.
    #[inline(always)]
    fn kept_from(&self, cycle: u64) -> u64 {
        let all = self.free.iter().take(self.count as usize).enumerate();
        let kept = all.fold(0, |kept, (unit, free)| kept | u64::from(*free > cycle) << unit);
        kept << self.first
    }
}

/// The first of some units, as a bit.
#[inline(always)]
fn first_of(units: u64) -> u64 {
    units & units.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path by lists of all that is booked, and searches cycle by cycle.
    struct Naive {
        params: PipelinePathParams,
        results: u32,
        /// From when until when instructions are in pipeline registers, and the turns in which they have left.
        registers: Vec<(u64, u64)>,
        outputs: Vec<u64>,
        begins: Vec<(u64, u32)>,
        done: Vec<(u64, u32)>,
        free: Vec<u64>,
        held: (u64, u64),
    }

    impl Naive {
        fn is_full(&self, cycle: u64) -> bool {
            let inside = self.registers.iter().filter(|(begin, end)| (*begin..*end).contains(&cycle));
            inside.count() >= self.params.dispatch_width as usize
        }

        /// The unit that takes an instruction in a cycle.
        fn unit(&self, cycle: u64, Occupancy { latency, initiation }: Occupancy) -> Option<u32> {
            let done = cycle + latency;
            if latency < WINDOW
                && self.done.iter().filter(|(at, _)| *at == done).count() >= self.results as usize
            {
                return None;
            }
            (0..self.params.units).find(|unit| {
                let begins = |at: u64| self.begins.contains(&(at, *unit));
                let is_taken = latency < WINDOW && self.done.contains(&(done, *unit));
                !is_taken
                    && self.free[*unit as usize] <= cycle
                    && !(cycle..cycle + initiation).any(begins)
                    && !(self.held.0..self.held.1).contains(&cycle)
            })
        }

        fn leave(&mut self, turns: Turns, mut turn: u64, occupancy: Occupancy) -> (u64, u64) {
            let Occupancy { latency, initiation } = occupancy;
            loop {
                let left = turns.cycle(turn);
                if self.is_full(left) {
                    turn = turns.first(left + 1);
                    continue;
                }
                if self.outputs.iter().filter(|at| **at == turn).count() >= self.params.outputs as usize {
                    turn += 1;
                    continue;
                }
                let found = (left + 1..).find_map(|cycle| Some((cycle, self.unit(cycle, occupancy)?)));
                let Some((starts, unit)) = found else { unreachable!("a cycle is free") };
                if let Some(full) = (left + 1..starts).find(|cycle| self.is_full(*cycle)) {
                    turn = turns.first(full + 1);
                    continue;
                }
                if starts > left + 1 {
                    let (begin, end) = self.held;
                    if (begin..=end).contains(&(left + 1)) {
                        self.held = (begin, starts.max(end));
                    } else if starts > end {
                        self.held = (left + 1, starts);
                    }
                }
                self.registers.push((left, starts));
                self.outputs.push(turn);
                if initiation > 1 {
                    self.free[unit as usize] = starts + initiation;
                } else {
                    self.begins.push((starts, unit));
                }
                if latency < WINDOW {
                    self.done.push((starts + latency, unit));
                }
                return (turn, starts);
            }
        }
    }

    #[test]
    fn a_path_is_the_list_of_what_is_booked() {
        for (units, dispatch_width, outputs, results, turns) in
            [(2, 2, 2, 2, 1), (1, 1, 1, 1, 1), (3, 2, 1, 2, 2), (4, 6, 2, 8, 2)]
        {
            let params = PipelinePathParams {
                units,
                issue_width: 1,
                inputs: 1,
                collectors: 8,
                outputs,
                dispatch_width,
            };
            let turns = Turns::new(turns);
            let mut exit = Exit::new(&params, |count| count, 0);
            let mut all = Units::new(results);
            let (registers, free) = (Vec::new(), vec![0; units as usize]);
            let mut naive = Naive {
                params,
                results,
                registers,
                outputs: Vec::new(),
                begins: Vec::new(),
                done: Vec::new(),
                free,
                held: (0, 0),
            };
            let (mut now, mut random) = (100, 1_u64);
            for round in 0..400 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let occupancy = match random >> 60 {
                    0 => Occupancy { latency: 20, initiation: 4 },
                    1..4 => Occupancy { latency: 8, initiation: 2 },
                    4..9 => Occupancy { latency: 5, initiation: 1 },
                    _ => Occupancy { latency: 4, initiation: 1 },
                };
                // Operands arrive in this turn or a little later.
                let turn = turns.first(now + 2) + (random >> 50) % 4;
                let expected = naive.leave(turns, turn, occupancy);
                let found = exit.leave(&mut all, (now, turns), turn, occupancy);
                assert_eq!(found, expected, "{units} units, instruction {round}");
                // Collectors hold back what is issued far ahead of its start.
                now += (random >> 40) % 3;
                now = now.max(expected.1.saturating_sub(12));
            }
        }
    }
}
