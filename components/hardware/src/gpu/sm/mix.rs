//! The instruction mix: warp instructions by their class, counted at issue.

use std::array::from_fn;

use counterpoint_framework::model::{Counter, Stat, StatLabel, StatVisitor};
use counterpoint_ptx::Class;

/// Warp instructions by class. Together they are all that are issued.
pub(super) struct InstructionMix([Counter; Class::COUNT]);

impl Default for InstructionMix {
    fn default() -> Self {
        InstructionMix(from_fn(|_| Counter::default()))
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

impl InstructionMix {
    #[inline]
    pub(super) fn count(&self, class: Class) {
        self.0[class as usize].add(1);
    }
}

impl Stat for InstructionMix {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        visitor.part(label.name, &mut |part| {
            for (class, name, doc) in CLASSES {
                let label = StatLabel { name, unit: label.unit, doc };
                self.0[class as usize].visit(label, part);
            }
        });
    }

    fn absorb(&self, other: &Self) {
        self.0.iter().zip(&other.0).for_each(|(own, other)| own.absorb(other));
    }
}

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
