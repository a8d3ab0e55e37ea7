//! Operands of an instruction: registers of the right type and width, constants, addresses, predicates.

use super::call::code_address;
use super::instruction::Line;
use super::moves::special;
use super::{Class, Register, RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::isa::forms::PredicateOp;
use crate::isa::{self, Base, LaneType, Latency, Unit};
use crate::program::{Action, CONSTANT, Instruction, NONE, Special};
use crate::syntax::ast::{Operand, OperandKind, StorageSpace};
use crate::syntax::error::{PtxError, SourcePosition};
use crate::syntax::types::operand_size;

/// Requirements on an operand (PTX ISA 9.2 to 9.4).
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The type, without its dot: integers and floats do not mix, `.b32` and the like go with both.
    element: &'a str,
    bits: u8,
    /// Loads, stores and conversions take registers that are wider.
    wider: bool,
}

impl<'a> Wanted<'a> {
    /// A value of this type, in a register of its size.
    pub(super) fn exactly(element: &'a str) -> Self {
        Wanted { element, bits: operand_size(element).unwrap_or(0) as u8 * 8, wider: false }
    }

    /// A value of this type, in a register of its size or a larger one.
    pub(super) fn at_least(element: &'a str) -> Self {
        Wanted { wider: true, ..Wanted::exactly(element) }
    }

    /// A value of this type in `bits` bits, regardless of the type's size.
    pub(super) fn of(self, bits: u8) -> Self {
        Wanted { bits, ..self }
    }
}

/// Whether a constant is of the class of its type; of registers, `check` says it.
pub(super) fn admits(element: &str, kind: &OperandKind, place: SourcePosition) -> Result<(), PtxError> {
    let (is, expected) = match (kind, Class::of(element)) {
        (OperandKind::Integer(_), Class::Float) => ("an integer", "a number such as `1.5` or `0f3FC00000`"),
        (OperandKind::Float32(_) | OperandKind::Float64(_), Class::Integer) => {
            ("a floating-point number", "an integer")
        }
        (
            OperandKind::Integer(_) | OperandKind::Float32(_) | OperandKind::Float64(_),
            Class::Half | Class::Halves | Class::Format,
        ) => ("a number", "a register: this type has no constants"),
        _ => return Ok(()),
    };
    let message = format!("this constant is {is}, and the type here is `.{element}`");
    Err(PtxError::new(place, message).expecting(expected))
}

