//! Counts of issue: uses of issue slots, and instructions by their class, for each place of a block on the SM.
//!
//! An event is counted once, at the place of its block. The counts of a block are those of its place since it began; the statistics of the
//! SM are the sums over its places.

use counterpoint_framework::model::{Counter, Stat, StatLabel, StatVisitor, Stats};
use counterpoint_protocols::launch::{CtaCounts, IssueSlots};
use counterpoint_ptx::Class;

/// The most places of an SM (`params.rs`).
const PLACES: usize = 32;

/// Counts of a place.
#[derive(Default)]
pub(super) struct PlaceCounts {
    pub(super) slots: IssueSlots,
    classes: [Counter; Class::COUNT],
    threads: Counter,
    results: Counter,
    result_cycles: Counter,
}

impl PlaceCounts {
    /// An instruction is issued with a number of lanes.
    #[inline(always)]
    pub(super) fn count(&self, class: Class, lanes: u64) {
        self.classes[class as usize].add(1);
        self.threads.add(lanes);
    }

    /// An instruction that is no access to memory has its result a number of cycles after its issue.
    #[inline(always)]
    pub(super) fn count_result(&self, cycles: u64) {
        self.results.add(1);
        self.result_cycles.add(cycles);
    }

    fn all_classes(&self) -> u64 {
        self.classes.iter().map(Counter::get).sum()
    }

    /// The counts so far, of all blocks that were at the place.
    pub(super) fn so_far(&self) -> CtaCounts {
        let memory = CLASSES.iter().filter(|(class, ..)| class.is_memory());
        CtaCounts {
            warp_insn: self.all_classes(),
            thread_insn: self.threads.get(),
            memory_insn: memory.map(|(class, ..)| self.classes[*class as usize].get()).sum(),
            alu_results: self.results.get(),
            alu_cycles: self.result_cycles.get(),
            slots: self.slots.counts(),
            ..CtaCounts::default()
        }
    }
}

/// Counts of all places, which are shown as statistics of the SM.
#[derive(Default)]
pub(super) struct Issued([PlaceCounts; PLACES]);

impl Issued {
    #[inline(always)]
    pub(super) fn of(&self, place: usize) -> &PlaceCounts {
        &self.0[place % PLACES]
    }
}

impl Stats for Issued {
    fn visit(&self, visitor: &mut dyn StatVisitor) {
        let slots = IssueSlots::default();
        self.0.iter().for_each(|place| slots.absorb(&place.slots));
        visitor.part("issue_slots", &mut |part| slots.visit(part));
        let show = |name, doc, count: u64, visitor: &mut dyn StatVisitor| {
            let counter = Counter::default();
            counter.add(count);
            counter.visit(StatLabel { name, unit: "instructions", doc }, visitor);
        };
        let sum = |of: &dyn Fn(&PlaceCounts) -> u64| self.0.iter().map(of).sum();
        let doc = "Warp instructions issued, those without an active lane included.";
        show("warp_insn", doc, sum(&PlaceCounts::all_classes), visitor);
        let doc = "Thread instructions executed; lanes whose guard is false do not count.";
        show("gpu_sim_insn", doc, sum(&|place| place.threads.get()), visitor);
        visitor.part("mix", &mut |part| {
            for (class, name, doc) in CLASSES {
                show(name, doc, sum(&|place| place.classes[class as usize].get()), part);
            }
        });
    }

    fn absorb(&self, other: &Self) {
        for (own, other) in self.0.iter().zip(&other.0) {
            own.slots.absorb(&other.slots);
            own.classes.iter().zip(&other.classes).for_each(|(own, other)| own.absorb(other));
            own.threads.absorb(&other.threads);
            own.results.absorb(&other.results);
            own.result_cycles.absorb(&other.result_cycles);
        }
    }
}

/// The classes in the order in which they are shown, with names and meanings.
const CLASSES: [(Class, &str, &str); Class::COUNT] = [
    (Class::Integer, "int", "Integer arithmetic, logic, moves, conversions and shuffles."),
    (Class::Single, "fp32", "Single precision."),
    (Class::Double, "fp64", "Double precision."),
    (Class::Special, "sfu", "Approximations."),
    (Class::GlobalLoad, "global_loads", "Loads from global memory, generic addresses included."),
    (Class::GlobalStore, "global_stores", "Stores to global memory, generic addresses included."),
    (
        Class::GlobalAtomic,
        "global_atomics",
        "Atomics and reductions in global memory, generic addresses included.",
    ),
    (Class::SharedLoad, "shared_loads", "Loads from shared memory."),
    (Class::SharedStore, "shared_stores", "Stores to shared memory."),
    (Class::SharedAtomic, "shared_atomics", "Atomics and reductions in shared memory."),
    (Class::LocalLoad, "local_loads", "Loads from local memory."),
    (Class::LocalStore, "local_stores", "Stores to local memory."),
    (Class::ConstantLoad, "constant_loads", "Loads from constant memory."),
    (Class::ParameterLoad, "parameter_loads", "Loads of kernel parameters."),
    (Class::Texture, "texture_fetches", "Texture fetches."),
    (Class::Branch, "branches", "Branches, calls and returns."),
    (Class::Barrier, "barrier_insn", "Barriers."),
    (Class::Fence, "fences", "Memory fences."),
    (Class::Exit, "exits", "Exits."),
    (Class::Matrix, "matrix", "Products of matrices."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_shown_once() {
        let mut places: Vec<usize> = CLASSES.iter().map(|(class, ..)| *class as usize).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..Class::COUNT));
    }
}
