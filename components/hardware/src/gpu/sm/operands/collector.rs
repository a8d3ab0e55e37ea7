//! From issue to execution: instructions wait for an operand collector, read their operands from the banks of the
//! register file, and proceed to a unit.
//!
//! Nothing is stepped: every resource (a pipeline register, a collector, a port, a bank, a unit) knows the time from
//! which it is free, and an instruction books its whole path when it is issued. The register file works in turns, one or
//! more in a cycle. An instruction enters a collector in the first turn after its issue at the earliest, reads from the
//! next turn on, one operand per bank and turn, leaves in the turn after its last operand, and starts to execute in the
//! next cycle (`pipeline_path.rs`).

use counterpoint_ptx::FileAccesses;

use super::exit::{Occupancy, Units};
use super::facts::Fact;
use super::pipeline_path::PipelinePath;
use super::pipeline_slots::{NEVER, PipelineSlots};
use super::units::MEMORY;
use crate::gpu::sm::params::{PipelinePathParams, SmParams};

/// Turns and cycles ahead for which banks and results are booked. Later turns and cycles are always free.
pub(in crate::gpu::sm) const WINDOW: u64 = 64;

/// From the end of execution to the registers: a pipeline register, and the write.
const TO_REGISTER: u64 = 2;

/// One turn of the register file.
#[derive(Clone, Copy, Default)]
struct Slot {
    turn: u64,
    /// Banks that are read or written.
    taken: u32,
}

/// Accesses of an instruction to the register file.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gpu::sm) struct Operands {
    file: FileAccesses,
    /// Banks that an instruction of the warp in slot 0 reads and writes: those of other warps are the same, rotated.
    reads: u32,
    writes: u32,
    /// All operands that the instruction reads are in different banks.
    apart: bool,
}

/// The banks of a register file, with their bookings in the next turns. A set of banks is a bit mask in a word, repeated if there are
/// fewer banks than bits: the mask for another warp is then the word rotated.
pub(in crate::gpu::sm) struct RegisterFile {
    slots: [Slot; WINDOW as usize],
    /// The first bank.
    first: u32,
    turns: Turns,
}

/// Turns of a register file in a cycle.
#[derive(Clone, Copy)]
pub(in crate::gpu::sm) struct Turns {
    count: u64,
    /// 2^63 by their number, rounded up: to multiply by it is fast, to divide is not.
    reciprocal: u64,
}

impl Turns {
    pub(super) fn new(count: u64) -> Self {
        Turns { count, reciprocal: (1_u64 << 63).div_ceil(count) }
    }

    /// The cycle of a turn, one of the first 2^61.
    #[inline]
    pub(in crate::gpu::sm) fn cycle(self, turn: u64) -> u64 {
        if self.count == 1 {
            return turn;
        }
        ((u128::from(turn << 1) * u128::from(self.reciprocal)) >> 64) as u64
    }

    #[inline]
    pub(in crate::gpu::sm) fn first(self, cycle: u64) -> u64 {
        cycle * self.count
    }
}

impl RegisterFile {
    /// `banks` is a power of two, 32 at most; each serves an access in each of the turns of a cycle.
    pub(in crate::gpu::sm) fn new(banks: u32, turns: u32) -> Self {
        let first = (0..u32::BITS).step_by(banks as usize).fold(0, |first, bit| first | 1 << bit);
        RegisterFile { slots: [Slot::default(); WINDOW as usize], first, turns: Turns::new(turns.into()) }
    }

    #[inline]
    pub(in crate::gpu::sm) fn first_turn(&self, cycle: u64) -> u64 {
        self.turns.first(cycle)
    }

    #[inline]
    pub(in crate::gpu::sm) fn cycle_after(&self, turn: u64) -> u64 {
        self.turns.cycle(turn) + 1
    }

    /// Consecutive registers are in consecutive banks, and the registers of the next warp are one bank further (GPGPU-Sim).
    #[inline]
    fn bank(&self, warp: u32, register: u8) -> u32 {
        self.first.rotate_left(u32::from(register) + warp)
    }

    #[inline]
    fn banks_of(&self, warp: u32, registers: &[u8]) -> u32 {
        registers.iter().fold(0, |banks, &register| banks | self.bank(warp, register))
    }

    pub(in crate::gpu::sm) fn operands(&self, file: FileAccesses) -> Operands {
        let (reads, writes) = (self.banks_of(0, file.reads()), self.banks_of(0, file.writes()));
        let count = (reads.count_ones() / self.first.count_ones()) as usize;
        Operands { file, reads, writes, apart: count == file.reads().len() }
    }

