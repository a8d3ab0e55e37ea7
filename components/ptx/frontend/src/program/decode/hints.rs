//! Hints, whose operands are read and which change no value, and `nanosleep`.

use super::instruction::Line;
use super::operands::Wanted;
use crate::isa::LaneOp;
use crate::program::Action;
use crate::syntax::ast::OperandKind;
use crate::syntax::error::PtxError;

impl Line<'_, '_, '_> {
    pub(super) fn hint(&mut self) -> Result<(), PtxError> {
        for operand in self.operands(0..=2)? {
            match &operand.kind {
                OperandKind::Address(name, _) => {
                    let place = operand.span.place;
                    if let Some(register) = self.decoder.find_register(name, place)? {
                        self.check(name, register, Wanted::at_least("u32"), place)?;
                        self.effects.reads.push(register.id);
                    } else if self.decoder.storage.find(name).is_none() {
                        return Err(self.decoder.undeclared(name, place));
                    }
                }
                OperandKind::Absolute(_) | OperandKind::Integer(_) => {}
                _ => return Err(self.misfit(operand, "an address in brackets, or a number")),
            }
        }
        self.out.action = Action::Hint;
        Ok(())
    }

    /// A policy is opaque: it is 0 here.
    pub(super) fn policy(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(1..=2)?;
        if let Some(fraction) = operands.get(1) {
            self.read(fraction, Wanted::exactly("f32"))?;
        }
        let place = operands[0].span.place;
        self.out.destinations[0] = self.write(&operands[0].kind, place, Wanted::exactly("b64"))?.id;
        self.out.sources[0] = self.decoder.constant(0, true, place)?;
        self.out.op = LaneOp::MovB64;
        self.out.action = Action::LaneWide;
        Ok(())
    }

    pub(super) fn sleep(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(1..=1)?;
        self.out.sources[0] = self.read(&operands[0], Wanted::exactly("u32"))?;
        self.out.action = Action::Sleep;
        Ok(())
    }
}
