//! Instructions of the lane-wise table, and the logic of predicates.

use super::call::under_guard;
use super::instruction::Line;
use super::operands::Wanted;
use super::{RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::isa::forms::PredicateOp;
use crate::isa::{self, LaneOp, LaneRow, LaneType, Latency, Unit};
use crate::program::{Action, Combine, Instruction};
use crate::syntax::ast::{Operand, OperandKind, Span};
use crate::syntax::error::PtxError;
use crate::syntax::types::operand_size;

impl Line<'_, '_, '_> {
    pub(super) fn lanes(&mut self, row: &'static LaneRow) -> Result<(), PtxError> {
        let opcode = self.opcode;
        let conversion = opcode.starts_with("cvt.");
        let carries_in = ["addc.", "subc.", "madc."].iter().any(|name| opcode.starts_with(name));
        let count = row.sources.len() + usize::from(!carries_in);
        let extremum = opcode.ends_with(".f32") && (opcode.starts_with("min.") || opcode.starts_with("max."));
        if extremum && self.source.operands.len() == 4 {
            let message = format!("`{opcode}` of three numbers is not supported: it needs sm_100");
            return Err(PtxError::unsupported(self.span.place, message));
        }
        let operands = self.operands(count..=count)?;
        // The last word is the type, of a conversion that of the source.
        let mut words = opcode.rsplit('.').filter(|word| operand_size(word).is_some());
        let (source_type, before) = (words.next().unwrap_or(""), words.next());
        let result_type = match opcode.split('.').next() {
            Some("popc" | "clz" | "bfind") => "u32",
            _ if opcode.starts_with("cvt.pack.") => "u32",
            _ => before.unwrap_or(source_type),
        };
        for (index, kind) in row.sources.iter().enumerate() {
            if carries_in && *kind == LaneType::Predicate {
                let carry = self.decoder.carry(self.span.place)?;
                self.effects.reads.push(carry);
                self.out.sources[index] = carry;
                continue;
            }
            let operand = &operands[index + 1];
            // A conversion's registers are as wide as its types or wider; its row may compute in more bits.
            let element = own_type(opcode, index).unwrap_or(source_type);
            let wanted = Wanted::exactly(element);
            self.out.sources[index] = match *kind {
                LaneType::Predicate => self.read_any_predicate(operand)?,
                LaneType::Bits(bits) if conversion => self.read_low(operand, element, bits)?,
                LaneType::Bits(bits) => self.read(operand, wanted.of(bits))?,
                LaneType::Predicates => return Err(self.unknown()),
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
                let exactly = Wanted::exactly(result_type).of(bits);
                let wanted = if conversion { Wanted::at_least(result_type) } else { exactly };
                let register = self.write(&operands[0].kind, operands[0].span.place, wanted)?;
                self.out.destinations[0] = register.id;
                if conversion && register.kind == RegisterType::Wide && bits < 64 {
                    self.extend(register.id, result_type.starts_with('s'))?;
                }
                self.row(row, if bits == 64 { Action::LaneWide } else { Action::Lane });
                self.out.memory.wide_value = bits == 64;
                if let Some(carry) = isa::lane_row(&format!("{opcode}/carry")) {
                    let id = self.decoder.carry(self.span.place)?;
                    self.effects.writes.push(id);
                    self.out.destinations[1] = id;
                    self.out.action = Action::Carry(carry.op);
                }
            }
            LaneType::Predicates => return Err(self.unknown()),
        }
        Ok(())
    }

    /// A source of a conversion; of a register of 64 bits, an instruction before it takes the low 32.
    fn read_low(&mut self, operand: &Operand, element: &str, bits: u8) -> Result<u16, PtxError> {
        let place = operand.span.place;
        let wide = match &operand.kind {
            OperandKind::Name(name) => self.decoder.find_register(name, place)?,
            _ => None,
        };
        match wide.filter(|register| bits < 64 && register.kind == RegisterType::Wide) {
            None if wide.is_some() => self.read(operand, Wanted::at_least(element)),
            None => self.read(operand, Wanted::exactly(element).of(bits)),
            Some(from) => {
                let name = if let OperandKind::Name(name) = &operand.kind { name.as_str() } else { "" };
                self.check(name, from, Wanted::at_least(element), place)?;
                let low = self.decoder.temporary(RegisterType::Narrow(32), place)?;
                let (instruction, effects) = conversion(self.span, LaneOp::CvtB32B64, from.id, low);
                self.decoder.push(instruction, effects);
                self.effects.reads.push(low);
                Ok(low)
            }
        }
    }

    /// The result goes to a register of its own first, and an instruction behind this one fills the wider one.
    fn extend(&mut self, wide: u16, signed: bool) -> Result<(), PtxError> {
        let narrow = self.decoder.temporary(RegisterType::Narrow(32), self.span.place)?;
        let op = if signed { LaneOp::CvtB64S32 } else { LaneOp::CvtB64U32 };
        let (mut instruction, mut effects) = conversion(self.span, op, narrow, wide);
        instruction.action = Action::LaneWide;
        under_guard(&mut instruction, &mut effects, self.out);
        self.after.push((instruction, effects));
        self.out.destinations[0] = narrow;
        self.effects.writes.retain(|id| *id != wide);
        self.effects.writes.push(narrow);
        Ok(())
    }

    pub(super) fn row(&mut self, row: &LaneRow, action: Action) {
        self.out.op = row.op;
        self.book(action, row.unit, row.latency);
    }

    pub(super) fn compare(&mut self, row: &'static LaneRow) -> Result<(), PtxError> {
        let opcode = self.opcode;
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
        let element = self.element();
        for index in 0..2 {
            let LaneType::Bits(bits) = row.sources[index] else { return Err(self.unknown()) };
            let wanted = Wanted::exactly(element).of(bits);
            self.out.sources[index] = self.read(&operands[index + 1], wanted)?;
        }
        if combine != Combine::None {
            self.out.sources[2] = self.read_predicate_or_not(&operands[3])?;
        }
        let place = operands[0].span.place;
        let pairs = row.result == LaneType::Predicates;
        if opcode.starts_with("set.") {
            let kind = if combine == Combine::None { word } else { words.next().unwrap_or("") };
            let kind = if kind == "ftz" { words.next().unwrap_or("") } else { kind };
            self.out.destinations[0] = self.write(&operands[0].kind, place, Wanted::exactly(kind))?.id;
            self.row(
                row,
                if pairs {
                    Action::SetPair(combine, truth(kind) as u16)
                } else {
                    Action::Set(combine, truth(kind))
                },
            );
            return Ok(());
        }
        match &operands[0].kind {
            OperandKind::Name(name) => self.out.destinations[0] = self.write_predicate(name, place)?,
            OperandKind::Pair(..) if !pairs && matches!(element, "f16" | "bf16") => {
                let error = PtxError::new(place, format!("a comparison of `.{element}` has one result"));
                return Err(error.expecting("a predicate"));
            }
            OperandKind::Pair(name, inverse) => {
                for (index, name) in [name, inverse].into_iter().enumerate() {
                    if name != "_" {
                        self.out.destinations[index] = self.write_predicate(name, place)?;
                    }
                }
            }
            _ => return Err(PtxError::new(place, "this operand does not fit here").expecting("a predicate")),
        }
        self.row(row, if pairs { Action::ComparePair(combine) } else { Action::Compare(combine) });
        Ok(())
    }

    /// `lop3` with a predicate: whether any bit of the result is set, combined with another predicate.
    pub(super) fn logic_and_truth(&mut self, combine: Combine) -> Result<(), PtxError> {
        let operands = self.operands(6..=6)?;
        let place = operands[0].span.place;
        let OperandKind::Pair(name, truth) = &operands[0].kind else {
            return Err(self.misfit(&operands[0], "a register and a predicate, `d|p`"));
        };
        for (index, operand) in operands[1..5].iter().enumerate() {
            self.out.sources[index] = self.read(operand, Wanted::exactly("b32"))?;
        }
        let third = self.read_any_predicate(&operands[5])?;
        let result = match name.as_str() {
            "_" => {
                let result = self.decoder.temporary(RegisterType::Narrow(32), place)?;
                self.effects.writes.push(result);
                result
            }
            _ => self.write(&OperandKind::Name(name.clone()), place, Wanted::exactly("b32"))?.id,
        };
        self.out.destinations[0] = result;
        self.out.op = LaneOp::Lop3B32;
        self.out.action = Action::Lane;
        let zero = self.decoder.constant(0, false, place)?;
        let truth = self.decoder.predicate(truth, place)?;
        let (mut test, mut effects) = conversion(self.span, LaneOp::SetpNeB32, result, truth);
        test.action = Action::Compare(combine);
        (test.sources[1], test.sources[2]) = (zero, third);
        test.reads.insert(third);
        effects.reads.push(third);
        under_guard(&mut test, &mut effects, self.out);
        self.after.push((test, effects));
        Ok(())
    }

    pub(super) fn predicate_logic(&mut self, operation: PredicateOp) -> Result<(), PtxError> {
        let count = if matches!(operation, PredicateOp::Mov | PredicateOp::Not) { 2 } else { 3 };
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
        self.out.action = Action::Predicate(operation);
        Ok(())
    }
}