    #[inline]
    fn slot(&mut self, turn: u64) -> &mut Slot {
        let slot = &mut self.slots[(turn % WINDOW) as usize];
        if slot.turn != turn {
            *slot = Slot { turn, taken: 0 };
        }
        slot
    }

    /// Reads registers one by one, the first ones in turn `from`; gives the turn of the last one, or the one before `from` if there
    /// are none.
    #[inline(never)]
    fn read_each(&mut self, warp: u32, registers: &[u8], from: u64) -> u64 {
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

    /// Reads the operands of an instruction of a warp, the first ones in turn `from`; gives the turn of the last one, or the one
    /// before `from` if there are none. Most find all banks free.
    #[inline]
    pub(in crate::gpu::sm) fn read(&mut self, warp: u32, operands: &Operands, from: u64) -> u64 {
        let reads = operands.reads.rotate_left(warp);
        if reads == 0 {
            return from - 1;
        }
        let slot = self.slot(from);
        if operands.apart && slot.taken & reads == 0 {
            slot.taken |= reads;
            return from;
        }
        self.read_each(warp, operands.file.reads(), from)
    }

    /// Writes results of a unit in a cycle: their banks serve nothing else in its first turn.
    #[inline]
    fn write(&mut self, warp: u32, operands: &Operands, cycle: u64) {
        let writes = operands.writes.rotate_left(warp);
        self.slot(self.first_turn(cycle)).taken |= writes;
    }

    /// Writes results of memory in the first cycle, from `from` on, in which their banks are free. Gives the cycle.
    #[inline]
    pub(in crate::gpu::sm) fn write_loaded(
        &mut self,
        warp: u32,
        operands: &Operands,
        now: u64,
        from: u64,
    ) -> u64 {
        let banks = operands.writes.rotate_left(warp);
        let mut cycle = from;
        while cycle < now + WINDOW / self.turns.count {
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

/// One of the equal sub-cores of an SM; the whole SM if it has none.
struct SubCoreCollectors {
    paths: [PipelinePath; MEMORY],
    /// Turns in which the collectors that serve every sort are free.
    shared: PipelineSlots,
    units: Units,
}

impl SubCoreCollectors {
    /// For each path, the first cycle in which an entry is free. A path without a collector takes none.
    fn accepts(&self) -> [u64; MEMORY] {
        let shared = self.shared.earliest();
        self.paths.each_ref().map(|path| match path.collectors.earliest().min(shared) {
            NEVER => NEVER,
            _ => path.accepts_from(),
        })
    }
}

/// The paths of all sorts of instructions. Memory accesses wait for memory behind their collectors, so of them only the
/// collectors that they share with others are here.
pub(in crate::gpu::sm) struct OperandCollector {
    parts: Vec<SubCoreCollectors>,
    /// For each part and path, the first cycle in which an instruction can be issued.
    accepts: Vec<[u64; MEMORY]>,
    /// For each path, the turn in which the last instruction entered a collector: they do so in the order of their issue, across
    /// all parts (GPGPU-Sim).
    entered: [u64; MEMORY],
}

impl OperandCollector {
    /// The paths of an SM of `cores` equal parts.
    pub(in crate::gpu::sm) fn new(params: &SmParams, cores: u32) -> Self {
        let paths = [&params.sp, &params.sfu, &params.dp, &params.tensor.path()];
        Self::of_paths(paths, params.collectors, params.results, cores)
    }

    fn of_paths(paths: [&PipelinePathParams; MEMORY], shared: u32, results: u32, cores: u32) -> Self {
        let share = |count: u32| count.div_ceil(cores);
        let part = || {
            let mut units = 0;
            let path = |params: &PipelinePathParams| {
                let first_unit = units;
                units += share(params.units);
                PipelinePath::new(params, share, first_unit)
            };
            let paths = paths.map(path);
            let (shared, units) = (PipelineSlots::new(share(shared)), Units::new(share(results)));
            SubCoreCollectors { paths, shared, units }
        };
        let parts: Vec<_> = (0..cores).map(|_| part()).collect();
        let accepts = parts.iter().map(SubCoreCollectors::accepts).collect();
        OperandCollector { parts, accepts, entered: [0; MEMORY] }
    }

    /// For each path, the first cycle in which an instruction can be issued in a part.
    #[inline]
    pub(in crate::gpu::sm) fn accepts_from(&self, part: usize) -> &[u64; MEMORY] {
        &self.accepts[part]
    }

    /// Issues an instruction of a warp; gives the cycle in which its result is in the registers.
    #[inline(always)]
    pub(in crate::gpu::sm) fn issue(
        &mut self,
        (part, warp): (usize, u32),
        fact: &Fact,
        registers: &mut RegisterFile,
        cycle: u64,
    ) -> u64 {
        let path = usize::from(fact.path) % MEMORY;
        let SubCoreCollectors { paths, shared, units } = &mut self.parts[part];
        let place = &mut paths[path];
        let (own, common) = (place.collectors.earliest(), shared.earliest());
        let entered = &mut self.entered[path];
        let mut enters = registers.first_turn(cycle + 1).max(own.min(common)).max(*entered);
        if let Some(inputs) = &place.inputs {
            enters = enters.max(inputs.earliest());
        }
        if place.exit.is_empty() || enters == NEVER {
            return cycle;
        }
        if let Some(inputs) = &mut place.inputs {
            inputs.take_until(enters + 1);
        }
        *entered = enters;
        let read = registers.read(warp, &fact.operands, enters + 1);
        place.entries.take_until(registers.turns.cycle(enters));
        let (latency, initiation) = (fact.cycles.0.into(), fact.cycles.1.into());
        let (now, occupancy) = ((cycle, registers.turns), Occupancy { latency, initiation });
        let (leaves, starts) = place.exit.leave(units, now, read + 1, occupancy);
        if common < own { shared } else { &mut place.collectors }.take_until(leaves);
        self.accepts[part][path] = place.accepts_from();
        let written = starts + latency + TO_REGISTER;
        registers.write(warp, &fact.operands, written);
        written
    }

    /// A memory access takes one of the collectors that serve every sort in a part, the first that is free, from this turn
    /// on at the earliest; gives the turn, if there is one that will be free.
    pub(in crate::gpu::sm) fn claim(&mut self, part: usize, turn: u64) -> Option<u64> {
        let one = &mut self.parts[part];
        let free = one.shared.earliest();
        if free == NEVER {
            return None;
        }
        one.shared.take_until(NEVER);
        self.accepts[part] = one.accepts();
        Some(turn.max(free))
    }

    /// A memory access leaves its collector in a turn.
    pub(in crate::gpu::sm) fn release(&mut self, part: usize, turn: u64) {
        let one = &mut self.parts[part];
        one.shared.give_back(turn);
        self.accepts[part] = one.accepts();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: PipelinePathParams = PipelinePathParams {
        units: 1,
        issue_width: 1,
        inputs: 1,
        collectors: 2,
        outputs: 1,
        dispatch_width: 1,
    };

    /// One path, and room for some results a cycle.
    fn paths(path: &PipelinePathParams, results: u32) -> OperandCollector {
        let none = PipelinePathParams { units: 0, collectors: 0, ..PATH };
        OperandCollector::of_paths([path, &none, &none, &none], 0, results, 1)
    }

    /// A register file of four banks with one path, and room for one result a cycle.
    struct Pipeline(RegisterFile, OperandCollector);

    impl Pipeline {
        fn new(turns: u32, path: &PipelinePathParams) -> Self {
            Pipeline(RegisterFile::new(4, turns), paths(path, 1))
        }

        /// Cycle in which an instruction starts that is issued in a given cycle.
        fn starts(&mut self, cycle: u64, reads: &[u8], (latency, initiation): (u16, u16)) -> u64 {
            assert!(self.1.accepts_from(0)[0] <= cycle, "cycle {cycle}");
            let accesses = FileAccesses::new(reads.iter().copied(), []);
            let operands = self.0.operands(accesses);
            let fact = Fact { operands, cycles: (latency, initiation), ..Fact::default() };
            let written = self.1.issue((0, 0), &fact, &mut self.0, cycle);
            written - u64::from(latency) - TO_REGISTER
        }
    }

    fn starts(issues: &[(u64, &[u8])], turns: u32) -> Vec<u64> {
        let mut pipeline = Pipeline::new(turns, &PATH);
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
        let mut pipeline = Pipeline::new(1, &PATH);
        assert_eq!([10, 11, 13, 14].map(|cycle| pipeline.starts(cycle, &[1], (8, 8))), [14, 22, 30, 38]);
        // The unit has the first one, the second one is in front of it, the next two are in the collectors.
        assert_eq!(pipeline.1.accepts_from(0)[0], 15);
        assert_eq!(pipeline.starts(15, &[1], (8, 8)), 46);
        assert_eq!(pipeline.1.accepts_from(0)[0], 22, "a collector is free when the second one begins");
    }

    #[test]
    fn a_result_whose_place_is_taken_holds_all_behind_it() {
        let mut pipeline = Pipeline::new(1, &PATH);
        // Of latency 5 in cycle 14, so that of latency 4 cannot begin in cycle 15, nor can what is behind it.
        let issues = [(10, 5), (11, 4), (12, 4), (13, 9)];
        assert_eq!(
            issues.map(|(cycle, latency)| pipeline.starts(cycle, &[1], (latency, 1))),
            [14, 16, 17, 18]
        );
    }

    #[test]
    fn an_instruction_that_waits_for_a_bank_lets_those_behind_it_pass() {
        let path = PipelinePathParams {
            units: 2,
            issue_width: 2,
            inputs: 2,
            collectors: 4,
            outputs: 2,
            dispatch_width: 2,
        };
        let (one_bank, other): (&[u8], &[u8]) = (&[0, 4, 8], &[1]);
        let starts = |path: &PipelinePathParams, latency, initiation| {
            let mut pipeline = Pipeline::new(1, path);
            let first = pipeline.starts(10, one_bank, (4, 1));
            [first, pipeline.starts(10, other, (latency, initiation))]
        };
        assert_eq!(starts(&path, 4, 1), [16, 14]);
        assert_eq!(starts(&path, 6, 1), [16, 15], "results of both would be complete in cycle 20");
        // The only unit begins the first one in cycle 16, so it has no three cycles before that.
        let single = PipelinePathParams { units: 1, ..path };
        assert_eq!(starts(&single, 4, 2), [16, 14]);
        assert_eq!(starts(&single, 4, 3), [16, 17]);
        // The second one is still in front of the unit when the first one comes, for which there is no other
        // place.
        let narrow = PipelinePathParams { dispatch_width: 1, ..single };
        assert_eq!(starts(&narrow, 4, 3), [16, 17]);
    }

    #[test]
    fn units_share_the_result_bus() {
        let path = PipelinePathParams {
            units: 2,
            issue_width: 2,
            inputs: 2,
            collectors: 4,
            outputs: 2,
            dispatch_width: 2,
        };
        let mut pipeline = Pipeline::new(1, &path);
        assert_eq!([10, 10].map(|cycle| pipeline.starts(cycle, &[], (4, 1))), [13, 14], "one result a cycle");
        let (file, wide) = (RegisterFile::new(4, 1), paths(&path, 2));
        let mut pipeline = Pipeline(file, wide);
        assert_eq!([10, 10].map(|cycle| pipeline.starts(cycle, &[], (4, 1))), [13, 13]);
        let narrow = PipelinePathParams { outputs: 1, ..path };
        let mut pipeline = Pipeline(RegisterFile::new(4, 1), paths(&narrow, 2));
        assert_eq!([10, 10].map(|cycle| pipeline.starts(cycle, &[], (4, 1))), [13, 14], "one leaves a cycle");
    }

    #[test]
    fn results_take_their_banks() {
        let mut file = RegisterFile::new(4, 1);
        let written = |register: u8| file.operands(FileAccesses::new([], [register]));
        let (first, zeroth) = (written(1), written(0));
        file.write(0, &first, 10);
        assert_eq!(file.read_each(0, &[1], 10), 11, "the bank is written");
        assert_eq!(file.read_each(1, &[1], 10), 10, "a warp further is a bank further");
        assert_eq!(file.write_loaded(0, &first, 5, 10), 12);
        assert_eq!(file.write_loaded(0, &zeroth, 5, 10), 10);
    }

    #[test]
    fn operands_are_read_at_once_as_they_are_one_by_one() {
        let mut random = 1_u64;
        for banks in [1, 2, 4, 16] {
            let (mut one, mut other) = (RegisterFile::new(banks, 1), RegisterFile::new(banks, 1));
            for turn in 100..2000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let [count, warp, registers @ ..] = random.to_be_bytes();
                let (warp, registers) = (u32::from(warp % 64), &registers[..usize::from(count % 5)]);
                let operands = one.operands(FileAccesses::new(registers.iter().copied(), []));
                let read = one.read(warp, &operands, turn);
                assert_eq!(read, other.read_each(warp, registers, turn), "{banks} {warp} {registers:?}");
            }
        }
    }

    #[test]
    fn a_turn_is_in_its_cycle() {
        for count in 1..=4 {
            let turns = Turns::new(count);
            for turn in (0..1000).chain((1 << 61) - 1000..1 << 61) {
                assert_eq!(turns.cycle(turn), turn / count, "{count} {turn}");
            }
        }
    }

    #[test]
    fn banks_of_a_warp_are_those_of_slot_0_rotated() {
        for banks in [1, 2, 8, 16, 32] {
            let file = RegisterFile::new(banks, 1);
            for warp in 0..64 {
                for registers in [&[0][..], &[3, 200], &[31, 32, 7], &[255]] {
                    let rotated = file.banks_of(0, registers).rotate_left(warp);
                    assert_eq!(rotated, file.banks_of(warp, registers), "{banks} {warp} {registers:?}");
                }
            }
        }
    }
}
