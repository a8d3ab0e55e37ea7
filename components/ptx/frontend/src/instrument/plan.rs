//! The ranges that the profilers of a kernel report, computed once for both profilers.

use std::collections::BTreeMap;

use super::bounds::{Boundaries, Bounds, CountedThrough, groups};
use super::graph::{Graph, Leaf, Number};
use super::values::Values;
use super::{Irregularity, Options, Semi, ends, words};
use crate::analysis::access::{Array, Class, KernelAccesses, MemoryAccess};
use crate::analysis::polynomial::Atom;
use crate::syntax::ast::{Function, Module, StorageSpace};
use crate::syntax::types::extent;

/// The arguments of an array's call.
pub(super) enum Extent {
    /// The whole array to which a parameter points.
    Whole(Number),
    Between {
        /// Start of the array.
        start: Number,
        /// The first byte.
        low: Number,
        /// One past the last byte.
        high: Number,
    },
    /// All of a variable of the module.
    Variable { name: String, bytes: u64 },
}

pub(super) struct ArrayPlan {
    pub(super) name: String,
    pub(super) extent: Extent,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// The range, in readable form.
    pub(super) range: String,
}

/// The computation of a kernel's profilers.
pub(super) struct Plan {
    pub(super) graph: Graph,
    pub(super) counted: Vec<CountedThrough>,
    pub(super) arrays: Vec<ArrayPlan>,
}

impl Plan {
    /// Plans the profilers of a kernel; the error is the reason for which it can have none.
    pub(super) fn new(
        module: &Module,
        kernel: &Function,
        accesses: &KernelAccesses,
        options: &Options,
    ) -> Result<Self, Irregularity> {
        let bad = match accesses.class {
            Class::Regular => false,
            Class::Semi => options.semi == Semi::Irregular,
            Class::Irregular => true,
        };
        if let (true, Some((line, reason))) = (bad, &accesses.reason) {
            let steps = &accesses.affine.ssa.steps;
            let worst =
                accesses.global().find(|access| access.line == *line && access.class == accesses.class);
            let call = || steps.iter().position(|step| step.line == *line && step.opcode.starts_with("call"));
            let pc = worst.map(|access| access.pc).or_else(|| call().map(|pc| pc as u32));
            return Err(Irregularity::new(module, kernel, pc.unwrap_or_default(), reason.clone()));
        }
        if let Some(ends::Parting { pc, barrier }) = ends::parting(&accesses.affine.ssa) {
            let reason =
                format!("threads may end from here on while others come to the barrier at line {barrier}");
            return Err(Irregularity::new(module, kernel, pc, reason));
        }
        let mut arrays: BTreeMap<&Array, Vec<&MemoryAccess>> = BTreeMap::new();
        for access in accesses.global() {
            if let Some(array) = &access.array {
                arrays.entry(array).or_default().push(access);
            }
        }
        let mut bounds = Boundaries::new(Values { affine: &accesses.affine, graph: Graph::default() });
        let mut plans = Vec::new();
        for (array, accesses_to) in arrays {
            let reads = accesses_to.iter().any(|access| access.reads);
            let writes = accesses_to.iter().any(|access| access.writes);
            let (name, extent, range) = match array {
                Array::Symbol(symbol) => {
                    let bytes = global_bytes(module, symbol).ok_or_else(|| {
                        let reason = format!("the size of `{symbol}` is not known here");
                        Irregularity::new(module, kernel, accesses_to[0].pc, reason)
                    })?;
                    let words = format!("all of its {bytes} bytes");
                    (symbol.clone(), Extent::Variable { name: symbol.clone(), bytes }, words)
                }
                Array::Param(index) => {
                    let pointer = Atom::Param { index: *index, offset: 0, bytes: 8 };
                    let groups = groups(&accesses.affine, &accesses_to, &pointer);
                    let told = bounds.of_array(&groups);
                    let graph = &mut bounds.values.graph;
                    let start = graph.leaf(Leaf::Param(*index, 8));
                    let (extent, words) = match told {
                        Bounds::Whole => (Extent::Whole(start), words::WHOLE.to_owned()),
                        Bounds::Between(low, high) => {
                            // An address before all of memory must not be taken for one behind it.
                            let zero = graph.constant(0);
                            let (low, high) = (graph.add(start, low), graph.add(start, high));
                            let (low, high) = (graph.max(low, zero), graph.max(high, zero));
                            let words = words::ranges(kernel, &accesses.affine, &groups);
                            (Extent::Between { start, low, high }, words)
                        }
                    };
                    let name = kernel.params[*index as usize].name.clone();
                    (name, extent, words)
                }
            };
            plans.push(ArrayPlan { name, extent, reads, writes, range });
        }
        let Boundaries { values, counted, .. } = bounds;
        Ok(Plan { graph: values.graph, counted, arrays: plans })
    }

    /// The numbers that the calls and loops use; a number that is used several times occurs several times.
    pub(super) fn roots(&self) -> Vec<Number> {
        fn of_loop(counted: &CountedThrough, into: &mut Vec<Number>) {
            into.push(counted.last);
            into.extend(counted.results.iter().map(|(_, _, value)| *value));
            counted.inner.iter().for_each(|inner| of_loop(inner, into));
        }
        let mut roots = Vec::new();
        self.counted.iter().for_each(|counted| of_loop(counted, &mut roots));
        for array in &self.arrays {
            match array.extent {
                Extent::Whole(start) => roots.push(start),
                Extent::Between { start, low, high } => roots.extend([start, low, high]),
                Extent::Variable { .. } => {}
            }
        }
        roots
    }
}

/// The size of a variable of the module in global memory, if the module says it.
fn global_bytes(module: &Module, name: &str) -> Option<u64> {
    let variable = module.variables.iter().find(|variable| variable.name == name)?;
    (variable.space == StorageSpace::Global)
        .then(|| extent(variable).ok())
        .flatten()
        .map(|(size, _)| size)
        .filter(|size| *size > 0)
}
