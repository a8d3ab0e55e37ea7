//! Instructions of the lane-wise table, and the logic of predicates.

use super::RegisterType;
use super::instruction::{Line, Width};
use crate::ast::OperandKind;
use crate::error::PtxError;
use crate::isa::{self, LaneRow, LaneType};
use crate::parser::element_size;
use crate::program::{Action, Combine, PredicateOp, SetValue};

impl Line<'_, '_, '_> {
    pub(super) fn lanes(&mut self, mut row: &'static LaneRow) -> Result<(), PtxError> {
        let opcode = self.source.opcode.as_str();
        let conversion = opcode.starts_with("cvt.");
        let carries_in = ["addc.", "subc.", "madc."].iter().any(|name| opcode.starts_with(name));
        let count = row.sources.len() + usize::from(!carries_in);
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
        // The last word is the type, of a conversion that of the source. Where an operand has another type of its
        // own, as a shift's amount, the instruction's is `.b`, `.u` or `.s` and the operand an integer too.
        let mut words = opcode.rsplit('.').filter(|word| element_size(word).is_some());
        let (source_type, before) = (words.next().unwrap_or(""), words.next());
        let result_type = before.unwrap_or(source_type);
        let source_type = if opcode.starts_with("slct.") { "" } else { source_type };
        for (index, kind) in row.sources.iter().enumerate() {
            if carries_in && *kind == LaneType::Predicate {
                let carry = self.decoder.carry(self.span.place)?;
                self.effects.reads.push(carry);
                self.out.sources[index] = carry;
                continue;
            }
            let operand = &operands[index + 1];
            self.check_class(operand, source_type)?;
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
                self.check_class(&operands[0], result_type)?;
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
                self.out.memory.wide_value = bits == 64;
                if let Some(carry) = isa::lane_row(&format!("{opcode}/carry")) {
                    let id = self.decoder.carry(self.span.place)?;
                    self.effects.writes.push(id);
                    self.out.destinations[1] = id;
                    self.out.action = Action::Carry(carry.op);
                }
            }
        }
        Ok(())
    }

    pub(super) fn row(&mut self, row: &LaneRow, action: Action) {
        self.out.op = row.op;
        self.book(action, row.unit, row.latency);
    }

    pub(super) fn compare(&mut self, row: &'static LaneRow) -> Result<(), PtxError> {
        let opcode = self.source.opcode.as_str();
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
            self.check_class(&operands[index + 1], opcode.rsplit('.').next().unwrap_or(""))?;
            self.out.sources[index] = self.read(&operands[index + 1], Width::Exactly(bits))?;
        }
        if combine != Combine::None {
            self.out.sources[2] = self.read_predicate_or_not(&operands[3])?;
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
