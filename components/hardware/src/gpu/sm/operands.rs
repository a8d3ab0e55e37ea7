//! From issue to execution: instructions wait for an operand collector, read their operands from the banks of the
//! register file, and go on to a unit.
//!
//! Nothing is stepped: every place (a pipeline register, a collector, a port, a bank, a unit) knows from when on it is
//! free, and an instruction books its whole way when it is issued. The register file works in turns, one or more in a
//! cycle. An instruction enters a collector in the first turn after its issue at the earliest, reads from the next turn
//! on, one operand per bank and turn, leaves in the turn after its last operand, and starts to execute in the next cycle.
//! It starts only if its result has a place in the pipeline of its unit and on the result bus in the cycle in which it is
//! complete; until then it holds back all that come behind it on its way (GPGPU-Sim).

use counterpoint_ptx::FileAccesses;

use super::params::{SmParams, WayParams};
use super::units::MEMORY;

/// Turns and cycles ahead for which banks and results are booked. What lies beyond finds its place free.
const WINDOW: u64 = 64;

/// From the end of execution to the registers: a pipeline register, and the write.
const TO_REGISTER: u64 = 2;

/// One turn of the register file.
#[derive(Clone, Copy, Default)]
struct Slot {
    turn: u64,
    /// Banks that are read or written.
    taken: u32,
}

/// The banks of a register file, with what they do in the next turns.
pub(super) struct RegisterFile {
    slots: [Slot; WINDOW as usize],
    banks: u32,
    turns: u64,
}

impl RegisterFile {
    /// `banks` is a power of two; each serves an access in each of the turns of a cycle.
    pub(super) fn new(banks: u32, turns: u32) -> Self {
        RegisterFile { slots: [Slot::default(); WINDOW as usize], banks, turns: turns.into() }
    }

    /// The first turn of a cycle.
    #[inline]
    pub(super) fn first_turn(&self, cycle: u64) -> u64 {
        cycle * self.turns
    }

    /// The cycle after that of a turn.
    #[inline]
    pub(super) fn cycle_after(&self, turn: u64) -> u64 {
        turn / self.turns + 1
    }

    /// Registers lie one after another in the banks, those of the next warp one further (GPGPU-Sim).
    #[inline]
    fn bank(&self, warp: u32, register: u8) -> u32 {
        1 << ((u32::from(register) + warp) & (self.banks - 1))
    }

    #[inline]
    fn banks_of(&self, warp: u32, registers: &[u8]) -> u32 {
        registers.iter().fold(0, |banks, &register| banks | self.bank(warp, register))
    }

    #[inline]
    fn slot(&mut self, turn: u64) -> &mut Slot {
        let slot = &mut self.slots[(turn % WINDOW) as usize];
        if slot.turn != turn {
            *slot = Slot { turn, taken: 0 };
        }
        slot
    }

    /// Reads operands, the first ones in turn `from`; gives the turn of the last one, or the one before `from` if there
    /// are none.
    #[inline]
    pub(super) fn read(&mut self, warp: u32, registers: &[u8], from: u64) -> u64 {
        let mut last = from - 1;
        for &register in registers {
            let bank = self.bank(warp, register);
            let mut turn = from;
            while turn < from + WINDOW / 2 {
                let slot = self.slot(turn);
                if slot.taken & bank == 0 {
                    slot.taken |= bank;
                    break;
                }
                turn += 1;
            }
            last = last.max(turn);
        }
        last
    }

    /// Writes results of a unit in a cycle: their banks serve nothing else in its first turn.
    #[inline]
    fn write(&mut self, warp: u32, registers: &[u8], cycle: u64) {
        let banks = self.banks_of(warp, registers);
        self.slot(self.first_turn(cycle)).taken |= banks;
    }

    /// Writes results of memory in the first cycle, from `from` on, in which their banks are free. Gives the cycle.
    #[inline]
    pub(super) fn write_loaded(&mut self, warp: u32, registers: &[u8], now: u64, from: u64) -> u64 {
        let banks = self.banks_of(warp, registers);
        let mut cycle = from;
        while cycle < now + WINDOW / self.turns {
            let slot = self.slot(self.first_turn(cycle));
            if slot.taken & banks == 0 {
                slot.taken |= banks;
                break;
            }
            cycle += 1;
        }
        cycle
    }
}

/// The results of one cycle.
#[derive(Clone, Copy, Default)]
struct Results {
    cycle: u64,
    /// Units with a result that is complete in this cycle.
    units: u64,
}

