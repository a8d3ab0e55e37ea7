//! What a module takes of device memory: its variables, its constants and its code, as bytes.
//!
//! Every kernel of a module has the same variables at the same offsets, so any of them tells what they are. Where they
//! lie is up to whoever loads the module.

use crate::program::{Program, Symbol};

/// Where the variables of a module begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariableBases {
    /// Those in global memory.
    pub globals: u64,
    /// Those in constant memory.
    pub constants: u64,
}

impl Program {
    /// Bytes of an instruction in memory: what GPGPU-Sim counts for PTX (`ptx_instruction::m_inst_size`, ptx_ir.cc).
    pub const INSTRUCTION_BYTES: u64 = 8;

    /// Bytes of the kernel's code; the instruction with number `pc` begins at `pc * INSTRUCTION_BYTES`.
    pub fn code_bytes(&self) -> u64 {
        self.instructions.len() as u64 * Program::INSTRUCTION_BYTES
    }

    /// Bytes of the module's `.global` variables.
    pub fn global_bytes(&self) -> u64 {
        extent(&self.global_symbols)
    }

    /// Bytes of the module's `.const` variables.
    pub fn constant_bytes(&self) -> u64 {
        extent(&self.constant_symbols)
    }

    /// What the module's `.global` variables hold at first.
    pub fn global_image(&self, bases: VariableBases) -> Vec<u8> {
        image(&self.global_symbols, bases)
    }

    /// Puts the addresses among the first values of the `.global` variables over what these hold, which came about where
    /// the variables lay elsewhere.
    pub fn point(&self, bytes: &mut [u8], bases: VariableBases) {
        for symbol in &self.global_symbols {
            let initial = symbol.initial_bytes(bases.globals, bases.constants);
            for address in &symbol.addresses {
                let (from, to) = (address.at as usize, (symbol.offset + address.at) as usize);
                bytes[to..to + 8].copy_from_slice(&initial[from..from + 8]);
            }
        }
    }

    /// What the module's `.const` variables hold.
    pub fn constant_image(&self, bases: VariableBases) -> Vec<u8> {
        image(&self.constant_symbols, bases)
    }
}

fn extent(symbols: &[Symbol]) -> u64 {
    symbols.iter().map(|symbol| symbol.offset + symbol.size).max().unwrap_or(0)
}

fn image(symbols: &[Symbol], bases: VariableBases) -> Vec<u8> {
    let mut bytes = vec![0; extent(symbols) as usize];
    for symbol in symbols {
        let initial = symbol.initial_bytes(bases.globals, bases.constants);
        bytes[symbol.offset as usize..][..initial.len()].copy_from_slice(&initial);
    }
    bytes
}
