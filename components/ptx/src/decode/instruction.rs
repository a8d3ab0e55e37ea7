//! One instruction as written to one decoded instruction.

use super::{Decoder, Register, RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::ast::{self, Operand, OperandKind, Span, StorageSpace};
use crate::error::{Place, PtxError};
use crate::isa::{self, LaneRow, LaneType, Latency, Unit};
use crate::program::{Action, Base, Combine, Instruction, PredicateOp, SetValue, Special};

/// How a value is read or written, for checking register widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// The register must have exactly these bits.
    Exactly(u8),
    /// Or more: loads, stores and conversions allow it.
    AtLeast(u8),
}

impl Decoder {
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
        let mut line = Line { decoder: self, source, span, out: &mut out, effects: &mut effects };
        line.decode()?;
        for &id in &effects.reads {
            out.reads.insert(id);
        }
        for &id in &effects.writes {
            out.writes.insert(id);
        }
        effects.late = out.action == Action::Memory;
        self.instructions.push(out);
        self.effects.push(effects);
        Ok(())
    }

    fn predicate(&mut self, name: &str, place: Place) -> Result<u16, PtxError> {
        match self.find_register(name, place)? {
            Some(Register { id, kind: RegisterType::Predicate }) => Ok(id),
            Some(_) => {
                Err(PtxError::new(place, format!("`{name}` is no predicate")).expecting("a `.pred` register"))
            }
            None => Err(PtxError::new(place, format!("`{name}` is not declared"))),
        }
    }
}

/// One line being decoded.
pub(super) struct Line<'d, 's> {
    pub(super) decoder: &'d mut Decoder,
    pub(super) source: &'s ast::Instruction,
    span: Span,
    pub(super) out: &'d mut Instruction,
    pub(super) effects: &'d mut Effects,
}