/// The way of one sort of instruction: from when on each place on it is free.
struct Way {
    /// Cycles from which on an instruction can be issued into each pipeline register in front of the collectors.
    entries: Vec<u64>,
    /// Turns in which each port into the collectors, each collector and each port out of them is free.
    inputs: Vec<u64>,
    collectors: Vec<u64>,
    outputs: Vec<u64>,
    /// Cycles from which on each pipeline register in front of the units is free.
    exits: Vec<u64>,
    /// Cycles from which on each unit takes an instruction.
    units: Vec<u64>,
    /// The number of the first unit among all of the part of the SM.
    first_unit: u32,
    /// When the last instruction has begun.
    started: u64,
}

impl Way {
    /// The first cycle in which an entry is free.
    #[inline]
    fn accepts_from(&mut self) -> u64 {
        earliest(&mut self.entries).map_or(u64::MAX, |entry| *entry)
    }
}

/// The first of the places to be free, if there are any.
#[inline]
fn earliest(places: &mut [u64]) -> Option<&mut u64> {
    match places {
        [place] => Some(place),
        [one, other] => Some(if *other < *one { other } else { one }),
        places => places.iter_mut().min_by_key(|free| **free),
    }
}

/// A time that is not known yet: an instruction waits for memory.
const NEVER: u64 = u64::MAX;

/// One of the equal parts of an SM: the whole of it but for sub-cores.
struct Part {
    ways: Vec<Way>,
    /// The first cycle in which an entry of each is free.
    accepts: [u64; MEMORY],
    /// Turns in which each of the collectors that serve every sort is free.
    shared: Vec<u64>,
    /// Results by the cycle in which they are complete.
    results: [Results; WINDOW as usize],
}

impl Part {
    /// Looks again at which ways an instruction can be issued on. A way without a collector takes none.
    fn refresh(&mut self) {
        let shared = earliest(&mut self.shared).map(|free| *free);
        for (accepts, way) in self.accepts.iter_mut().zip(&mut self.ways) {
            let own = earliest(&mut way.collectors).map(|free| *free);
            let collector = own.into_iter().chain(shared).min().unwrap_or(NEVER);
            *accepts = if collector == NEVER { NEVER } else { way.accepts_from() };
        }
    }
}

/// The ways of all sorts of instructions. Memory accesses wait for memory behind their collectors, so of them only the
/// collectors that they share with others are here.
pub(super) struct OperandCollector {
    parts: Vec<Part>,
    /// By way, the turn in which the last instruction entered a collector: they do so in the order of their issue, across
    /// all parts (GPGPU-Sim).
    entered: [u64; MEMORY],
    /// Results that may be complete in a cycle in a part.
    width: u32,
}

impl OperandCollector {
    /// The ways of an SM of `cores` equal parts.
    pub(super) fn new(params: &SmParams, cores: u32) -> Self {
        let ways = [&params.sp, &params.sfu, &params.dp];
        Self::of_ways(&ways, params.collectors, params.results, cores)
    }

    fn of_ways(ways: &[&WayParams], shared: u32, results: u32, cores: u32) -> Self {
        let places = |count: u32| vec![0; count.div_ceil(cores) as usize];
        let part = || {
            let mut first_unit = 0;
            let way = |params: &&WayParams| {
                let first = first_unit;
                first_unit += params.units.div_ceil(cores);
                Way {
                    entries: places(params.issue_width),
                    inputs: places(params.inputs),
                    collectors: places(params.collectors),
                    outputs: places(params.outputs),
                    exits: places(params.dispatch_width),
                    units: places(params.units),
                    first_unit: first,
                    started: 0,
                }
            };
            let ways = ways.iter().map(way).collect();
            let results = [Results::default(); WINDOW as usize];
            let mut part = Part { ways, accepts: [NEVER; MEMORY], shared: places(shared), results };
            part.refresh();
            part
        };
        let parts = (0..cores).map(|_| part()).collect();
        OperandCollector { parts, entered: [0; MEMORY], width: results.div_ceil(cores) }
    }

    /// By way, the first cycle in which an instruction can be issued in a part.
    #[inline]
    pub(super) fn accepts_from(&self, part: usize) -> [u64; MEMORY] {
        self.parts[part].accepts
    }

