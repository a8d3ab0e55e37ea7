//! One instruction as written to one decoded instruction.

use super::call::code_address;
use super::moves::special;
use super::{Class, Decoder, Register, RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::ast::{self, Operand, OperandKind, Span, StorageSpace};
use crate::error::{Place, PtxError, nearest};
use crate::isa::forms::{Form, FormRow};
use crate::isa::{self, Known, Latency, Unit};
use crate::program::{Action, Instruction, NONE};

/// How a value is read or written, for checking register widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// The register must have exactly these bits.
    Exactly(u8),
    /// Or more: loads, stores and conversions allow it.
    AtLeast(u8),
}

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
        let mut line = Line {
            decoder: self,
            source,
            span,
            form: None,
            out: &mut out,
            effects: &mut effects,
            after: Vec::new(),
        };
        line.decode()?;
        let after = std::mem::take(&mut line.after);
        for &id in &effects.reads {
            out.reads.insert(id);
        }
        for &id in &effects.writes {
            out.writes.insert(id);
        }
        effects.late = out.action == Action::Memory;
        self.push(out, effects);
        for (instruction, effects) in after {
            self.push(instruction, effects);
        }
        Ok(())
    }

    fn predicate(&mut self, name: &str, place: Place) -> Result<u16, PtxError> {
        match self.find_register(name, place)? {
            Some(Register { id, kind: RegisterType::Predicate, .. }) => Ok(id),
            Some(_) => {
                Err(PtxError::new(place, format!("`{name}` is no predicate")).expecting("a `.pred` register"))
            }
            None => Err(self.undeclared(name, place)),
        }
    }

    /// The error for a name that nothing declares, with the nearest that something does.
    pub(super) fn undeclared(&self, name: &str, place: Place) -> PtxError {
        let mut known = self.storage.names();
        for scope in &self.scopes {
            known.extend(scope.frame.keys().cloned());
            for (declared, (_, _, range)) in &scope.declared {
                known.push(match range {
                    Some(count) => format!("{declared}{}", count.saturating_sub(1)),
                    None => declared.clone(),
                });
            }
        }
        nearest(PtxError::new(place, format!("`{name}` is not declared")), name, known.iter())
    }
}

