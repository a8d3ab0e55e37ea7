//! The order in which an assembler issues the operations of a block, and the registers in use under it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::code::{Block, Name, Operation, Touch};
use super::regions::Regions;

/// Blocks of more operations stay in order.
const LARGEST: usize = 2000;

/// The registers in use at a point of a block, which is walked from its end.
struct Live<'a> {
    regions: &'a Regions<'a>,
    names: BTreeSet<Name>,
    used: u32,
    most: u32,
}

impl<'a> Live<'a> {
    fn new(block: &Block, regions: &'a Regions<'a>) -> Self {
        let names: BTreeSet<Name> = block.live_out.iter().copied().collect();
        let used = block.through + names.iter().map(|name| regions.weight(*name)).sum::<u32>();
        Live { regions, names, used, most: used }
    }

    /// Registers of those names that are live, or of those that are not.
    fn weight(&self, names: &[Name], live: bool) -> u32 {
        let counted = names.iter().filter(|name| self.names.contains(name) == live);
        counted.map(|name| self.regions.weight(*name)).sum()
    }

    /// Registers that an operation adds, in front of all that are placed.
    fn growth(&self, operation: &Operation) -> i64 {
        i64::from(self.weight(&operation.reads, false)) - i64::from(self.weight(&operation.writes, true))
    }

    /// Places an operation in front of all that are placed.
    fn place(&mut self, operation: &Operation) {
        // A result that nothing reads has a register all the same.
        self.most = self.most.max(self.used + self.weight(&operation.writes, false));
        self.used -= self.weight(&operation.writes, true);
        for name in &operation.writes {
            self.names.remove(name);
        }
        self.used += self.weight(&operation.reads, false);
        self.names.extend(&operation.reads);
        self.most = self.most.max(self.used + operation.scratch);
    }
}

/// The most registers in use at once in a block. Every operation is placed as late as its result allows, those at the end of
/// long paths first; above `free` registers, those that add least.
pub(super) fn pressure(block: &Block, regions: &Regions<'_>, free: u32) -> u32 {
    let operations = &block.operations;
    let count = operations.len();
    let mut live = Live::new(block, regions);
    if count > LARGEST {
        operations.iter().rev().for_each(|operation| live.place(operation));
        return live.most;
    }
    let before = dependences(operations);
    // The longest path to each operation from the start.
    let mut path = vec![0u32; count];
    let mut waits = vec![0u32; count];
    for at in 0..count {
        for &from in &before[at] {
            path[at] = path[at].max(path[from] + operations[from].latency);
            waits[from] += 1;
        }
    }
    // Cycles count from the end.
    let mut ready: Vec<usize> = (0..count).filter(|at| waits[*at] == 0).collect();
    let mut earliest = vec![0u32; count];
    let mut cycle = 0;
    while let Some(soonest) = ready.iter().map(|at| earliest[*at]).min() {
        cycle = cycle.max(soonest);
        let best = if live.used < free {
            let due = ready.iter().enumerate().filter(|(_, at)| earliest[**at] <= cycle);
            due.max_by_key(|(_, at)| (path[**at], **at))
        } else {
            let growth = |at: usize| live.growth(&operations[at]);
            ready.iter().enumerate().min_by_key(|(_, at)| (growth(**at) > 0, Reverse(**at)))
        };
        let Some((slot, &at)) = best else { break };
        ready.swap_remove(slot);
        live.place(&operations[at]);
        cycle = cycle.max(earliest[at]) + 1;
        for &from in &before[at] {
            earliest[from] = earliest[from].max(cycle - 1 + operations[from].latency);
            waits[from] -= 1;
            if waits[from] == 0 {
                ready.push(from);
            }
        }
    }
    live.most
}

/// For each operation, the operations that must precede it.
fn dependences(operations: &[Operation]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); operations.len()];
    let mut writer: BTreeMap<Name, usize> = BTreeMap::new();
    let mut memory: Vec<usize> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        before[at].extend(operation.reads.iter().filter_map(|name| writer.get(name).copied()));
        writer.extend(operation.writes.iter().map(|name| (*name, at)));
        if operation.last {
            before[at].extend(0..at);
        }
        if matches!(operation.touch, Touch::Nothing | Touch::ReadOnly) {
            continue;
        }
        for &from in memory.iter().rev() {
            let other = operations[from].touch;
            if are_ordered(other, operation.touch) {
                before[at].push(from);
            }
            if other == Touch::All {
                break;
            }
        }
        memory.push(at);
    }
    for list in &mut before {
        list.sort_unstable();
        list.dedup();
    }
    before
}

/// Whether two accesses keep their order: one of them writes, perhaps where the other one reads or writes.
fn are_ordered(first: Touch, second: Touch) -> bool {
    match (first, second) {
        (Touch::All, _) | (_, Touch::All) => true,
        (Touch::Store(a), Touch::Load(b) | Touch::Store(b)) | (Touch::Load(a), Touch::Store(b)) => a == b,
        _ => false,
    }
}