impl Line<'_, '_, '_> {
    pub(super) fn read(&mut self, operand: &Operand, wanted: Wanted<'_>) -> Result<u16, PtxError> {
        self.read_kind(&operand.kind, operand.span.place, wanted)
    }

    pub(super) fn read_kind(
        &mut self,
        kind: &OperandKind,
        place: SourcePosition,
        wanted: Wanted<'_>,
    ) -> Result<u16, PtxError> {
        let bits = wanted.bits;
        let wide = bits == 64;
        admits(wanted.element, kind, place)?;
        match kind {
            OperandKind::Integer(value) => {
                // A constant is cut to the type: -1 in 16 bits must not differ from 65535.
                let value = if bits < 32 { value & ((1 << bits) - 1) } else { *value };
                self.decoder.constant(value, wide, place)
            }
            OperandKind::Float32(value) if bits == 32 => self.decoder.constant(*value as u64, false, place),
            OperandKind::Float32(value) if wide && Class::of(wanted.element) == Class::Float => {
                self.decoder.constant(f64::from(f32::from_bits(*value)).to_bits(), true, place)
            }
            OperandKind::Float64(value) if wide => self.decoder.constant(*value, true, place),
            OperandKind::Float64(value) if bits == 32 => {
                self.decoder.constant((f64::from_bits(*value) as f32).to_bits() as u64, false, place)
            }
            OperandKind::Name(name) => {
                if let Some(register) = self.decoder.find_register(name, place)? {
                    self.check(name, register, wanted, place)?;
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
                    Some((StorageSpace::Local, offset)) => self.read_local_address(offset, wide, place),
                    Some(_) => Err(PtxError::new(
                        place,
                        format!("the address of `{name}` must be moved to a register first"),
                    )
                    .expecting("`mov.u64`")),
                    None if let Some(special) = special(name) => {
                        self.read_special(special, wanted, name, place)
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
                        None => match self.decoder.storage.kernels.get(name) {
                            Some(&address) if wide => self.decoder.constant(address, wide, place),
                            _ => Err(self.decoder.undeclared(name, place)),
                        },
                    },
                }
            }
            OperandKind::Offset(name, plus)
                if let Some(register) = self.decoder.find_register(name, place)? =>
            {
                self.read_sum(name, register, *plus, wanted, place)
            }
            OperandKind::Offset(name, plus) => match self.decoder.storage.find(name) {
                Some((home, offset))
                    if home == StorageSpace::Shared || home == StorageSpace::Local && self.decoder.entry =>
                {
                    self.decoder.constant(offset.wrapping_add(*plus as u64), wide, place)
                }
                _ => {
                    Err(PtxError::new(place, format!("`{name}` is not a variable whose address is constant")))
                }
            },
            _ => Err(PtxError::new(place, "this operand does not fit here")
                .expecting(format!("a register or constant of {bits} bits"))),
        }
    }

    /// The address of a function's variable in local memory, whose place the call decides.
    fn read_local_address(
        &mut self,
        offset: u64,
        wide: bool,
        place: SourcePosition,
    ) -> Result<u16, PtxError> {
        let register = self.decoder.temporary(RegisterType::Wide, place)?;
        let mut address = self.before(Action::SymbolAddress(Base::Frame));
        (address.destinations[0], address.offset) = (register, offset as i64);
        address.writes.insert(register);
        self.decoder.push(address, Effects { writes: vec![register], ..Effects::default() });
        let register = if wide { register } else { self.compute_before("cvt.u32.u64", [register, NONE])? };
        self.effects.reads.push(register);
        Ok(register)
    }

    /// A register and a constant, which an instruction before this one adds.
    fn read_sum(
        &mut self,
        name: &str,
        register: Register,
        plus: i64,
        wanted: Wanted<'_>,
        place: SourcePosition,
    ) -> Result<u16, PtxError> {
        self.check(name, register, wanted, place)?;
        if register.class == Class::Float {
            return Err(
                PtxError::new(place, format!("`{name}` is not an integer")).expecting("a register alone")
            );
        }
        let bits = register.kind.bits();
        let constant = self.decoder.constant(plus as u64, bits == 64, place)?;
        let sum = self.compute_before(&format!("add.u{bits}"), [register.id, constant])?;
        self.effects.reads.push(sum);
        Ok(sum)
    }

    /// The result of an instruction of the table before this one.
    fn compute_before(&mut self, opcode: &str, sources: [u16; 2]) -> Result<u16, PtxError> {
        let Some(row) = isa::lane_row(opcode) else { return Err(self.unknown()) };
        let wide = row.result == LaneType::Bits(64);
        let kind = if wide { RegisterType::Wide } else { RegisterType::Narrow(32) };
        let to = self.decoder.temporary(kind, self.span.place)?;
        let mut compute = self.before(if wide { Action::LaneWide } else { Action::Lane });
        (compute.op, compute.unit, compute.latency) = (row.op, row.unit, row.latency);
        compute.memory.wide_value = wide;
        compute.sources[..2].copy_from_slice(&sources);
        compute.destinations[0] = to;
        compute.writes.insert(to);
        // Constants and absent sources have the top bit.
        let reads: Vec<u16> = sources.into_iter().filter(|source| source & CONSTANT == 0).collect();
        reads.iter().for_each(|id| compute.reads.insert(*id));
        self.decoder.push(compute, Effects { reads, writes: vec![to], ..Effects::default() });
        Ok(to)
    }

    /// A special register, which an instruction before this one moves to a register of its own.
    fn read_special(
        &mut self,
        special: Special,
        wanted: Wanted<'_>,
        name: &str,
        place: SourcePosition,
    ) -> Result<u16, PtxError> {
        let wide = special.is_wide() && wanted.bits == 64;
        if Class::of(wanted.element) == Class::Float || wanted.bits == 64 && !wide {
            let message =
                format!("`{name}` is an integer of 32 bits, and the type here is `.{}`", wanted.element);
            return Err(PtxError::new(place, message));
        }
        let kind = if wide { RegisterType::Wide } else { RegisterType::Narrow(32) };
        let register = self.decoder.temporary(kind, place)?;
        let mut mov = self.before(Action::Special(special));
        mov.destinations[0] = register;
        mov.offset = self.decoder.driver_place(special);
        mov.memory.wide_value = wide;
        mov.writes.insert(register);
        self.decoder.push(mov, Effects { writes: vec![register], ..Effects::default() });
        self.effects.reads.push(register);
        Ok(register)
    }

    /// An instruction before this one, without a text of its own.
    pub(super) fn before(&self, action: Action) -> Instruction {
        let mut instruction = blank(self.span);
        (instruction.action, instruction.unit, instruction.latency) = (action, Unit::Sp, Latency::IntOther);
        instruction.text = (self.span.start, self.span.start);
        instruction
    }

    /// A predicate, its inverse or a constant; of the last two, an instruction before this one makes a predicate.
    pub(super) fn read_any_predicate(&mut self, operand: &Operand) -> Result<u16, PtxError> {
        let place = operand.span.place;
        let mut effects = Effects::default();
        let mut make = match &operand.kind {
            OperandKind::Not(name) => {
                let from = self.decoder.predicate(name, place)?;
                let mut make = self.before(Action::Predicate(PredicateOp::Not));
                make.sources[0] = from;
                make.reads.insert(from);
                effects.reads.push(from);
                make
            }
            OperandKind::Integer(value) => {
                let mut make = self.before(Action::Predicate(PredicateOp::Mov));
                make.offset = if *value != 0 { 0xffff_ffff } else { 0 };
                make
            }
            _ => return self.read_predicate(operand),
        };
        let register = self.decoder.temporary(RegisterType::Predicate, place)?;
        make.destinations[0] = register;
        make.writes.insert(register);
        effects.writes.push(register);
        self.decoder.push(make, effects);
        self.effects.reads.push(register);
        Ok(register)
    }

    /// Whether a register has the width and the type that are wanted.
    pub(super) fn check(
        &self,
        name: &str,
        register: Register,
        wanted: Wanted<'_>,
        place: SourcePosition,
    ) -> Result<(), PtxError> {
        let Wanted { element, bits, wider } = wanted;
        let have = register.kind.bits();
        let width = if wider { format!("{bits} bits or more") } else { format!("{bits} bits") };
        if register.kind == RegisterType::Predicate {
            return Err(PtxError::new(place, format!("`{name}` is a predicate")).expecting(width));
        }
        match (Class::of(element), register.class) {
            (wants, is) if wants != is && wants != Class::Bits && is != Class::Bits => {
                let message = format!("`{name}` is {}, and the type here is `.{element}`", is.words().0);
                Err(PtxError::new(place, message).expecting(wants.words().1))
            }
            // Floats have one size: no register widens or narrows them.
            (Class::Float, Class::Float) | (Class::Format, _) if have != bits => {
                let error = PtxError::new(place, format!("`{name}` has {have} bits"));
                Err(error.expecting(format!("{bits} bits")))
            }
            _ if have == bits || wider && have > bits => Ok(()),
            _ => Err(PtxError::new(place, format!("`{name}` has {have} bits")).expecting(width)),
        }
    }

    pub(super) fn write(
        &mut self,
        kind: &OperandKind,
        place: SourcePosition,
        wanted: Wanted<'_>,
    ) -> Result<Register, PtxError> {
        let OperandKind::Name(name) = kind else {
            return Err(PtxError::new(place, "a destination must be a register"));
        };
        match self.decoder.find_register(name, place)? {
            Some(register) => {
                self.check(name, register, wanted, place)?;
                self.effects.writes.push(register.id);
                Ok(register)
            }
            None => Err(self.decoder.undeclared(name, place)),
        }
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

    pub(super) fn write_predicate(&mut self, name: &str, place: SourcePosition) -> Result<u16, PtxError> {
        let id = self.decoder.predicate(name, place)?;
        self.effects.writes.push(id);
        Ok(id)
    }
}
