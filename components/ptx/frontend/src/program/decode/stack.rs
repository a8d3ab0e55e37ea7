//! Memory of a thread's stack (PTX ISA 9.7.17): `alloca`, `stacksave` and `stackrestore`.

use super::instruction::Line;
use super::operands::Wanted;
use crate::isa::forms::StackOp;
use crate::program::Action;
use crate::syntax::ast::OperandKind;
use crate::syntax::error::PtxError;

/// The least alignment, which the manual guarantees, and the largest that it admits.
const ALIGNMENTS: [u64; 2] = [8, 1 << 23];

impl Line<'_, '_, '_> {
    pub(super) fn stack(&mut self, operation: StackOp) -> Result<(), PtxError> {
        self.decoder.stack = true;
        self.out.action = Action::Stack(operation);
        let element = self.element();
        let wanted = Wanted::exactly(element);
        self.out.memory.wide_value = element == "u64";
        let operands = self.operands(match operation {
            StackOp::Allocate => 2..=3,
            StackOp::Save | StackOp::Restore => 1..=1,
        })?;
        let (first, place) = (&operands[0], operands[0].span.place);
        if operation == StackOp::Restore {
            let is_register = match &first.kind {
                OperandKind::Name(name) => self.decoder.find_register(name, place)?.is_some(),
                _ => false,
            };
            if !is_register {
                return Err(self.misfit(first, "a register that `stacksave` has written"));
            }
            self.out.sources[0] = self.read(first, wanted)?;
            return Ok(());
        }
        self.out.destinations[0] = self.write(&first.kind, place, wanted)?.id;
        if operation == StackOp::Save {
            return Ok(());
        }
        self.out.sources[0] = self.read(&operands[1], wanted)?;
        let [least, most] = ALIGNMENTS;
        let asked = match operands.get(2).map(|operand| &operand.kind) {
            None => least,
            Some(OperandKind::Integer(asked)) => *asked,
            Some(_) => 0,
        };
        if !asked.is_power_of_two() || asked > most {
            return Err(self.misfit(&operands[2], &format!("a power of 2 up to {most}")));
        }
        self.out.offset = asked.max(least) as i64;
        Ok(())
    }
}
