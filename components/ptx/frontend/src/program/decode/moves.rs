//! Moves between registers, special registers and addresses.

use std::borrow::Cow;

use super::RegisterType;
use super::instruction::Line;
use super::operands::Wanted;
use crate::isa::{self, Base, LaneRow, LaneType, Latency, Unit};
use crate::program::{Action, NONE, Reserved, Special};
use crate::syntax::ast::{Operand, OperandKind, StorageSpace};
use crate::syntax::error::{PtxError, SourcePosition};

impl Line<'_, '_, '_> {
    pub(super) fn mov(&mut self, row: &'static LaneRow) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let LaneType::Bits(bits) = row.result else { return Err(self.unknown()) };
        let (to, from) = (&operands[0], &operands[1]);
        let element = self.element();
        let wanted = Wanted::exactly(element);
        if let Some(parts) = self.parts(from) {
            let part = self.part_bits(&parts, bits, from.span.place)?;
            for (index, kind) in parts.iter().enumerate() {
                self.out.sources[index] = self.read_kind(kind, from.span.place, wanted.of(part))?;
            }
            self.out.destinations[0] = self.write(&to.kind, to.span.place, wanted)?.id;
            self.out.memory.elements = parts.len() as u8;
            self.out.memory.bytes = part / 8;
            self.book(Action::Pack, Unit::Sp, Latency::IntOther);
            return Ok(());
        }
        if let Some(parts) = self.parts(to) {
            let part = self.part_bits(&parts, bits, to.span.place)?;
            self.out.sources[0] = self.read(from, wanted)?;
            for (index, kind) in parts.iter().enumerate() {
                if *kind != OperandKind::Discard {
                    self.out.destinations[index] = self.write(kind, to.span.place, wanted.of(part))?.id;
                }
            }
            self.out.memory.elements = parts.len() as u8;
            self.out.memory.bytes = part / 8;
            self.book(Action::Unpack, Unit::Sp, Latency::IntOther);
            return Ok(());
        }
        if let OperandKind::Name(name) | OperandKind::Offset(name, _) = &from.kind
            && self.decoder.find_register(name, from.span.place)?.is_none()
        {
            let plus = if let OperandKind::Offset(_, plus) = from.kind { plus } else { 0 };
            if let Some((base, offset)) =
                self.based(name).filter(|(base, _)| bits == 64 || *base != Base::Frame)
            {
                self.out.offset = offset.wrapping_add(plus);
                self.out.destinations[0] = self.write(&to.kind, to.span.place, wanted.of(64))?.id;
                self.book(Action::SymbolAddress(base), Unit::Sp, Latency::IntOther);
                return Ok(());
            }
            if let Some(special) = special(name) {
                if bits == 64 && !special.is_wide() {
                    return Err(PtxError::new(from.span.place, format!("`{name}` has 32 bits"))
                        .expecting("`mov.u32`"));
                }
                let register = self.write(&to.kind, to.span.place, wanted)?;
                self.out.destinations[0] = register.id;
                self.out.memory.wide_value = register.kind == RegisterType::Wide;
                self.out.offset = self.decoder.driver_place(special);
                self.book(Action::Special(special), Unit::Sp, Latency::IntOther);
                return Ok(());
            }
        }
        self.out.sources[0] = self.read(from, wanted)?;
        self.out.destinations[0] = self.write(&to.kind, to.span.place, wanted)?.id;
        self.row(row, if bits == 64 { Action::LaneWide } else { Action::Lane });
        Ok(())
    }

    /// The halves of an operand of 128 bits, the low one first.
    pub(super) fn halves(&self, operand: &Operand) -> Result<[OperandKind; 2], PtxError> {
        match &operand.kind {
            OperandKind::Name(name) if let Some(halves) = self.decoder.halves(name) => Ok(halves),
            // Whether a larger one has a sign is not known.
            OperandKind::Integer(value) if *value <= i64::MAX as u64 => {
                Ok([OperandKind::Integer(*value), OperandKind::Integer(0)])
            }
            _ => Err(self.misfit(operand, "a `.b128` register")),
        }
    }

    /// `mov.b128`: into a register, out of one, or both; parts have 64 or 32 bits.
    pub(super) fn mov_pair(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let (to, from) = (&operands[0], &operands[1]);
        let quarters =
            |operand: &Operand| matches!(&operand.kind, OperandKind::Vector(parts) if parts.len() == 4);
        let sources = self.parts_of_pair(from)?;
        let destinations = self.parts_of_pair(to)?;
        if matches!((&to.kind, &from.kind), (OperandKind::Vector(_), OperandKind::Vector(_))) {
            return Err(self.misfit(to, "a `.b128` register here or behind"));
        }
        let kind = |quarters| Wanted::exactly(if quarters { "b32" } else { "b64" });
        let mut read = Vec::new();
        for source in &sources {
            read.push(self.read_kind(source, from.span.place, kind(quarters(from)))?);
        }
        let mut written = Vec::new();
        for destination in &destinations {
            written.push(match destination {
                OperandKind::Discard => NONE,
                part => self.write(part, to.span.place, kind(quarters(to)))?.id,
            });
        }
        match (read.as_slice(), written.as_slice()) {
            ([a, b, c, d], &[low, high]) => {
                self.pack(Action::Pack, &[*a, *b], &[low], 4);
                self.pack(Action::Pack, &[*c, *d], &[high], 4);
            }
            (&[low, high], [a, b, c, d]) => {
                self.pack(Action::Unpack, &[low], &[*a, *b], 4);
                self.pack(Action::Unpack, &[high], &[*c, *d], 4);
            }
            _ => {
                for (from, to) in read.into_iter().zip(written).filter(|(_, to)| *to != NONE) {
                    self.compute_into("mov.b64", &[from], to)?;
                }
            }
        }
        self.end_moves()
    }

    /// Puts the moves of parts into the function.
    fn end_moves(&mut self) -> Result<(), PtxError> {
        if self.expansion.is_empty() {
            return Err(self.error("no part of the vector is kept"));
        }
        self.end_with_last();
        Ok(())
    }

    /// The parts of an operand of `mov.b128`.
    fn parts_of_pair(&self, operand: &Operand) -> Result<Vec<OperandKind>, PtxError> {
        match self.parts(operand) {
            Some(parts) if matches!(parts.len(), 2 | 4) => Ok(parts.into_owned()),
            Some(parts) => {
                let message = format!("{} parts do not make 128 bits", parts.len());
                Err(PtxError::new(operand.span.place, message))
            }
            None => Ok(self.halves(operand)?.into()),
        }
    }

    /// The parts of an operand in braces, or of a register of vector type.
    fn parts<'o>(&self, operand: &'o Operand) -> Option<Cow<'o, [OperandKind]>> {
        match &operand.kind {
            OperandKind::Vector(parts) => Some(Cow::Borrowed(parts)),
            OperandKind::Name(name) => self.decoder.vector(name).map(Cow::Owned),
            _ => None,
        }
    }

    /// `mov.v4.u16 d, {a, b, c, d}`: all parts are read before one is written.
    pub(super) fn mov_vector(&mut self) -> Result<(), PtxError> {
        let opcode = self.opcode;
        let (count, element) = match opcode.split('.').collect::<Vec<&str>>()[1..] {
            ["v2", element] => (2, element),
            ["v4", element] => (4, element),
            _ => return Err(self.unknown()),
        };
        let bits = match element {
            "b16" | "u16" | "s16" => 16,
            "b32" | "u32" | "s32" | "f32" => 32,
            "b64" | "u64" | "s64" | "f64" if count == 2 => 64,
            other => return Err(self.unknown_modifier(other)),
        };
        let operands = self.operands(2..=2)?;
        let (to, from) = (&operands[0], &operands[1]);
        let wanted = Wanted::exactly(element);
        let from_parts = match &from.kind {
            // The fourth part of `%tid` and the like is zero.
            OperandKind::Name(name)
                if special(&format!("{name}.x")).is_some() && bits == 32 && count == 4 =>
            {
                let parts = ["x", "y", "z"].map(|axis| OperandKind::Name(format!("{name}.{axis}")));
                Cow::Owned(parts.into_iter().chain([OperandKind::Integer(0)]).collect())
            }
            _ => self.elements(from, count)?,
        };
        let mut sources = Vec::new();
        for part in from_parts.iter() {
            sources.push(self.read_kind(part, from.span.place, wanted)?);
        }
        let mut destinations = Vec::new();
        for part in self.elements(to, count)?.iter() {
            destinations.push(match part {
                OperandKind::Discard => NONE,
                part => self.write(part, to.span.place, wanted)?.id,
            });
        }
        let opcode = if bits == 64 { "mov.b64" } else { "mov.b32" };
        if destinations.iter().any(|id| sources.contains(id)) {
            for source in &mut sources {
                *source = self.compute(opcode, &[*source])?;
            }
        }
        for (source, to) in sources.into_iter().zip(destinations).filter(|(_, to)| *to != NONE) {
            self.compute_into(opcode, &[source], to)?;
        }
        self.end_moves()
    }

    fn part_bits(&self, parts: &[OperandKind], bits: u8, place: SourcePosition) -> Result<u8, PtxError> {
        if !self.opcode.starts_with("mov.b") {
            let error = PtxError::new(place, "parts have no type of their own");
            return Err(error.expecting(format!("`mov.b{bits}`")));
        }
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
            StorageSpace::Local if !self.decoder.entry => Some((Base::Frame, offset as i64)),
            _ => None,
        }
    }

    /// `cvta` and `cvta.to`.
    pub(super) fn generic(&mut self, base: Option<Base>, action: fn(Base) -> Action) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let (destination, source) = (&operands[0], &operands[1]);
        if base.is_none()
            && let OperandKind::Name(name) = &source.kind
            && let Some((base, offset)) = self.based(name)
        {
            self.out.offset = offset;
            self.out.destinations[0] =
                self.write(&destination.kind, destination.span.place, Wanted::exactly("u64"))?.id;
            self.out.action = Action::SymbolAddress(base);
            return Ok(());
        }
        self.out.sources[0] = self.read(source, Wanted::exactly("u64"))?;
        self.out.destinations[0] =
            self.write(&destination.kind, destination.span.place, Wanted::exactly("u64"))?.id;
        match base {
            Some(base) => self.out.action = action(base),
            None => {
                self.out.op = isa::LaneOp::MovB64;
                self.out.action = Action::LaneWide;
            }
        }
        Ok(())
    }

    /// `isspacep`
    pub(super) fn in_space(&mut self, base: Option<Base>) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let (destination, source) = (&operands[0], &operands[1]);
        self.out.sources[0] = self.read(source, Wanted::exactly("u64"))?;
        let OperandKind::Name(name) = &destination.kind else {
            return Err(self.misfit(destination, "a predicate"));
        };
        self.out.destinations[0] = self.write_predicate(name, destination.span.place)?;
        self.out.action = Action::InSpace(base);
        Ok(())
    }
}

pub(super) fn special(name: &str) -> Option<Special> {
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
        ("%aggr_smem_size", 3) => Special::TotalShared,
        ("%globaltimer" | "%globaltimer_lo", 3) => Special::GlobalTimer,
        ("%globaltimer_hi", 3) => Special::GlobalTimerHigh,
        ("%current_graph_exec", 3) => Special::Zero,
        ("%envreg1", 3) => Special::Workspace { high: true },
        ("%envreg2", 3) => Special::Workspace { high: false },
        ("%reserved_smem_offset_begin" | "%reserved_smem_offset_0", 3) => Special::Reserved(Reserved::Begin),
        ("%reserved_smem_offset_1", 3) => Special::Reserved(Reserved::Middle),
        ("%reserved_smem_offset_end", 3) => Special::Reserved(Reserved::End),
        ("%reserved_smem_offset_cap", 3) => Special::Reserved(Reserved::Size),
        (name, 3) => {
            let number: u32 = name.strip_prefix("%envreg")?.parse().ok()?;
            return (number < 32).then_some(Special::Zero);
        }
        _ => return None,
    })
}
