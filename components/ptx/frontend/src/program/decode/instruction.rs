//! Decoding of one instruction as written to one decoded instruction.

use super::{Declared, Decoder, Register, RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::isa::forms::{Form, FormRow};
use crate::isa::{self, Known, Latency, Order, Scope, Unit, spelling, unsupported};
use crate::program::{Action, Combine, Instruction};
use crate::syntax::ast::{self, Operand, Span};
use crate::syntax::error::{PtxError, SUGGESTIONS, SourcePosition, nearest};
use crate::syntax::types::is_type;

impl Decoder<'_> {
    pub(super) fn instruction(&mut self, source: &ast::Instruction, span: Span) -> Result<(), PtxError> {
        let mut out = blank(span);
        let mut effects = Effects::default();
        if let Some(guard) = &source.guard {
            let register = self.predicate(&guard.name, guard.span.place)?;
            out.guard = register;
            out.guard_negated = guard.negated;
            effects.reads.push(register);
            effects.guarded = true;
        }
        let opcode = spelling::canonical(&source.opcode);
        let mut line = Line {
            decoder: self,
            source,
            opcode: &opcode,
            span,
            form: None,
            out: &mut out,
            effects: &mut effects,
            after: Vec::new(),
            expansion: Vec::new(),
        };
        line.decode()?;
        let after = std::mem::take(&mut line.after);
        // A product of matrices has put those into its sets that fit.
        if out.action != Action::Matrix {
            effects.reads.iter().for_each(|id| out.reads.insert(*id));
            effects.writes.iter().for_each(|id| out.writes.insert(*id));
        }
        effects.late = matches!(out.action, Action::Memory | Action::Texture(_));
        self.push(out, effects);
        for (instruction, effects) in after {
            self.push(instruction, effects);
        }
        Ok(())
    }

    pub(super) fn predicate(&mut self, name: &str, place: SourcePosition) -> Result<u16, PtxError> {
        match self.find_register(name, place)? {
            Some(Register { id, kind: RegisterType::Predicate, .. }) => Ok(id),
            Some(_) => {
                Err(PtxError::new(place, format!("`{name}` is not a predicate"))
                    .expecting("a `.pred` register"))
            }
            None => Err(self.undeclared(name, place)),
        }
    }

    /// The error for a name that nothing declares, with the nearest that something does.
    pub(super) fn undeclared(&self, name: &str, place: SourcePosition) -> PtxError {
        if self.storage.external.contains(name) {
            let message = format!("`{name}` is defined in another module, and there is no linker");
            return PtxError::unsupported(place, message);
        }
        if let Some(why) = unsupported::register_reason(name) {
            return PtxError::unsupported(place, format!("`{name}` is not supported: {why}"));
        }
        let error = PtxError::new(place, format!("`{name}` is not declared"));
        if self.errors.len() >= SUGGESTIONS {
            return error;
        }
        let mut known = self.storage.names();
        for scope in &self.scopes {
            known.extend(scope.frame.keys().cloned());
            for (declared, Declared { range, .. }) in &scope.declared {
                known.push(match range {
                    Some(count) => format!("{declared}{}", count.saturating_sub(1)),
                    None => declared.clone(),
                });
            }
        }
        nearest(error, name, known.iter())
    }
}

pub(super) struct Line<'d, 's, 'm> {
    pub(super) decoder: &'d mut Decoder<'m>,
    pub(super) source: &'s ast::Instruction,
    /// Its opcode in the canonical spelling.
    pub(super) opcode: &'s str,
    pub(super) span: Span,
    /// Its row, if it is not lane-wise.
    form: Option<&'static FormRow>,
    pub(super) out: &'d mut Instruction,
    pub(super) effects: &'d mut Effects,
    /// Instructions that it is made of, while they are collected.
    pub(super) expansion: Vec<(Instruction, Effects)>,
    /// Instructions that follow it without a text of their own.
    pub(super) after: Vec<(Instruction, Effects)>,
}

impl<'s> Line<'_, 's, '_> {
    pub(super) fn error(&self, message: impl Into<String>) -> PtxError {
        PtxError::new(self.span.place, message)
    }