    /// Issues an instruction of a warp, which reads and writes registers and occupies its unit for `initiation` cycles;
    /// gives the cycle in which its result is in the registers.
    #[inline]
    pub(super) fn issue(
        &mut self,
        (part, way): (usize, usize),
        (warp, accesses): (u32, &FileAccesses),
        registers: &mut RegisterFile,
        cycle: u64,
        (latency, initiation): (u64, u64),
    ) -> u64 {
        let Part { ways, accepts, shared, results } = &mut self.parts[part];
        let place = &mut ways[way];
        let Way { entries, inputs, collectors, outputs, exits, units, first_unit, started } = place;
        let (own, common) = (earliest(collectors), earliest(shared));
        let collector = match (own, common) {
            (Some(own), Some(common)) if *common < *own => common,
            (Some(place), _) | (None, Some(place)) => place,
            (None, None) => return cycle,
        };
        let (Some(entry), Some(input), Some(output), Some(exit)) =
            (earliest(entries), earliest(inputs), earliest(outputs), earliest(exits))
        else {
            return cycle;
        };
        if units.is_empty() {
            return cycle;
        }
        let entered = &mut self.entered[way];
        let enters = registers.first_turn(cycle + 1).max(*input).max(*collector).max(*entered);
        *entered = enters;
        let read = registers.read(warp, accesses.reads(), enters + 1);
        let leaves = (read + 1).max(*output).max(registers.first_turn(*exit));
        let from = registers.cycle_after(leaves).max(*started);
        let (starts, unit) = start((results, self.width), (units, *first_unit), from, latency);
        *entry = registers.cycle_after(enters) - 1;
        (*input, *collector, *output, *exit) = (enters + 1, leaves, leaves + 1, starts);
        units[unit] = starts + initiation;
        *started = starts;
        accepts[way] = place.accepts_from();
        let written = starts + latency + TO_REGISTER;
        registers.write(warp, accesses.writes(), written);
        written
    }

    /// A memory access takes one of the collectors that serve every sort in a part, the first that is free, from this turn
    /// on at the earliest; gives the turn and the collector, if there is one that will be free.
    pub(super) fn claim(&mut self, part: usize, turn: u64) -> Option<(u64, usize)> {
        let part = &mut self.parts[part];
        let (place, free) = part.shared.iter().copied().enumerate().min_by_key(|(_, free)| *free)?;
        if free == NEVER {
            return None;
        }
        part.shared[place] = NEVER;
        part.refresh();
        Some((turn.max(free), place))
    }

    /// A memory access leaves its collector in a turn.
    pub(super) fn release(&mut self, part: usize, collector: usize, turn: u64) {
        let part = &mut self.parts[part];
        part.shared[collector] = turn;
        part.refresh();
    }
}

