//! From issue to execution: instructions wait for an operand collector, read their operands from the banks of the
//! register file, and go on to a unit.
//!
//! Nothing is stepped: every place (a pipeline register, a collector, a bank, a unit) knows from which cycle on it is
//! free, and an instruction books its whole way when it is issued. It enters a collector a cycle after its issue at the
//! earliest, reads from the next cycle on, one operand per bank and cycle, leaves the cycle after its last operand, and
//! starts to execute a cycle later.

use counterpoint_ptx::RegisterSet;

use super::params::WayParams;
use super::units::MEMORY;

/// Cycles ahead for which banks are booked. What lies beyond finds its bank free.
const WINDOW: u64 = 64;

/// One cycle of the register file.
#[derive(Clone, Copy, Default)]
struct Slot {
    cycle: u64,
    /// Banks that are read or written.
    taken: u32,
    /// Results of fixed latency that are written.
    results: u32,
}

/// The banks of a register file, with what they do in the next cycles.
pub(super) struct RegisterFile {
    slots: [Slot; WINDOW as usize],
    banks: u32,
    results: u32,
}

impl RegisterFile {
    /// `banks` is a power of two; so many results of fixed latency are written in a cycle.
    pub(super) fn new(banks: u32, results: u32) -> Self {
        RegisterFile { slots: [Slot::default(); WINDOW as usize], banks, results }
    }

    /// Registers lie one after another in the banks, those of the next warp one further (GPGPU-Sim).
    #[inline]
    fn bank(&self, warp: u32, register: u16) -> u32 {
        1 << ((u32::from(register) + warp) & (self.banks - 1))
    }

    #[inline]
    fn slot(&mut self, cycle: u64) -> &mut Slot {
        let slot = &mut self.slots[(cycle % WINDOW) as usize];
        if slot.cycle != cycle {
            *slot = Slot { cycle, ..Slot::default() };
        }
        slot
    }

    /// Reads operands, the first ones in cycle `from`; gives the cycle of the last one.
    #[inline]
    pub(super) fn read(&mut self, warp: u32, registers: &RegisterSet, now: u64, from: u64) -> u64 {
        let mut last = from;
        for &register in registers.as_slice() {
            let bank = self.bank(warp, register);
            let mut cycle = from;
            while cycle < now + WINDOW {
                let slot = self.slot(cycle);
                if slot.taken & bank == 0 {
                    slot.taken |= bank;
                    break;
                }
                cycle += 1;
            }
            last = last.max(cycle);
        }
        last
    }

    /// Writes results in the first cycle, from `from` on, in which their banks are free; `fixed` tells whether they
    /// come from a unit of fixed latency. Gives the cycle.
    #[inline]
    pub(super) fn write(
        &mut self,
        warp: u32,
        registers: &RegisterSet,
        now: u64,
        from: u64,
        fixed: bool,
    ) -> u64 {
        let banks = registers.as_slice().iter().fold(0, |banks, &register| banks | self.bank(warp, register));
        let width = self.results;
        let mut cycle = from;
        while cycle < now + WINDOW {
            let slot = self.slot(cycle);
            if slot.taken & banks == 0 && (!fixed || slot.results < width) {
                slot.taken |= banks;
                slot.results += u32::from(fixed);
                break;
            }
            cycle += 1;
        }
        cycle
    }
}

/// The way of one sort of instruction: from which cycle on each place on it is free.
struct Way {
    entries: Vec<u64>,
    collectors: Vec<u64>,
    exits: Vec<u64>,
    units: Vec<u64>,
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

/// The ways of all sorts of instructions but memory accesses, which wait for memory.
pub(super) struct OperandCollector {
    ways: Vec<Way>,
    /// The first cycle in which an entry of each is free.
    accepts: [u64; MEMORY],
    /// Collectors that serve every sort.
    shared: Vec<u64>,
}

impl OperandCollector {
    /// The ways of one of `cores` equal parts of an SM.
    pub(super) fn new(ways: &[&WayParams], shared: u32, cores: u32) -> Self {
        let places = |count: u32| vec![0; count.div_ceil(cores) as usize];
        let way = |params: &&WayParams| Way {
            entries: places(params.issue_width),
            collectors: places(params.collectors),
            exits: places(params.dispatch_width),
            units: places(params.units),
        };
        let mut ways: Vec<Way> = ways.iter().map(way).collect();
        let mut accepts = [u64::MAX; MEMORY];
        for (accepts, way) in accepts.iter_mut().zip(&mut ways) {
            *accepts = way.accepts_from();
        }
        OperandCollector { ways, accepts, shared: places(shared) }
    }