    pub(super) fn operands(&self, count: std::ops::RangeInclusive<usize>) -> Result<&'s [Operand], PtxError> {
        let operands = &self.source.operands;
        if count.contains(&operands.len()) {
            return Ok(operands);
        }
        let opcode = &self.source.opcode;
        let wanted = match self.form {
            Some(row) => format!("`{opcode} {}`", row.operands).replace(" `", "`"),
            None if count.start() == count.end() => format!("{} operands", count.start()),
            None => format!("{} to {} operands", count.start(), count.end()),
        };
        Err(self.error(format!("`{opcode}` has {} operands here", operands.len())).expecting(wanted))
    }

    pub(super) fn unknown(&self) -> PtxError {
        let opcode = &self.source.opcode;
        if let Some(why) = unsupported::reason(self.opcode) {
            return self.unsupported(why);
        }
        let error = self.error(format!("unknown instruction `{opcode}`"));
        if self.decoder.errors.len() >= SUGGESTIONS {
            return error;
        }
        match isa::similar(self.opcode) {
            Some(near) => error.expecting(format!("something like `{near}`")),
            None => error,
        }
    }

    /// The error for an instruction that the simulator does not support.
    fn unsupported(&self, why: &str) -> PtxError {
        let opcode = &self.source.opcode;
        PtxError::unsupported(self.span.place, format!("`{opcode}` is not supported: {why}"))
    }

    /// The error for a form that PTX or the simulator does not have, of an instruction that both have.
    pub(super) fn no_such_form(&self) -> PtxError {
        self.unsupported(unsupported::reason(self.opcode).unwrap_or("this form is not simulated"))
    }

    /// The error for a modifier that the instruction does not have, or that is not allowed at its position.
    pub(super) fn unknown_modifier(&self, word: &str) -> PtxError {
        match unsupported::reason(self.opcode) {
            Some(why) => self.unsupported(why),
            None => self.error(format!("`.{word}` is unknown or misplaced in `{}`", self.source.opcode)),
        }
    }

    /// The last type among the opcode's words.
    pub(super) fn element(&self) -> &'s str {
        self.opcode.rsplit('.').find(|word| is_type(word)).unwrap_or("")
    }

    pub(super) fn book(&mut self, action: Action, unit: Unit, latency: Latency) {
        self.out.action = action;
        self.out.unit = unit;
        self.out.latency = latency;
    }

    fn decode(&mut self) -> Result<(), PtxError> {
        let opcode = self.opcode;
        let row = match isa::find(opcode).ok_or_else(|| self.unknown())? {
            Known::Lane(row) => {
                return match opcode.split('.').next() {
                    Some("mov") => self.mov(row),
                    Some("setp" | "set") => self.compare(row),
                    _ => self.lanes(row),
                };
            }
            Known::Form(row) => row,
        };
        self.form = Some(row);
        (self.out.unit, self.out.latency) = (row.unit, row.latency);
        match row.form {
            Form::Load => self.load(),
            Form::Store => self.store(),
            Form::Atomic => self.atomic(),
            Form::Predicate(operation) => self.predicate_logic(operation),
            Form::ToGeneric(base) => self.generic(base, Action::ToGeneric),
            Form::FromGeneric(base) => self.generic(base, Action::FromGeneric),
            Form::InSpace(base) => self.in_space(base),
            Form::Warp(op) => self.warp_wide(op),
            Form::Barrier { waits } => self.barrier(waits),
            Form::BarrierReduction(reduction) => self.barrier_reduction(reduction),
            Form::Fence => {
                self.out.order = Order::of_fence(opcode);
                self.out.scope = Scope::of_fence(opcode);
                self.alone(Action::Fence)
            }
            Form::Branch => self.branch(),
            Form::IndexedBranch => self.indexed_branch(),
            Form::Return => self.return_(),
            Form::Exit => self.alone(Action::Exit),
            Form::Trap => self.alone(Action::Trap),
            Form::Breakpoint => self.alone(Action::Breakpoint),
            Form::Hint => self.hint(),
            Form::Policy => self.policy(),
            Form::Sleep => self.sleep(),
            Form::Call => self.call(),
            Form::Product => self.mma(),
            Form::FragmentProduct => self.wmma(),
            Form::Fragment { stores } => self.fragment(stores),
            Form::MatrixRows { stores } => self.matrix_rows(stores),
            Form::Transpose => self.transpose(),
            Form::Copy => self.copy(),
            Form::CopyGroup { waits } => self.copy_group(waits),
            Form::ArriveAfterCopies => self.arrive_after_copies(),
            Form::BarrierInMemory => self.barrier_in_memory(),
            Form::Texture => self.texture(),
            Form::Surface(access) => self.surface(access),
            Form::SurfaceQuery => self.surface_query(),
            Form::Stack(operation) => self.stack(operation),
            Form::MoveVector => self.mov_vector(),
            Form::MovePair => self.mov_pair(),
            Form::Video => self.video(),
            Form::LogicAnd => self.logic_and_truth(Combine::And),
            Form::LogicOr => self.logic_and_truth(Combine::Or),
        }
    }

    /// An instruction without operands.
    fn alone(&mut self, action: Action) -> Result<(), PtxError> {
        self.operands(0..=0)?;
        self.out.action = action;
        Ok(())
    }
}