/// The first cycle, from `from` on, in which one of the units is free and its result has a place, and that unit. Results
/// that are complete in more than [`WINDOW`] cycles find one.
#[inline]
fn start(
    (results, width): (&mut [Results; WINDOW as usize], u32),
    (units, first_unit): (&[u64], u32),
    from: u64,
    latency: u64,
) -> (u64, usize) {
    let mut cycle = units.iter().copied().min().map_or(from, |free| free.max(from));
    loop {
        let complete = cycle + latency;
        let slot = &mut results[(complete % WINDOW) as usize];
        if slot.cycle < complete && latency < WINDOW {
            *slot = Results { cycle: complete, units: 0 };
        }
        let taken = if slot.cycle == complete { slot.units } else { 0 };
        let bit = |unit: usize| 1 << (first_unit as usize + unit);
        let fits = |unit: &usize| units[*unit] <= cycle && taken & bit(*unit) == 0;
        if taken.count_ones() < width
            && let Some(unit) = (0..units.len()).find(fits)
        {
            if slot.cycle == complete {
                slot.units |= bit(unit);
            }
            return (cycle, unit);
        }
        cycle += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: WayParams =
        WayParams { units: 1, issue_width: 1, inputs: 1, collectors: 2, outputs: 1, dispatch_width: 1 };

    /// A register file of four banks with one way, and room for one result a cycle.
    struct Pipeline(RegisterFile, OperandCollector);

    impl Pipeline {
        fn new(turns: u32, way: &WayParams) -> Self {
            Pipeline(RegisterFile::new(4, turns), OperandCollector::of_ways(&[way], 0, 1, 1))
        }

        /// When an instruction starts that is issued in a cycle.
        fn starts(&mut self, cycle: u64, reads: &[u8], (latency, initiation): (u64, u64)) -> u64 {
            assert!(self.1.accepts_from(0)[0] <= cycle, "cycle {cycle}");
            let accesses = FileAccesses::new(reads.iter().copied(), []);
            let written = self.1.issue((0, 0), (0, &accesses), &mut self.0, cycle, (latency, initiation));
            written - latency - TO_REGISTER
        }
    }

    fn starts(issues: &[(u64, &[u8])], turns: u32) -> Vec<u64> {
        let mut pipeline = Pipeline::new(turns, &WAY);
        issues.iter().map(|(cycle, reads)| pipeline.starts(*cycle, reads, (4, 1))).collect()
    }

    #[test]
    fn an_operand_a_bank_and_a_turn() {
        assert_eq!(starts(&[(10, &[])], 1), [13]);
        assert_eq!(starts(&[(10, &[0, 1, 2])], 1), [14]);
        assert_eq!(starts(&[(10, &[0, 4, 8])], 1), [16], "one bank");
        assert_eq!(starts(&[(10, &[0, 1]), (11, &[2, 3]), (12, &[0])], 1), [14, 15, 16]);
        assert_eq!(starts(&[(10, &[0, 4]), (11, &[0])], 1), [15, 16], "the bank is read from 12 to 14");
        assert_eq!(starts(&[(10, &[0, 4, 8]), (11, &[0])], 1), [16, 17], "the bank is read from 12 to 15");
    }

    #[test]
    fn two_turns_a_cycle_do_the_same_in_less_time() {
        assert_eq!(starts(&[(10, &[])], 2), [12]);
        assert_eq!(starts(&[(10, &[0, 1, 2])], 2), [13], "collected and read in cycle 11, gone in 12");
        assert_eq!(starts(&[(10, &[0, 4])], 2), [13]);
        assert_eq!(starts(&[(10, &[0, 4, 8])], 2), [14], "one bank");
    }

    #[test]
    fn a_busy_unit_holds_all_behind_it() {
        let mut pipeline = Pipeline::new(1, &WAY);
        assert_eq!([10, 11, 13, 14].map(|cycle| pipeline.starts(cycle, &[1], (8, 8))), [14, 22, 30, 38]);
        // The unit has the first one, the second one is in front of it, the next two are in the collectors.
        assert_eq!(pipeline.1.accepts_from(0)[0], 15);
        assert_eq!(pipeline.starts(15, &[1], (8, 8)), 46);
        assert_eq!(pipeline.1.accepts_from(0)[0], 22, "a collector is free when the second one begins");
    }

    #[test]
    fn a_result_whose_place_is_taken_holds_all_behind_it() {
        let mut pipeline = Pipeline::new(1, &WAY);
        // Of latency 5 in cycle 14, so that of latency 4 cannot begin in cycle 15, nor can what is behind it.
        let issues = [(10, 5), (11, 4), (12, 4), (13, 9)];
        assert_eq!(
            issues.map(|(cycle, latency)| pipeline.starts(cycle, &[1], (latency, 1))),
            [14, 16, 17, 18]
        );
    }

    #[test]
    fn units_share_the_result_bus() {
        let way =
            WayParams { units: 2, issue_width: 2, inputs: 2, collectors: 4, outputs: 2, dispatch_width: 2 };
        let mut pipeline = Pipeline::new(1, &way);
        assert_eq!([10, 10].map(|cycle| pipeline.starts(cycle, &[], (4, 1))), [13, 14], "one result a cycle");
        let (file, wide) = (RegisterFile::new(4, 1), OperandCollector::of_ways(&[&way], 0, 2, 1));
        let mut pipeline = Pipeline(file, wide);
        assert_eq!([10, 10].map(|cycle| pipeline.starts(cycle, &[], (4, 1))), [13, 13]);
        let narrow = WayParams { outputs: 1, ..way };
        let mut pipeline = Pipeline(RegisterFile::new(4, 1), OperandCollector::of_ways(&[&narrow], 0, 2, 1));
        assert_eq!([10, 10].map(|cycle| pipeline.starts(cycle, &[], (4, 1))), [13, 14], "one leaves a cycle");
    }

    #[test]
    fn results_take_their_banks() {
        let mut file = RegisterFile::new(4, 1);
        file.write(0, &[1], 10);
        assert_eq!(file.read(0, &[1], 10), 11, "the bank is written");
        assert_eq!(file.read(1, &[1], 10), 10, "a warp further is a bank further");
        assert_eq!(file.write_loaded(0, &[1], 5, 10), 12);
        assert_eq!(file.write_loaded(0, &[0], 5, 10), 10);
    }
}
