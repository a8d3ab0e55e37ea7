//! The regions that an assembler schedules as one: blocks, and inner loops with their rounds unrolled.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{self, Block, Name, Operation};
use super::counts::Counts;
use super::homes::Homes;

use crate::analysis::bits::Bits;
use crate::analysis::ssa::{Phi, Ssa, SsaInstruction, UNDEFINED, ValueId};

/// Rounds of a loop of unknown length that one round of the unrolled loop has.
const UNROLLED: u32 = 4;

/// The most operations of a loop that is unrolled in part, all rounds together, and of one that is unrolled whole.
const LARGEST_PART: usize = 128;
const LARGEST_WHOLE: usize = 512;

pub(super) struct Regions<'a> {
    ssa: &'a Ssa,
    homes: &'a Homes,
    needed: Vec<bool>,
    /// Values in use at the start of each block, without those of its phis.
    live_in: Vec<Bits>,
}

impl<'a> Regions<'a> {
    pub(super) fn new(ssa: &'a Ssa, homes: &'a Homes) -> Self {
        let needed = code::needed(ssa, homes);
        let mut regions = Regions { ssa, homes, needed, live_in: Vec::new() };
        regions.live_in = regions.live_in();
        regions
    }

    pub(super) fn weight(&self, name: Name) -> u32 {
        let count = self.homes.weights.len();
        match (name % (count as Name + 2)) as usize {
            // A shared address that is brought into registers, and a constant factor.
            at if at == count => 2,
            at if at == count + 1 => 1,
            at => self.homes.weights[at],
        }
    }

    /// All regions, each as one block of operations.
    pub(super) fn blocks(&self) -> Vec<Block> {
        self.ssa.dominators.order.iter().map(|block| self.region(*block)).collect()
    }

    /// The instructions of a block that machine code has.
    fn steps(&self, block: u32) -> impl Iterator<Item = &'a SsaInstruction> {
        self.ssa.steps_of(block).iter().filter(|step| self.is_kept(step))
    }

    fn is_kept(&self, step: &SsaInstruction) -> bool {
        let is_made =
            |value: &ValueId| self.homes.read(*value) == Some(*value) && self.needed[*value as usize];
        code::is_rooted(step) || step.results.iter().any(is_made)
    }

    fn phis(&self, block: u32) -> impl Iterator<Item = &'a Phi> {
        self.ssa.phis[block as usize]
            .iter()
            .filter(|phi| self.needed[phi.result as usize] && self.homes.read(phi.result) == Some(phi.result))
    }

    /// Adds the values in use on the way from one block to another.
    fn live_between(&self, live_in: &[Bits], from: u32, to: u32, live: &mut Bits) {
        live.union(&live_in[to as usize]);
        for phi in self.phis(to) {
            let argument = phi.arguments.iter().find(|(block, _)| *block == from);
            let root = argument.and_then(|(_, value)| self.homes.read(*value));
            if let Some(root) = root.filter(|root| *root != UNDEFINED) {
                live.insert(root as usize);
            }
        }
    }

    fn live_in(&self) -> Vec<Bits> {
        let count = self.ssa.definitions.len();
        let mut live_in = vec![Bits::new(count); self.ssa.flow.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.ssa.dominators.order.iter().rev() {
                let range = &self.ssa.flow.blocks[block as usize];
                let mut live = Bits::new(count);
                for &next in &range.successors {
                    self.live_between(&live_in, block, next, &mut live);
                }
                for step in self.ssa.steps_of(block).iter().rev() {
                    for result in &step.results {
                        live.remove(*result as usize);
                    }
                    if self.is_kept(step) {
                        for value in code::reads(self.homes, step).0 {
                            live.insert(value as usize);
                        }
                    }
                }
                for phi in &self.ssa.phis[block as usize] {
                    live.remove(phi.result as usize);
                }
                if live != live_in[block as usize] {
                    live_in[block as usize] = live;
                    changed = true;
                }
            }
        }
        live_in
    }

    /// A block; for a loop of one block, its unrolled rounds.
    fn region(&self, block: u32) -> Block {
        let counts = Counts { ssa: self.ssa, homes: self.homes, block };
        let successors = &self.ssa.flow.blocks[block as usize].successors;
        let rounds = if successors.contains(&block) { self.rounds(&counts) } else { 1 };
        let mut unrolled =
            Unrolled { regions: self, counts, rounds, now: BTreeMap::new(), operations: Vec::new() };
        for round in 0..rounds {
            if round > 0 {
                unrolled.turn();
            }
            for step in self.steps(block) {
                if !code::is_branch(step) || round + 1 == rounds {
                    unrolled.add(step, round);
                }
            }
        }
        let count = self.homes.weights.len();
        let mut live = Bits::new(count);
        for &next in successors {
            self.live_between(&self.live_in, block, next, &mut live);
        }
        let live_out: Vec<Name> = live.iter().map(|value| value as Name).collect();
        let operations = code::without_dead(unrolled.operations, &live_out);
        let touched = operations.iter().flat_map(|operation| operation.reads.iter().chain(&operation.writes));
        let used: BTreeSet<Name> = touched.copied().collect();
        let (live_out, through): (Vec<Name>, Vec<Name>) =
            live_out.into_iter().partition(|name| used.contains(name));
        Block { operations, live_out, through: through.iter().map(|name| self.weight(*name)).sum() }
    }

    /// Rounds of a loop in one of the unrolled loop.
    fn rounds(&self, counts: &Counts<'_>) -> u32 {
        let range = &self.ssa.flow.blocks[counts.block as usize];
        let stays = self.ssa.not_unrolled.iter().any(|pc| (range.first..range.end).contains(pc));
        if stays || self.steps(counts.block).any(|step| step.opcode.starts_with("call")) {
            return 1;
        }
        let size = self.steps(counts.block).count();
        match counts.trips() {
            Some(trips) if trips as usize * size <= LARGEST_WHOLE => trips,
            _ if !counts.is_counted() => 1,
            _ if UNROLLED as usize * size <= LARGEST_PART => UNROLLED,
            _ if UNROLLED as usize / 2 * size <= LARGEST_PART => UNROLLED / 2,
            _ => 1,
        }
    }
}