/// One line being decoded.
pub(super) struct Line<'d, 's, 'm> {
    pub(super) decoder: &'d mut Decoder<'m>,
    pub(super) source: &'s ast::Instruction,
    pub(super) span: Span,
    /// Its row, if it is not lane-wise.
    form: Option<&'static FormRow>,
    pub(super) out: &'d mut Instruction,
    pub(super) effects: &'d mut Effects,
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
        let error = self.error(format!("unknown instruction `{opcode}`"));
        match isa::similar(opcode) {
            Some(near) => error.expecting(format!("something like `{near}`")),
            None => error,
        }
    }

    pub(super) fn book(&mut self, action: Action, unit: Unit, latency: Latency) {
        self.out.action = action;
        self.out.unit = unit;
        self.out.latency = latency;
    }

    fn decode(&mut self) -> Result<(), PtxError> {
        let opcode = self.source.opcode.as_str();
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
            Form::Fence => self.alone(Action::Fence),
            Form::Branch => self.branch(),
            Form::Return => self.return_(),
            Form::Exit => self.alone(Action::Exit),
            Form::Trap => self.alone(Action::Trap),
            Form::Call => self.call(),
            Form::Texture { dimensions, floats } => self.texture(dimensions, floats),
        }
    }

    /// An instruction without operands.
    fn alone(&mut self, action: Action) -> Result<(), PtxError> {
        self.operands(0..=0)?;
        self.out.action = action;
        Ok(())
    }

    // Operands.

    pub(super) fn read(&mut self, operand: &Operand, width: Width) -> Result<u16, PtxError> {
        self.read_kind(&operand.kind, operand.span.place, width)
    }

    pub(super) fn read_kind(
        &mut self,
        kind: &OperandKind,
        place: Place,
        width: Width,
    ) -> Result<u16, PtxError> {
        let bits = match width {
            Width::Exactly(bits) | Width::AtLeast(bits) => bits,
        };
        let wide = bits == 64;
        match kind {
            OperandKind::Integer(value) => {
                // A constant is cut to the type: -1 in 16 bits must not differ from 65535.
                let value = if bits < 32 { value & ((1 << bits) - 1) } else { *value };
                self.decoder.constant(value, wide, place)
            }
            OperandKind::Float32(value) if bits == 32 => self.decoder.constant(*value as u64, false, place),
            OperandKind::Float64(value) if wide => self.decoder.constant(*value, true, place),
            OperandKind::Float64(value) if bits == 32 => {
                self.decoder.constant((f64::from_bits(*value) as f32).to_bits() as u64, false, place)
            }
            OperandKind::Name(name) => {
                if let Some(register) = self.decoder.find_register(name, place)? {
                    self.check_width(name, register, width, place)?;
                    self.effects.reads.push(register.id);
                    return Ok(register.id);
                }
                if let Some(part) = self.decoder.find_frame(name) {
                    return self.decoder.constant(u64::from(part.offset), wide, place);
                }
                let entry = self.decoder.entry;
                match self.decoder.storage.find(name) {
                    Some((StorageSpace::Shared | StorageSpace::Param, offset)) => {
                        self.decoder.constant(offset, wide, place)
                    }
                    Some((StorageSpace::Local, offset)) if entry => {
                        self.decoder.constant(offset, wide, place)
                    }
                    Some(_) => Err(PtxError::new(
                        place,
                        format!("the address of `{name}` must be moved to a register first"),
                    )
                    .expecting("`mov.u64`")),
                    None if special(name).is_some() => {
                        Err(PtxError::new(place, format!("`{name}` can only be moved to a register"))
                            .expecting("`mov`"))
                    }
                    None => match self.decoder.signatures.get(name).map(|signature| signature.index) {
                        Some(Some(index)) if wide => {
                            self.decoder.taken.push(index);
                            self.decoder.constant(code_address(index), wide, place)
                        }
                        Some(_) => Err(PtxError::new(
                            place,
                            format!("`{name}` is a function without an address here"),
                        )
                        .expecting("a function with a body, and 64 bits for its address")),
                        None => Err(self.decoder.undeclared(name, place)),
                    },
                }
            }
            OperandKind::Offset(name, plus) => match self.decoder.storage.find(name) {
                Some((home, offset))
                    if home == StorageSpace::Shared || home == StorageSpace::Local && self.decoder.entry =>
                {
                    self.decoder.constant(offset.wrapping_add(*plus as u64), wide, place)
                }
                _ => Err(PtxError::new(place, format!("`{name}` is no variable whose address is constant"))),
            },
            _ => Err(PtxError::new(place, "this operand does not fit here")
                .expecting(format!("a register or constant of {bits} bits"))),
        }
    }

    pub(super) fn check_width(
        &self,
        name: &str,
        register: Register,
        width: Width,
        place: Place,
    ) -> Result<(), PtxError> {
        let have = register.kind.bits();
        let (fits, wanted) = match width {
            Width::Exactly(bits) => (have == bits, format!("{bits} bits")),
            Width::AtLeast(bits) => (have >= bits, format!("{bits} bits or more")),
        };
        if register.kind == RegisterType::Predicate {
            return Err(PtxError::new(place, format!("`{name}` is a predicate")).expecting(wanted));
        }
        if fits {
            return Ok(());
        }
        Err(PtxError::new(place, format!("`{name}` has {have} bits")).expecting(wanted))
    }

    pub(super) fn write(
        &mut self,
        kind: &OperandKind,
        place: Place,
        width: Width,
    ) -> Result<Register, PtxError> {
        let OperandKind::Name(name) = kind else {
            return Err(PtxError::new(place, "a destination must be a register"));
        };
        match self.decoder.find_register(name, place)? {
            Some(register) => {
                self.check_width(name, register, width, place)?;
                self.effects.writes.push(register.id);
                Ok(register)
            }
            None => Err(self.decoder.undeclared(name, place)),
        }
    }

    /// Whether a register's type agrees with that of an instruction: `float` for `.f32`, never for `.u32`.
    pub(super) fn check_class(&mut self, operand: &Operand, element: &str) -> Result<(), PtxError> {
        let place = operand.span.place;
        let OperandKind::Name(name) = &operand.kind else { return Ok(()) };
        let Some(register) = self.decoder.find_register(name, place)? else { return Ok(()) };
        let (is, expected) = match (Class::of(element), register.class) {
            (Class::Integer, Class::Float) => ("a floating-point register", "an integer or untyped one"),
            (Class::Float, Class::Integer) => ("an integer register", "a floating-point or untyped one"),
            _ => return Ok(()),
        };
        let message = format!("`{name}` is {is}, and the instruction's type is `.{element}`");
        Err(PtxError::new(place, message).expecting(expected))
    }

    /// The error for an operand of the wrong form.
    pub(super) fn misfit(&self, operand: &Operand, expected: &str) -> PtxError {
        PtxError::new(operand.span.place, "this operand does not fit here").expecting(expected)
    }

    /// A predicate or its inverse, which `offset` notes; or a constant, which `offset` holds as a mask.
    pub(super) fn read_predicate_or_not(&mut self, operand: &Operand) -> Result<u16, PtxError> {
        self.out.offset = match &operand.kind {
            OperandKind::Not(name) => {
                let id = self.decoder.predicate(name, operand.span.place)?;
                self.effects.reads.push(id);
                self.out.offset = 1;
                return Ok(id);
            }
            OperandKind::Integer(value) => {
                if *value != 0 {
                    0xffff_ffff
                } else {
                    0
                }
            }
            _ => return self.read_predicate(operand),
        };
        Ok(NONE)
    }

    pub(super) fn read_predicate(&mut self, operand: &Operand) -> Result<u16, PtxError> {
        let OperandKind::Name(name) = &operand.kind else { return Err(self.misfit(operand, "a predicate")) };
        let id = self.decoder.predicate(name, operand.span.place)?;
        self.effects.reads.push(id);
        Ok(id)
    }

    pub(super) fn write_predicate(&mut self, name: &str, place: Place) -> Result<u16, PtxError> {
        let id = self.decoder.predicate(name, place)?;
        self.effects.writes.push(id);
        Ok(id)
    }
}
