//! Facts of instructions that an SM needs to issue them, computed once for a kernel: the path and its cycles, banks, and registers as
//! bits.

use std::sync::Arc;

use counterpoint_ptx::{Class, Instruction, Kernel, Reach, RegisterSet};

use super::collector::{Operands, RegisterFile};
use super::units::Units;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gpu::sm) struct Fact {
    /// The registers that it reads or writes, and those that it writes: bits of their scoreboard ids modulo 64.
    pub(in crate::gpu::sm) needs: u64,
    pub(in crate::gpu::sm) sets: u64,
    pub(in crate::gpu::sm) operands: Operands,
    /// For how long its result is awaited, and its unit occupied.
    pub(in crate::gpu::sm) cycles: (u16, u16),
    /// Index of the instruction in the kernel.
    pub(in crate::gpu::sm) pc: u32,
    pub(in crate::gpu::sm) path: u8,
    /// Its class in the instruction mix.
    pub(in crate::gpu::sm) class: Class,
    /// Scope of the release that the instruction makes, a fence included.
    pub(in crate::gpu::sm) releases: Reach,
    /// Whether the instruction may be issued only when no register of its warp is awaited.
    pub(in crate::gpu::sm) drains: bool,
}

impl Fact {
    fn new(instruction: &Instruction, pc: usize, units: &Units, registers: &RegisterFile) -> Self {
        let bits = |set: &RegisterSet| set.as_slice().iter().fold(0, |bits, id| bits | 1 << (id % 64));
        let sets = bits(&instruction.writes);
        Fact {
            needs: bits(&instruction.reads) | sets,
            sets,
            operands: registers.operands(instruction.accesses),
            cycles: units.cycles_of(instruction),
            pc: pc as u32,
            path: units.path(instruction.unit, instruction.latency) as u8,
            class: instruction.class(),
            releases: instruction.order.releases,
            drains: instruction.drains(),
        }
    }
}

/// A kernel whose blocks are or were on the SM.
pub(in crate::gpu::sm) struct Program {
    pub(in crate::gpu::sm) kernel: Arc<Kernel>,
    facts: Box<[Fact]>,
    blocks: u32,
}

impl Program {
    #[inline]
    pub(in crate::gpu::sm) fn fact(&self, pc: u32) -> &Fact {
        &self.facts[pc as usize]
    }

    #[inline]
    pub(in crate::gpu::sm) fn instruction(&self, pc: u32) -> &Instruction {
        &self.kernel.instructions()[pc as usize]
    }
}

/// The kernels whose facts an SM keeps.
#[derive(Default)]
pub(in crate::gpu::sm) struct Programs(Vec<Program>);

impl Programs {
    /// Kernels that are kept without a block.
    const KEPT: usize = 16;

    /// A block of a kernel begins; gives the number of its program.
    pub(in crate::gpu::sm) fn begin(
        &mut self,
        kernel: &Arc<Kernel>,
        units: &Units,
        registers: &RegisterFile,
    ) -> u16 {
        let known = self.0.iter().position(|program| Arc::ptr_eq(&program.kernel, kernel));
        let number = known.unwrap_or_else(|| {
            let all = kernel.instructions().iter().enumerate();
            let facts = all.map(|(pc, instruction)| Fact::new(instruction, pc, units, registers)).collect();
            let program = Program { kernel: Arc::clone(kernel), facts, blocks: 0 };
            let idle = self.0.iter().position(|program| program.blocks == 0);
            if let Some(idle) = idle.filter(|_| self.0.len() >= Self::KEPT) {
                self.0[idle] = program;
                return idle;
            }
            self.0.push(program);
            self.0.len() - 1
        });
        self.0[number].blocks += 1;
        number as u16
    }

    pub(in crate::gpu::sm) fn end(&mut self, number: u16) {
        self.0[usize::from(number)].blocks -= 1;
    }

    #[inline]
    pub(in crate::gpu::sm) fn get(&self, number: u16) -> &Program {
        &self.0[usize::from(number)]
    }
}
