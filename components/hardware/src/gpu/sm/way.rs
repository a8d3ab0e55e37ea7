//! The way of one sort of instruction through operand collectors to its units, and what its instructions book there.
//!
//! Instructions enter the collectors in their order and leave them when they have their operands: one that waits for a
//! bank does not hold back those behind it. In front of the units the oldest goes first: while its unit is busy, or its
//! result has no place in the pipeline of the unit or on the result bus, none that is there with it starts (GPGPU-Sim).
//! Instructions book in their order, so a place that an older one has taken later is free until then.

use super::operands::{Turns, WINDOW};
use super::params::WayParams;
use super::places::Places;

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

    /// The same, or nothing if something is known that happens later by a whole [`WINDOW`].
    #[inline]
    fn not_later(&self, time: u64) -> Option<u64> {
        let (known, value) = self.0[(time % WINDOW) as usize];
        (known <= time).then_some(if known == time { value } else { 0 })
    }

    /// Sets what happens at a time, of which nothing later is known.
    #[inline]
    fn put(&mut self, time: u64, value: u64) {
        self.0[(time % WINDOW) as usize] = (time, value);
    }

    /// Changes what happens at a time, unless something is known that happens later.
    fn change(&mut self, time: u64, change: impl FnOnce(u64) -> u64) {
        if let Some(value) = self.not_later(time) {
            self.put(time, change(value));
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
    fn taken(&self, cycle: u64, (latency, initiation): (u64, u64)) -> Option<u64> {
        let done = if latency < WINDOW { self.results.at(cycle + latency) } else { 0 };
        let begun =
            (cycle..(cycle + initiation).min(self.last + 1)).fold(0, |begun, it| begun | self.begins.at(it));
        self.has_room(done).then_some(done | begun)
    }

    /// Whether one result more can be complete in a cycle. To count bits is slow on hosts of the baseline.
    #[inline]
    fn has_room(&self, done: u64) -> bool {
        match self.width {
            1 => done == 0,
            2 => done & done.wrapping_sub(1) == 0,
            width => done == 0 || done.count_ones() < width,
        }
    }

    /// A unit begins an instruction in a cycle.
    fn book(&mut self, unit: u32, cycle: u64, (latency, initiation): (u64, u64)) {
        let with = |units| units | 1 << unit;
        if latency < WINDOW {
            self.results.change(cycle + latency, with);
        }
        if initiation == 1 {
            self.begins.change(cycle, with);
            self.last = self.last.max(cycle);
        }
    }
}

/// The way of one sort of instruction: from when on the places on it are free.
pub(super) struct Way {
    /// Cycles from which on an instruction can be issued into the pipeline registers in front of the collectors.
    pub(super) entries: Places,
    /// Turns in which the ports into the collectors and the collectors are free.
    pub(super) inputs: Places,
    pub(super) collectors: Places,
    pub(super) exit: Exit,
}

/// The end of a way, from its collectors to its units.
pub(super) struct Exit {
    /// By turn, the instructions that leave the collectors, and how many may.
    leaving: Calendar,
    outputs: u64,
    /// By cycle, the pipeline registers in front of the units which an instruction passes in one cycle, and how many there are.
    passed: Calendar,
    width: u64,
    /// For each of them, from when until when an instruction stays in it for longer than a cycle.
    kept: Vec<(u64, u64)>,
    /// The last cycle in which an instruction leaves.
    last: u64,
    /// From when until when the oldest instruction in front of the units cannot start.
    held: (u64, u64),
    /// Cycles from which on each unit takes an instruction, if it had one that keeps it for several; the first and the last of them.
    free: Vec<u64>,
    all_free: (u64, u64),
    /// The number of the first unit among all of the part of the SM.
    first_unit: u32,
}

impl Way {
    /// A way of a part of an SM: `share` gives the part's share of a number of the SM.
    pub(super) fn new(params: &WayParams, share: impl Fn(u32) -> u32, first_unit: u32) -> Self {
        let places = |count: u32| Places::new(share(count));
        Way {
            entries: places(params.issue_width),
            inputs: places(params.inputs),
            collectors: places(params.collectors),
            exit: Exit {
                leaving: Calendar::new(),
                outputs: share(params.outputs).into(),
                passed: Calendar::new(),
                width: share(params.dispatch_width).into(),
                kept: vec![(0, 0); share(params.dispatch_width) as usize],
                last: 0,
                held: (0, 0),
                free: vec![0; share(params.units) as usize],
                all_free: (0, 0),
                first_unit,
            },
        }
    }

    /// The first cycle in which an entry is free.
    #[inline]
    pub(super) fn accepts_from(&self) -> u64 {
        self.entries.earliest()
    }
}

impl Exit {
    /// Whether there are no units.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// An instruction that has its operands leaves its collector, in this turn at the earliest, and starts to execute. Gives
    /// the turn in which it leaves and the cycle in which it starts. There must be units.
    #[inline]
    pub(super) fn pass(
        &mut self,
        units: &mut Units,
        (turn, turns): (u64, Turns),
        (latency, initiation): (u64, u64),
    ) -> (u64, u64) {
        let left = turns.cycle(turn);
        let starts = left + 1;
        // Most instructions find no other one in their way.
        if initiation == 1
            && latency < WINDOW
            && left >= self.held.1
            && starts >= self.all_free.1
            && let Some(leaving) = self.leaving.not_later(turn)
            && leaving < self.outputs
            && let Some(passed) = self.passed.not_later(left)
            && passed < self.width
            && let Some(done) = units.results.not_later(starts + latency)
            && units.has_room(done)
            && let Some(begun) = units.begins.not_later(starts)
        {
            let unit = (!(done | begun).rotate_right(self.first_unit)).trailing_zeros();
            if (unit as usize) < self.free.len() {
                let bit = 1_u64.rotate_left(self.first_unit + unit);
                self.leaving.put(turn, leaving + 1);
                self.passed.put(left, passed + 1);
                units.results.put(starts + latency, done | bit);
                units.begins.put(starts, begun | bit);
                self.last = self.last.max(left);
                units.last = units.last.max(starts);
                return (turn, starts);
            }
        }
        self.pass_others(units, (turn, turns), (latency, initiation))
    }

    /// The same with others in its way.
    #[inline(never)]
    fn pass_others(
        &mut self,
        units: &mut Units,
        (from, turns): (u64, Turns),
        (latency, initiation): (u64, u64),
    ) -> (u64, u64) {
        let mut turn = from;
        loop {
            let left = turns.cycle(turn);
            if self.taken(left) >= self.width {
                turn = turns.first(left + 1);
                continue;
            }
            if self.leaving.at(turn) >= self.outputs {
                turn += 1;
                continue;
            }
            let (starts, unit) = self.find(units, left + 1, (latency, initiation));
            // It keeps its register from those that leave later and have booked before.
            if starts > left + 1
                && let Some(full) =
                    (left + 1..starts.min(self.last + 1)).find(|it| self.taken(*it) >= self.width)
            {
                turn = turns.first(full + 1);
                continue;
            }
            self.leaving.change(turn, |leaving| leaving + 1);
            self.last = self.last.max(left);
            if starts == left + 1 {
                self.passed.change(left, |passed| passed + 1);
            } else {
                self.hold(left, starts);
            }
            units.book(self.first_unit + unit, starts, (latency, initiation));
            if initiation > 1 {
                self.keep(unit, starts + initiation);
            }
            return (turn, starts);
        }
    }

    /// A unit takes the next instruction in a cycle.
    fn keep(&mut self, unit: u32, until: u64) {
        self.free[unit as usize] = until;
        self.all_free =
            self.free.iter().fold((u64::MAX, 0), |(first, last), free| (first.min(*free), last.max(*free)));
    }

    /// Pipeline registers in front of the units that are taken at the end of a cycle.
    #[inline]
    fn taken(&self, cycle: u64) -> u64 {
        let passed = self.passed.at(cycle);
        // None is kept for longer than the oldest is held.
        if cycle >= self.held.1 {
            return passed;
        }
        passed + self.kept.iter().filter(|(begin, end)| (*begin..*end).contains(&cycle)).count() as u64
    }

    /// An instruction that leaves its collector in a cycle stays in its pipeline register for more than a cycle.
    fn hold(&mut self, left: u64, starts: u64) {
        let from = left + 1;
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
    fn find(&self, units: &Units, from: u64, (latency, initiation): (u64, u64)) -> (u64, u32) {
        let ((begin, end), (first, last)) = (self.held, self.all_free);
        let mut cycle = from.max(first);
        loop {
            if (begin..end).contains(&cycle) {
                cycle = end;
            }
            if let Some(taken) = units.taken(cycle, (latency, initiation)) {
                let mut taken = taken.rotate_right(self.first_unit);
                if cycle < last {
                    let busy = self.free.iter().enumerate().filter(|(_, free)| **free > cycle);
                    taken = busy.fold(taken, |taken, (unit, _)| taken | 1 << unit);
                }
                let unit = (!taken).trailing_zeros();
                if (unit as usize) < self.free.len() {
                    return (cycle, unit);
                }
            }
            cycle += 1;
        }
    }
}