/// A loop's rounds, one after the other.
struct Unrolled<'r, 'a> {
    regions: &'r Regions<'a>,
    counts: Counts<'r>,
    rounds: u32,
    /// The name that each value has in this round.
    now: BTreeMap<ValueId, Name>,
    operations: Vec<Operation>,
}

impl Unrolled<'_, '_> {
    /// The name of a value that a round makes. Those of the last round are used behind the loop and have the value's own.
    fn name(&self, round: u32, value: ValueId) -> Name {
        let names = self.regions.homes.weights.len() as Name + 2;
        let ahead = if round + 1 == self.rounds { 0 } else { Name::from(round) + 1 };
        Name::from(value) + ahead * names
    }

    fn current(&self, value: ValueId) -> Name {
        self.now.get(&value).copied().unwrap_or(Name::from(value))
    }

    /// Begins the next round: phis have the values of the last one.
    fn turn(&mut self) {
        let homes = self.regions.homes;
        let phis = self.regions.phis(self.counts.block);
        let next: Vec<(ValueId, Name)> = phis
            .filter_map(|phi| Some((phi.result, self.current(homes.read(self.counts.back(phi)?)?))))
            .collect();
        self.now.extend(next);
    }

    fn add(&mut self, step: &SsaInstruction, round: u32) {
        let homes = self.regions.homes;
        let (values, has_shared_address) = code::reads(homes, step);
        let addresses = code::addresses(homes, step);
        let read = |value: &ValueId| {
            // Further rounds of an induction variable that addresses add a constant to it.
            let is_offset = addresses.contains(value) && self.counts.induction(*value).is_some();
            if is_offset { Name::from(*value) } else { self.current(*value) }
        };
        let mut reads: Vec<Name> = values.iter().map(read).collect();
        reads.sort_unstable();
        reads.dedup();
        let count = homes.weights.len() as Name;
        let constants = [(has_shared_address, count), (code::has_factor(homes, step), count + 1)];
        for (_, name) in constants.into_iter().filter(|(is_read, _)| *is_read) {
            // Brought in once, and kept.
            if !self.operations.iter().any(|operation| operation.writes == [name]) {
                self.operations.push(Operation::move_to(name));
            }
            reads.push(name);
        }
        let mut writes = Vec::new();
        for value in step.results.iter().filter(|value| homes.read(**value) == Some(**value)) {
            let name = self.name(round, *value);
            self.now.insert(*value, name);
            writes.push(name);
        }
        self.operations.push(Operation::new(step, reads, writes));
    }
}
