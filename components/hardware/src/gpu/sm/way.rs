//! The way of one sort of instruction through operand collectors to its units, and what its instructions book there.
//!
//! Instructions enter the collectors in their order and leave them when they have their operands: one that waits for a
//! bank does not hold back those behind it. In front of the units the oldest goes first: while its unit is busy, or its
//! result has no place in the pipeline of the unit or on the result bus, none that is there with it starts (GPGPU-Sim).
//! Instructions book in their order, so a place that an older one has taken later is free until then.

use super::operands::WINDOW;
use super::params::WayParams;

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
pub(super) struct Units {
    /// By cycle, the units that begin an instruction and can begin another one in the next cycle.
    begins: Calendar,
    /// By cycle, the units with a result that is complete in it.
    results: Calendar,
    /// Results that may be complete in a cycle.
    width: u32,
    /// The last cycle in `begins`.
    last: u64,
}

impl Units {
    /// Units with at most `width` results complete in a cycle.
    pub(super) fn new(width: u32) -> Self {
        Units { begins: Calendar::new(), results: Calendar::new(), width, last: 0 }
    }

    /// The units that cannot begin an instruction in a cycle, or nothing if its result has no place at all. Results that are
    /// complete in more than [`WINDOW`] cycles find one.
    #[inline]
    fn taken(&self, cycle: u64, (latency, initiation): (u64, u64)) -> Option<u64> {
        let done = if latency < WINDOW { self.results.at(cycle + latency) } else { 0 };
        let begun =
            (cycle..(cycle + initiation).min(self.last + 1)).fold(0, |begun, it| begun | self.begins.at(it));
        (done.count_ones() < self.width).then_some(done | begun)
    }

    /// A unit begins an instruction in a cycle.
    #[inline]
    fn book(&mut self, unit: u32, cycle: u64, (latency, initiation): (u64, u64)) {
        if latency < WINDOW {
            self.results.set(cycle + latency, self.results.at(cycle + latency) | 1 << unit);
        }
        if initiation == 1 {
            self.begins.set(cycle, self.begins.at(cycle) | 1 << unit);
            self.last = self.last.max(cycle);
        }
    }
}

/// The way of one sort of instruction: from when on each place on it is free.
pub(super) struct Way {
    /// Cycles from which on an instruction can be issued into each pipeline register in front of the collectors.
    pub(super) entries: Vec<u64>,
    /// Turns in which each port into the collectors and each collector is free.
    pub(super) inputs: Vec<u64>,
    pub(super) collectors: Vec<u64>,
    pub(super) exit: Exit,
}

/// The end of a way, from its collectors to its units.
pub(super) struct Exit {
    /// By turn, the instructions that leave the collectors, and how many may.
    leaving: Calendar,
    outputs: u64,
    /// By cycle, the pipeline registers in front of the units which an instruction passes in one cycle.
    passed: Calendar,
    /// For each pipeline register, from when until when an instruction stays in it for longer.
    kept: Vec<(u64, u64)>,
    /// The last cycle in which an instruction leaves.
    last: u64,
    /// From when until when the oldest instruction in front of the units cannot start.
    held: (u64, u64),
    /// Cycles from which on each unit takes an instruction, if it had one that keeps it for several.
    free: Vec<u64>,
    /// The number of the first unit among all of the part of the SM.
    first_unit: u32,
}

impl Way {
    /// A way of a part of an SM: `share` gives the part's share of a number of the SM.
    pub(super) fn new(params: &WayParams, share: impl Fn(u32) -> u32, first_unit: u32) -> Self {
        let places = |count: u32| vec![0; share(count) as usize];
        Way {
            entries: places(params.issue_width),
            inputs: places(params.inputs),
            collectors: places(params.collectors),
            exit: Exit {
                leaving: Calendar::new(),
                outputs: share(params.outputs).into(),
                passed: Calendar::new(),
                kept: vec![(0, 0); share(params.dispatch_width) as usize],
                last: 0,
                held: (0, 0),
                free: places(params.units),
                first_unit,
            },
        }
    }