impl<'s> Line<'_, 's> {
    pub(super) fn error(&self, message: impl Into<String>) -> PtxError {
        PtxError::new(self.span.place, message)
    }

    pub(super) fn operands(&self, count: std::ops::RangeInclusive<usize>) -> Result<&'s [Operand], PtxError> {
        let operands = &self.source.operands;
        if count.contains(&operands.len()) {
            return Ok(operands);
        }
        let wanted = if count.start() == count.end() {
            format!("{} operands", count.start())
        } else {
            format!("{} to {} operands", count.start(), count.end())
        };
        Err(self.error(format!("`{}` has {} operands", self.source.opcode, operands.len())).expecting(wanted))
    }

    fn unknown(&self) -> PtxError {
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
        let name = opcode.split('.').next().unwrap_or(opcode);
        match name {
            "ld" | "ldu" => self.load(),
            "st" => self.store(),
            "atom" | "red" => self.atomic(),
            "mov" => self.mov(),
            "cvta" => self.cvta(),
            "and" | "or" | "xor" | "not" if opcode.ends_with(".pred") => self.predicate_logic(),
            "setp" | "set" => self.compare(),
            _ => match opcode {
                "bra" | "bra.uni" => self.branch(),
                "bar.sync" | "barrier.sync" | "barrier.sync.aligned" | "bar.cta.sync" => self.barrier(true),
                "bar.arrive" | "barrier.arrive" => self.barrier(false),
                "membar.cta" | "membar.gl" | "membar.sys" | "fence.sc.cta" | "fence.sc.gpu"
                | "fence.sc.sys" | "fence.acq_rel.cta" | "fence.acq_rel.gpu" | "fence.acq_rel.sys" => {
                    self.operands(0..=0)?;
                    self.book(Action::Fence, Unit::LdSt, Latency::Fence);
                    Ok(())
                }
                "ret" | "ret.uni" | "exit" => {
                    self.operands(0..=0)?;
                    self.book(Action::Exit, Unit::Control, Latency::Exit);
                    Ok(())
                }
                "trap" => {
                    self.operands(0..=0)?;
                    self.book(Action::Trap, Unit::Control, Latency::Exit);
                    Ok(())
                }
                "call" | "call.uni" => {
                    Err(self.error("calls are not supported yet").expecting("inlined functions"))
                }
                _ => self.lanes(),
            },
        }
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
                match self.decoder.storage.find(name) {
                    Some((StorageSpace::Shared | StorageSpace::Local | StorageSpace::Param, offset)) => {
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
                    None => Err(PtxError::new(place, format!("`{name}` is not declared"))),
                }
            }
            OperandKind::Offset(name, plus) => match self.decoder.storage.find(name) {
                Some((StorageSpace::Shared | StorageSpace::Local, offset)) => {
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
            None => Err(PtxError::new(place, format!("`{name}` is not declared"))),
        }
    }

    fn read_predicate(&mut self, operand: &Operand) -> Result<u16, PtxError> {
        let OperandKind::Name(name) = &operand.kind else {
            return Err(
                PtxError::new(operand.span.place, "this operand does not fit here").expecting("a predicate")
            );
        };
        let id = self.decoder.predicate(name, operand.span.place)?;
        self.effects.reads.push(id);
        Ok(id)
    }

    fn write_predicate(&mut self, name: &str, place: Place) -> Result<u16, PtxError> {
        let id = self.decoder.predicate(name, place)?;
        self.effects.writes.push(id);
        Ok(id)
    }

    // Table instructions.

    fn lanes(&mut self) -> Result<(), PtxError> {
        let opcode = self.source.opcode.as_str();
        let mut row = isa::lane_row(opcode).ok_or_else(|| self.unknown())?;
        let conversion = opcode.starts_with("cvt.");
        let count = row.sources.len() + 1;
        let operands = self.operands(count..=count)?;
        if conversion
            && let OperandKind::Name(name) = &operands[1].kind
            && let Some(register) = self.decoder.find_register(name, operands[1].span.place)?
            && register.kind == RegisterType::Wide
            && row.sources != [LaneType::Bits(64)]
        {
            row = isa::lane_row(&format!("{opcode}/wide")).ok_or_else(|| {
                PtxError::new(operands[1].span.place, format!("`{name}` has 64 bits"))
                    .expecting("a 32-bit register")
            })?;
        }
        for (index, kind) in row.sources.iter().enumerate() {
            let operand = &operands[index + 1];
            self.out.sources[index] = match *kind {
                LaneType::Predicate => self.read_predicate(operand)?,
                LaneType::Bits(bits) if conversion => self.read(operand, Width::AtLeast(bits))?,
                LaneType::Bits(bits) => self.read(operand, Width::Exactly(bits))?,
            };
        }
        match row.result {
            LaneType::Predicate => {
                let OperandKind::Name(name) = &operands[0].kind else {
                    return Err(self.error("a destination must be a register"));
                };
                self.out.destinations[0] = self.write_predicate(name, operands[0].span.place)?;
                self.row(row, Action::Compare(Combine::None));
            }
            LaneType::Bits(bits) => {
                let width = if conversion { Width::AtLeast(bits) } else { Width::Exactly(bits) };
                let register = self.write(&operands[0].kind, operands[0].span.place, width)?;
                if (register.kind == RegisterType::Wide) != (bits == 64) {
                    return Err(PtxError::new(
                        operands[0].span.place,
                        "the destination has 64 bits, the result fewer",
                    )
                    .expecting("a conversion to a 64-bit type"));
                }
                self.out.destinations[0] = register.id;
                self.row(row, if bits == 64 { Action::LaneWide } else { Action::Lane });
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &LaneRow, action: Action) {
        self.out.op = row.op;
        self.book(action, row.unit, row.latency);
    }

    fn compare(&mut self) -> Result<(), PtxError> {
        let opcode = self.source.opcode.as_str();
        let row = isa::lane_row(opcode).ok_or_else(|| self.unknown())?;
        let mut words = opcode.split('.').skip(2);
        let word = words.next().unwrap_or("");
        let combine = match word {
            "and" => Combine::And,
            "or" => Combine::Or,
            "xor" => Combine::Xor,
            _ => Combine::None,
        };
        let count = if combine == Combine::None { 3 } else { 4 };
        let operands = self.operands(count..=count)?;
        for index in 0..2 {
            let LaneType::Bits(bits) = row.sources[index] else { return Err(self.unknown()) };
            self.out.sources[index] = self.read(&operands[index + 1], Width::Exactly(bits))?;
        }
        if combine != Combine::None {
            let (operand, negated) = match &operands[3].kind {
                OperandKind::Not(name) => {
                    (Operand { kind: OperandKind::Name(name.clone()), span: operands[3].span }, true)
                }
                _ => (operands[3].clone(), false),
            };
            self.out.sources[2] = self.read_predicate(&operand)?;
            self.out.offset = i64::from(negated);
        }
        let place = operands[0].span.place;
        if opcode.starts_with("set.") {
            let kind = if combine == Combine::None { word } else { words.next().unwrap_or("") };
            let kind = if kind == "ftz" { words.next().unwrap_or("") } else { kind };
            self.out.destinations[0] = self.write(&operands[0].kind, place, Width::Exactly(32))?.id;
            let value = if kind == "f32" { SetValue::One } else { SetValue::Ones };
            self.row(row, Action::Set(combine, value));
            return Ok(());
        }
        match &operands[0].kind {
            OperandKind::Name(name) => self.out.destinations[0] = self.write_predicate(name, place)?,
            OperandKind::Pair(name, inverse) => {
                for (index, name) in [name, inverse].into_iter().enumerate() {
                    if name != "_" {
                        self.out.destinations[index] = self.write_predicate(name, place)?;
                    }
                }
            }
            _ => return Err(PtxError::new(place, "this operand does not fit here").expecting("a predicate")),
        }
        self.row(row, Action::Compare(combine));
        Ok(())
    }

    fn predicate_logic(&mut self) -> Result<(), PtxError> {
        let (operation, count) = match self.source.opcode.as_str() {
            "mov.pred" => (PredicateOp::Mov, 2),
            "not.pred" => (PredicateOp::Not, 2),
            "and.pred" => (PredicateOp::And, 3),
            "or.pred" => (PredicateOp::Or, 3),
            "xor.pred" => (PredicateOp::Xor, 3),
            _ => return Err(self.unknown()),
        };
        let operands = self.operands(count..=count)?;
        let OperandKind::Name(name) = &operands[0].kind else {
            return Err(PtxError::new(operands[0].span.place, "a destination must be a register"));
        };
        for (index, operand) in operands[1..].iter().enumerate() {
            match operand.kind {
                // A constant predicate is a mask in `offset`; only `mov` and the first source use it.
                OperandKind::Integer(value) if index == count - 2 => {
                    self.out.offset = if value != 0 { 0xffff_ffff } else { 0 };
                }
                _ => self.out.sources[index] = self.read_predicate(operand)?,
            }
        }
        self.out.destinations[0] = self.write_predicate(name, operands[0].span.place)?;
        self.book(Action::Predicate(operation), Unit::Sp, Latency::IntAdd);
        Ok(())
    }

    // Moves and addresses.

    fn mov(&mut self) -> Result<(), PtxError> {
        if self.source.opcode == "mov.pred" {
            return self.predicate_logic();
        }
        let Some(row) = isa::lane_row(&self.source.opcode) else { return Err(self.unknown()) };
        let operands = self.operands(2..=2)?;
        let LaneType::Bits(bits) = row.result else { return Err(self.unknown()) };
        let (to, from) = (&operands[0], &operands[1]);
        if let OperandKind::Vector(parts) = &from.kind {
            let part = self.part_bits(parts, bits, from.span.place)?;
            for (index, kind) in parts.iter().enumerate() {
                self.out.sources[index] = self.read_kind(kind, from.span.place, Width::Exactly(part))?;
            }
            self.out.destinations[0] = self.write(&to.kind, to.span.place, Width::Exactly(bits))?.id;
            self.out.memory.elements = parts.len() as u8;
            self.out.memory.bytes = part / 8;
            self.book(Action::Pack, Unit::Sp, Latency::IntAdd);
            return Ok(());
        }
        if let OperandKind::Vector(parts) = &to.kind {
            let part = self.part_bits(parts, bits, to.span.place)?;
            self.out.sources[0] = self.read(from, Width::Exactly(bits))?;
            for (index, kind) in parts.iter().enumerate() {
                if *kind != OperandKind::Discard {
                    self.out.destinations[index] = self.write(kind, to.span.place, Width::Exactly(part))?.id;
                }
            }
            self.out.memory.elements = parts.len() as u8;
            self.out.memory.bytes = part / 8;
            self.book(Action::Unpack, Unit::Sp, Latency::IntAdd);
            return Ok(());
        }
        if let OperandKind::Name(name) | OperandKind::Offset(name, _) = &from.kind
            && self.decoder.find_register(name, from.span.place)?.is_none()
        {
            let plus = if let OperandKind::Offset(_, plus) = from.kind { plus } else { 0 };
            if let Some((base, offset)) = self.based(name) {
                self.out.offset = offset.wrapping_add(plus);
                self.out.destinations[0] = self.write(&to.kind, to.span.place, Width::Exactly(64))?.id;
                self.book(Action::SymbolAddress(base), Unit::Sp, Latency::IntAdd);
                return Ok(());
            }
            if let Some(special) = special(name) {
                let register = self.write(&to.kind, to.span.place, Width::AtLeast(32))?;
                self.out.destinations[0] = register.id;
                self.out.memory.wide_value = register.kind == RegisterType::Wide;
                self.book(Action::Special(special), Unit::Sp, Latency::IntAdd);
                return Ok(());
            }
        }
        self.out.sources[0] = self.read(from, Width::Exactly(bits))?;
        self.out.destinations[0] = self.write(&to.kind, to.span.place, Width::Exactly(bits))?.id;
        self.row(row, if bits == 64 { Action::LaneWide } else { Action::Lane });
        Ok(())
    }

    fn part_bits(&self, parts: &[OperandKind], bits: u8, place: Place) -> Result<u8, PtxError> {
        match (parts.len(), bits) {
            (2, 32 | 64) => Ok(bits / 2),
            (4, 64) => Ok(16),
            _ => Err(PtxError::new(place, format!("{} parts do not make {bits} bits", parts.len()))),
        }
    }

    fn based(&self, name: &str) -> Option<(Base, i64)> {
        let (space, offset) = self.decoder.storage.find(name)?;
        match space {
            StorageSpace::Global => Some((Base::Global, offset as i64)),
            StorageSpace::Const => Some((Base::Const, offset as i64)),
            _ => None,
        }
    }

    fn cvta(&mut self) -> Result<(), PtxError> {
        let opcode = self.source.opcode.as_str();
        let words: Vec<&str> = opcode.split('.').collect();
        let (to, space, kind) = match words[..] {
            ["cvta", "to", space, kind] => (true, space, kind),
            ["cvta", space, kind] => (false, space, kind),
            _ => return Err(self.unknown().expecting("`cvta{.to}.space.u64`")),
        };
        if kind != "u64" {
            return Err(self.unknown().expecting("`.u64`"));
        }
        let operands = self.operands(2..=2)?;
        let (destination, source) = (&operands[0], &operands[1]);
        let base = match space {
            "shared" => Some(Base::Shared),
            "local" => Some(Base::Local),
            // Device and constant addresses are generic addresses already.
            "global" | "const" | "param" => None,
            _ => return Err(self.unknown().expecting("a state space")),
        };
        if base.is_none()
            && let OperandKind::Name(name) = &source.kind
            && let Some((base, offset)) = self.based(name)
        {
            self.out.offset = offset;
            self.out.destinations[0] =
                self.write(&destination.kind, destination.span.place, Width::Exactly(64))?.id;
            self.book(Action::SymbolAddress(base), Unit::Sp, Latency::IntAdd);
            return Ok(());
        }
        self.out.sources[0] = self.read(source, Width::Exactly(64))?;
        self.out.destinations[0] =
            self.write(&destination.kind, destination.span.place, Width::Exactly(64))?.id;
        match base {
            Some(base) if to => self.book(Action::FromGeneric(base), Unit::Sp, Latency::IntAdd),
            Some(base) => self.book(Action::ToGeneric(base), Unit::Sp, Latency::IntAdd),
            None => {
                self.out.op = isa::LaneOp::MovB64;
                self.book(Action::LaneWide, Unit::Sp, Latency::IntAdd);
            }
        }
        Ok(())
    }

    // Control.

    fn branch(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(1..=1)?;
        let OperandKind::Name(label) = &operands[0].kind else {
            return Err(
                PtxError::new(operands[0].span.place, "this operand does not fit here").expecting("a label")
            );
        };
        let pc = self.decoder.instructions.len();
        self.decoder.branches.push((pc, self.decoder.scope, label.clone(), operands[0].span.place));
        self.book(Action::Branch, Unit::Control, Latency::Branch);
        Ok(())
    }

    fn barrier(&mut self, waits: bool) -> Result<(), PtxError> {
        let fewest = if waits { 1 } else { 2 };
        let operands = self.operands(fewest..=2)?;
        for (index, operand) in operands.iter().enumerate() {
            self.out.sources[index] = self.read(operand, Width::Exactly(32))?;
        }
        self.book(Action::Barrier { waits }, Unit::Control, Latency::Barrier);
        Ok(())
    }
}

fn special(name: &str) -> Option<Special> {
    let (head, axis) = match name.rsplit_once('.') {
        Some((head, axis)) => (head, ["x", "y", "z"].iter().position(|a| *a == axis)? as u8),
        None => (name, 3),
    };
    Some(match (head, axis) {
        ("%tid", 0..=2) => Special::Tid(axis),
        ("%ntid", 0..=2) => Special::Ntid(axis),
        ("%ctaid", 0..=2) => Special::Ctaid(axis),
        ("%nctaid", 0..=2) => Special::Nctaid(axis),
        ("%laneid", 3) => Special::LaneId,
        ("%warpid", 3) => Special::WarpId,
        ("%nwarpid", 3) => Special::WarpCount,
        ("%smid", 3) => Special::SmId,
        ("%nsmid", 3) => Special::SmCount,
        ("%gridid", 3) => Special::GridId,
        ("%clock" | "%clock64", 3) => Special::Clock,
        ("%clock_hi", 3) => Special::ClockHigh,
        ("%lanemask_eq", 3) => Special::LaneMaskEq,
        ("%lanemask_le", 3) => Special::LaneMaskLe,
        ("%lanemask_lt", 3) => Special::LaneMaskLt,
        ("%lanemask_ge", 3) => Special::LaneMaskGe,
        ("%lanemask_gt", 3) => Special::LaneMaskGt,
        ("%dynamic_smem_size", 3) => Special::DynamicShared,
        ("%total_smem_size", 3) => Special::TotalShared,
        _ => return None,
    })
}
