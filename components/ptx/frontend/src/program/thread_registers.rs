//! The registers of a kernel's thread: an estimate that is computed on first use, since a run without time does not need it.

use std::sync::{Arc, OnceLock};

use super::call_tree::CallTree;
use super::kernel::Origin;
use crate::analysis::registers;
use crate::syntax::ast::{Function, Module};
use crate::syntax::parser;

/// The module of a kernel once more, for estimates of all its kernels.
pub(crate) type Reread = OnceLock<Option<Module>>;

/// The registers of a thread.
#[derive(Clone, Debug)]
pub struct ThreadRegisters {
    number: Arc<OnceLock<u32>>,
    /// The kernel and the functions that it can reach: their positions in the module, and the maximum of live registers in each.
    functions: Vec<(u32, u32)>,
    tree: CallTree,
    /// Bounds that the text sets.
    least: u32,
    most: u32,
}

impl ThreadRegisters {
    pub(crate) fn new(kernel: &Function, functions: Vec<(u32, u32)>, tree: CallTree) -> Self {
        let bound = kernel.max_ntid.map_or(255, |threads| {
            let threads = threads.iter().fold(1u32, |all, side| all.saturating_mul(*side));
            registers::bound(threads, kernel.min_ctas_per_sm.unwrap_or(1))
        });
        ThreadRegisters {
            number: Arc::default(),
            functions,
            least: if tree.has_calls() { registers::LEAST_WITH_CALLS } else { 0 },
            most: bound.min(kernel.max_registers.unwrap_or(255).max(registers::LEAST)),
            tree,
        }
    }

    /// Their number, within the bounds that the text sets.
    pub(crate) fn number(&self, origin: &Origin) -> u32 {
        *self.number.get_or_init(|| {
            let module = origin.reread.get_or_init(|| parser::parse(&origin.text).ok());
            let pressure = |&(index, live): &(u32, u32)| {
                let function = module.as_ref().and_then(|module| module.functions.get(index as usize));
                function.and_then(|function| registers::pressure(function, origin.target)).unwrap_or(live)
            };
            let pressures: Vec<u32> = self.functions.iter().map(pressure).collect();
            let allocated = registers::allocated(self.tree.together(&pressures), origin.target);
            allocated.max(self.least).min(self.most)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::program::Kernel;

    #[test]
    fn the_estimate_is_made_when_it_is_asked_for_and_once_for_all_copies() {
        let text = ".version 7.8\n.target sm_70\n.address_size 64\n.func leaf() { ret; }\n\
            .visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<3>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [a];\nld.global.u32 %r1, [%rd1];\n\
            add.u32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2;\ncall leaf;\nret;\n}\n";
        let kernel = Kernel::compile(text, None).unwrap();
        let copy = kernel.clone();
        assert!(kernel.origin.reread.get().is_none() && kernel.registers.number.get().is_none());
        assert_eq!(kernel.registers_per_thread(), 24, "the least of a kernel that calls functions");
        assert_eq!(copy.registers.number.get(), Some(&24));
        assert!(kernel.origin.reread.get().is_some_and(Option::is_some));
    }
}