    /// The first cycle in which an entry is free.
    #[inline]
    pub(super) fn accepts_from(&mut self) -> u64 {
        earliest(&mut self.entries).map_or(u64::MAX, |entry| *entry)
    }
}

impl Exit {
    /// An instruction that has its operands leaves its collector, in this turn at the earliest, and starts to execute. Gives
    /// the turn in which it leaves and the cycle in which it starts, or nothing if there are no units.
    #[inline]
    pub(super) fn pass(
        &mut self,
        units: &mut Units,
        (from, turns): (u64, u64),
        (latency, initiation): (u64, u64),
    ) -> Option<(u64, u64)> {
        if self.free.is_empty() {
            return None;
        }
        let mut turn = from;
        loop {
            let left = turn / turns;
            if self.taken(left) >= self.kept.len() {
                turn = (left + 1) * turns;
                continue;
            }
            if self.leaving.at(turn) >= self.outputs {
                turn += 1;
                continue;
            }
            let (starts, unit) = self.find(units, left + 1, (latency, initiation));
            // It keeps its register from those that leave later and have booked before.
            if let Some(full) =
                (left + 1..starts.min(self.last + 1)).find(|it| self.taken(*it) >= self.kept.len())
            {
                turn = (full + 1) * turns;
                continue;
            }
            self.leaving.set(turn, self.leaving.at(turn) + 1);
            self.book(left, starts);
            units.book(self.first_unit + unit, starts, (latency, initiation));
            if initiation > 1 {
                self.free[unit as usize] = starts + initiation;
            }
            return Some((turn, starts));
        }
    }

    /// Pipeline registers in front of the units that are taken at the end of a cycle.
    #[inline]
    fn taken(&self, cycle: u64) -> usize {
        let passed = self.passed.at(cycle) as usize;
        // None is kept for longer than the oldest is held.
        if cycle >= self.held.1 {
            return passed;
        }
        passed + self.kept.iter().filter(|(begin, end)| (*begin..*end).contains(&cycle)).count()
    }

    /// An instruction leaves its collector in a cycle and starts in another one.
    #[inline]
    fn book(&mut self, left: u64, starts: u64) {
        self.last = self.last.max(left);
        let from = left + 1;
        if starts == from {
            self.passed.set(left, self.passed.at(left) + 1);
            return;
        }
        if let Some(place) = self.kept.iter_mut().min_by_key(|(_, end)| *end) {
            *place = (left, starts);
        }
        let (begin, end) = self.held;
        if (begin..=end).contains(&from) {
            self.held = (begin, starts.max(end));
        } else if starts > end {
            self.held = (from, starts);
        }
    }

    /// The first cycle, from `from` on, in which no older instruction waits, a unit is free and the result has a place.
    /// Gives the unit, too.
    #[inline]
    fn find(&self, units: &Units, from: u64, (latency, initiation): (u64, u64)) -> (u64, u32) {
        let (begin, end) = self.held;
        let mut cycle = self.free.iter().copied().min().map_or(from, |free| free.max(from));
        loop {
            if (begin..end).contains(&cycle) {
                cycle = end;
            }
            if let Some(taken) = units.taken(cycle, (latency, initiation)) {
                let fits = |unit: &usize| {
                    self.free[*unit] <= cycle && taken >> (self.first_unit as usize + unit) & 1 == 0
                };
                if let Some(unit) = (0..self.free.len()).find(fits) {
                    return (cycle, unit as u32);
                }
            }
            cycle += 1;
        }
    }
}

/// The first of the places to be free, if there are any.
#[inline]
pub(super) fn earliest(places: &mut [u64]) -> Option<&mut u64> {
    match places {
        [place] => Some(place),
        [one, other] => Some(if *other < *one { other } else { one }),
        places => places.iter_mut().min_by_key(|free| **free),
    }
}