/// The word that `set` writes for true, by the type of its result.
fn truth(element: &str) -> u32 {
    match element {
        "f32" => 0x3f80_0000,
        "f16" | "f16x2" => 0x3c00,
        "bf16" | "bf16x2" => 0x3f80,
        "u16" => 0xffff,
        _ => 0xffff_ffff,
    }
}

/// The type of a source that has another than the instruction's.
fn own_type(opcode: &str, index: usize) -> Option<&str> {
    let mut words = opcode.split('.');
    match (words.next()?, index) {
        ("shl" | "shr", 1) | ("bfe", 1 | 2) | ("bfi", 2 | 3) | ("shf", 2) => Some("u32"),
        ("slct", 0 | 1) => words.find(|word| *word != "ftz"),
        ("cvt", 0 | 1) if words.next() == Some("pack") => Some("s32"),
        _ => None,
    }
}

/// An instruction on integers, such as a conversion, without text of its own.
fn conversion(span: Span, op: LaneOp, from: u16, to: u16) -> (Instruction, Effects) {
    let mut instruction = blank(span);
    (instruction.action, instruction.op) = (Action::Lane, op);
    (instruction.unit, instruction.latency) = (Unit::Sp, Latency::IntOther);
    instruction.text = (span.end, span.end);
    instruction.sources[0] = from;
    instruction.destinations[0] = to;
    instruction.reads.insert(from);
    instruction.writes.insert(to);
    let effects = Effects { reads: vec![from], writes: vec![to], ..Effects::default() };
    (instruction, effects)
}
