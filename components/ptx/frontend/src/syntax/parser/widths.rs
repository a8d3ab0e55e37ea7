//! The width of addresses in modules that do not say it: `.address_size` came with PTX 2.3.
//!
//! Before, it is that of the registers in which accesses to global memory have their addresses. Shared and local memory may be
//! addressed with 32 bits in any module.

use std::collections::BTreeMap;

use crate::syntax::ast::{Module, OperandKind, Statement, StatementKind, StorageSpace, Variable};
use crate::syntax::error::{PtxError, SourcePosition};
use crate::syntax::types::element_size;

/// Whether modules of a version declare the width of their addresses.
pub(super) fn is_told(version: (u32, u32)) -> bool {
    version >= (2, 3)
}

/// The error for a module that has addresses of 32 bits.
pub(super) fn check(module: &Module) -> Result<(), PtxError> {
    for body in module.functions.iter().filter_map(|function| function.body.as_deref()) {
        let mut registers = BTreeMap::new();
        let mut addresses = Vec::new();
        collect(body, &mut registers, &mut addresses);
        for (name, place) in addresses {
            let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
            let declared = registers.get(name).or_else(|| registers.get(stem));
            if declared.is_some_and(|register| element_size(&register.element) == Some(4)) {
                let message = format!("`{name}` is an address of 32 bits: this is a 32-bit module");
                return Err(PtxError::new(place, message).expecting("addresses of 64 bits"));
            }
        }
    }
    Ok(())
}

/// The registers that statements declare, and those that have addresses of global memory.
fn collect<'m>(
    statements: &'m [Statement],
    registers: &mut BTreeMap<&'m str, &'m Variable>,
    addresses: &mut Vec<(&'m str, SourcePosition)>,
) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Block(inner) => collect(inner, registers, addresses),
            StatementKind::Variable(variable) if variable.space == StorageSpace::Register => {
                registers.insert(&variable.name, variable);
            }
            StatementKind::Instruction(instruction) => {
                let mut words = instruction.opcode.split('.');
                let accesses = matches!(words.next(), Some("ld" | "ldu" | "st" | "atom" | "red"));
                if accesses && !words.any(|word| matches!(word, "shared" | "local" | "param")) {
                    addresses.extend(instruction.operands.iter().filter_map(|operand| match &operand.kind {
                        OperandKind::Address(name, _) => Some((name.as_str(), operand.span.place)),
                        _ => None,
                    }));
                }
            }
            _ => {}
        }
    }
}