    /// By way, the first cycle in which an instruction can be issued.
    #[inline]
    pub(super) fn accepts_from(&self) -> [u64; MEMORY] {
        self.accepts
    }

    /// Issues an instruction, which occupies its unit for `initiation` cycles; gives the cycle in which it starts.
    #[inline]
    pub(super) fn issue(
        &mut self,
        way: usize,
        operands: (u32, &RegisterSet),
        registers: &mut RegisterFile,
        cycle: u64,
        initiation: u64,
    ) -> u64 {
        let Way { entries, collectors, exits, units } = &mut self.ways[way];
        let (own, shared) = (earliest(collectors), earliest(&mut self.shared));
        let collector = match (own, shared) {
            (Some(own), Some(shared)) if *shared < *own => shared,
            (Some(place), _) | (None, Some(place)) => place,
            (None, None) => return cycle,
        };
        let (Some(entry), Some(exit), Some(unit)) = (earliest(entries), earliest(exits), earliest(units))
        else {
            return cycle;
        };
        let collected = (cycle + 1).max(*collector);
        let (warp, reads) = operands;
        let read = if reads.as_slice().is_empty() {
            collected
        } else {
            registers.read(warp, reads, cycle, collected + 1)
        };
        let leaves = (read + 1).max(*exit);
        let starts = (leaves + 1).max(*unit);
        (*entry, *collector, *exit, *unit) = (collected, leaves, starts, starts + initiation);
        self.accepts[way] = self.ways[way].accepts_from();
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: WayParams = WayParams { units: 1, issue_width: 1, collectors: 2, dispatch_width: 1 };

    fn registers(ids: &[u16]) -> RegisterSet {
        ids.iter().copied().collect()
    }

    fn starts(issues: &[(u64, &[u16])], way: &WayParams, initiation: u64) -> Vec<u64> {
        let mut file = RegisterFile::new(4, 2);
        let mut collector = OperandCollector::new(&[way], 0, 1);
        let issue = |(cycle, reads): &(u64, &[u16])| {
            assert!(collector.accepts_from()[0] <= *cycle, "cycle {cycle}");
            collector.issue(0, (0, &registers(reads)), &mut file, *cycle, initiation)
        };
        issues.iter().map(issue).collect()
    }

    #[test]
    fn an_operand_a_bank_and_a_cycle() {
        assert_eq!(starts(&[(10, &[])], &WAY, 1), [13]);
        assert_eq!(starts(&[(10, &[0, 1, 2])], &WAY, 1), [14]);
        assert_eq!(starts(&[(10, &[0, 4, 8])], &WAY, 1), [16], "one bank");
        assert_eq!(starts(&[(10, &[0, 1]), (11, &[2, 3]), (12, &[0])], &WAY, 1), [14, 15, 16]);
        assert_eq!(starts(&[(10, &[0, 4]), (11, &[0])], &WAY, 1), [15, 16], "the bank is read from 12 to 14");
        assert_eq!(
            starts(&[(10, &[0, 4, 8]), (11, &[0])], &WAY, 1),
            [16, 17],
            "the bank is read from 12 to 15"
        );
    }

    #[test]
    fn a_busy_unit_holds_all_behind_it() {
        let mut collector = OperandCollector::new(&[&WAY], 0, 1);
        let mut file = RegisterFile::new(4, 2);
        let mut issue = |collector: &mut OperandCollector, cycle| {
            collector.issue(0, (0, &registers(&[1])), &mut file, cycle, 8)
        };
        assert_eq!([10, 11, 13, 14].map(|cycle| issue(&mut collector, cycle)), [14, 22, 30, 38]);
        // The unit has the first one, the second one is in front of it, the next two are in the collectors.
        assert_eq!(collector.accepts_from()[0], 15);
        assert_eq!(issue(&mut collector, 15), 46);
        assert_eq!(collector.accepts_from()[0], 22, "a collector is free when the second one begins");
    }

    #[test]
    fn results_wait_for_their_bank_and_for_each_other() {
        let mut file = RegisterFile::new(4, 1);
        let one = registers(&[1]);
        assert_eq!(file.read(0, &one, 5, 10), 10);
        assert_eq!(file.write(0, &one, 5, 10, true), 11);
        assert_eq!(file.write(0, &registers(&[2]), 5, 11, true), 12, "one result a cycle");
        assert_eq!(file.write(0, &registers(&[3]), 5, 11, false), 11);
        assert_eq!(file.write(1, &registers(&[0]), 5, 11, false), 12, "a warp further is a bank further");
    }
}
