//! Registers as the text declares them: kinds, classes of types, the numbers in their names, and vectors, whose parts
//! are registers of their own (`v.x`). Constants, which can replace registers as operands, have rows too.

use super::Decoder;
use crate::program::{CONSTANT, Row};
use crate::syntax::ast::{OperandKind, Variable};
use crate::syntax::error::{PtxError, SourcePosition};
use crate::syntax::types::element_size;

/// Register ids fit 15 bits, because the sixteenth marks constants.
pub const MOST_REGISTERS: usize = 0x7ff0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterType {
    Predicate,
    /// Up to 32 bits; one row.
    Narrow(u8),
    /// 64 bits; two rows.
    Wide,
}

impl RegisterType {
    pub(super) fn bits(self) -> u8 {
        match self {
            RegisterType::Predicate => 1,
            RegisterType::Narrow(bits) => bits,
            RegisterType::Wide => 64,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Register {
    pub id: u16,
    pub kind: RegisterType,
    pub class: Class,
}

/// A name that is declared to be a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    kind: RegisterType,
    class: Class,
    /// Number of registers, if the name is the prefix of a range.
    pub(super) range: Option<u32>,
    /// Number of parts, 1 of a scalar.
    vector: u32,
    /// Whether the register has 128 bits, with halves as parts.
    pair: bool,
}

/// The names of a vector's parts; the second half is that of colours.
const PARTS: [&str; 8] = ["x", "y", "z", "w", "r", "g", "b", "a"];

/// The names of the halves of a register of 128 bits; no name of the text has blanks.
const HALVES: [&str; 2] = ["low half", "high half"];

/// Class of a type (PTX ISA 9.2): types of different classes do not mix, untyped bits go with all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Bits,
    Integer,
    Float,
    /// `.f16`, and `.f16x2`.
    Half,
    Halves,
    /// A format that registers do not have: its values are in untyped registers.
    Format,
}

impl Class {
    /// The class of a type such as `u32`.
    pub fn of(element: &str) -> Class {
        match element.as_bytes() {
            b"f16" => Class::Half,
            b"f16x2" => Class::Halves,
            b"bf16" | b"bf16x2" | b"tf32" | b"e4m3x2" | b"e5m2x2" | b"u16x2" | b"s16x2" => Class::Format,
            [b'u' | b's', ..] => Class::Integer,
            [b'f', ..] => Class::Float,
            _ => Class::Bits,
        }
    }

    /// A register of this class, in words; and that together with an untyped one.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Class::Bits | Class::Format => ("an untyped register", "an untyped one"),
            Class::Integer => ("an integer register", "an integer or untyped one"),
            Class::Float => ("a floating-point register", "a floating-point or untyped one"),
            Class::Half => ("an `.f16` register", "an `.f16` or untyped one"),
            Class::Halves => ("an `.f16x2` register", "an `.f16x2` or untyped one"),
        }
    }
}

impl Decoder<'_> {
    pub(super) fn declare_registers(&mut self, variable: &Variable) -> Result<(), PtxError> {
        let place = variable.span.place;
        if !variable.dimensions.is_empty() || !variable.initial.is_empty() {
            return Err(PtxError::new(place, "registers are not arrays and have no initial values"));
        }
        let pair = variable.element == "b128" && variable.vector == 1;
        let kind = match element_size(&variable.element) {
            Some(0) => RegisterType::Predicate,
            Some(8) => RegisterType::Wide,
            Some(_) if pair => RegisterType::Wide,
            Some(bytes @ 1..8) => RegisterType::Narrow(bytes as u8 * 8),
            Some(_) => {
                let message = format!("registers of type `.{}` are not supported", variable.element);
                return Err(PtxError::unsupported(place, message));
            }
            None => return Err(PtxError::new(place, "unknown register type")),
        };
        let class = Class::of(&variable.element);
        let declared = Declared {
            kind,
            class,
            range: variable.range,
            vector: if pair { 2 } else { variable.vector },
            pair,
        };
        if self.scopes[self.scope].declared.insert(variable.name.clone(), declared).is_some() {
            let message = format!("`{}` is declared twice in this scope", variable.name);
            return Err(PtxError::new(place, message));
        }
        Ok(())
    }

    /// The scope that declares a register's name, and how.
    fn declaration(&self, name: &str) -> Option<(usize, Declared)> {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(digits);
        let number = number.parse::<u32>().ok().filter(|n| n.to_string().len() == name.len() - digits);
        let mut scope = self.scope;
        loop {
            let declared = &self.scopes[scope].declared;
            let whole = declared.get(name).filter(|declared| declared.range.is_none());
            let ranged = declared
                .get(prefix)
                .filter(|declared| matches!((declared.range, number), (Some(count), Some(n)) if n < count));
            if let Some(&found) = whole.or(ranged) {
                return Some((scope, found));
            }
            // A parameter of a call hides the registers of the enclosing scopes.
            if scope == 0 || self.scopes[scope].frame.contains_key(name) {
                return None;
            }
            scope = self.scopes[scope].parent;
        }
    }

    /// The register of this name here, or `None` if no scope declares it.
    pub(super) fn find_register(
        &mut self,
        name: &str,
        place: SourcePosition,
    ) -> Result<Option<Register>, PtxError> {
        let (found, key) = match name.rsplit_once('.') {
            Some((vector, part)) => {
                let found = self.declaration(vector);
                if found.is_some_and(|(_, declared)| declared.pair) {
                    (found.filter(|_| HALVES.contains(&part)), name.to_owned())
                } else {
                    let index = PARTS.iter().position(|known| *known == part).map(|index| index as u32 % 4);
                    let found =
                        found.filter(|(_, declared)| index.is_some_and(|index| index < declared.vector));
                    (found, format!("{vector}.{}", PARTS[index.unwrap_or_default() as usize]))
                }
            }
            None => (self.declaration(name), name.to_owned()),
        };
        let Some((scope, declared)) = found else { return Ok(None) };
        if declared.pair && !key.contains('.') {
            let error = PtxError::new(place, format!("`{name}` has 128 bits"));
            return Err(error.expecting("`mov`, `ld`, `st` or `atom` of `.b128`"));
        }
        if declared.vector > 1 && !key.contains('.') {
            let error = PtxError::new(place, format!("`{name}` is a vector"));
            return Err(error.expecting(format!("a part of it, such as `{name}.x`")));
        }
        let Declared { kind, class, .. } = declared;
        let key = (scope, key);
        if let Some(&id) = self.names.get(&key) {
            return Ok(Some(Register { id, kind, class }));
        }
        let id = match self.shared.get(&key).copied() {
            Some(register) => self.shared_register(register, kind, number_of(name), place)?,
            None => self.new_register(kind, number_of(name), place)?,
        };
        self.names.insert(key, id);
        Ok(Some(Register { id, kind, class }))
    }

    /// The parts of a register of vector type.
    pub(super) fn vector(&self, name: &str) -> Option<Vec<OperandKind>> {
        let is_vector = |declared: &Declared| declared.vector > 1 && !declared.pair;
        let (_, declared) = self.declaration(name).filter(|(_, declared)| is_vector(declared))?;
        let parts = PARTS[..4].iter().take(declared.vector as usize);
        Some(parts.map(|part| OperandKind::Name(format!("{name}.{part}"))).collect())
    }

    /// The halves of a register of 128 bits, the low one first.
    pub(super) fn halves(&self, name: &str) -> Option<[OperandKind; 2]> {
        self.declaration(name).filter(|(_, declared)| declared.pair)?;
        Some(HALVES.map(|half| OperandKind::Name(format!("{name}.{half}"))))
    }

    fn new_register(
        &mut self,
        kind: RegisterType,
        number: Option<u8>,
        place: SourcePosition,
    ) -> Result<u16, PtxError> {
        if self.registers.len() >= MOST_REGISTERS {
            self.is_full = true;
            return Err(self.too_many("registers", place));
        }
        self.registers.push(kind);
        self.numbers.push(number);
        Ok(self.registers.len() as u16 - 1)
    }

    /// A register of several names, of which another one has it now.
    fn shared_register(
        &mut self,
        register: usize,
        kind: RegisterType,
        number: Option<u8>,
        place: SourcePosition,
    ) -> Result<u16, PtxError> {
        let id = match self.shared_ids.get(&register) {
            Some(&id) => id,
            None => self.new_register(kind, number, place)?,
        };
        self.numbers[usize::from(id)] = number;
        self.shared_ids.insert(register, id);
        Ok(id)
    }

    /// The error for a kernel that is too large. Others of its module can run.
    fn too_many(&self, what: &str, place: SourcePosition) -> PtxError {
        PtxError::unsupported(place, format!("`{}` has more than {MOST_REGISTERS} {what}", self.name))
    }

    /// The predicate that holds the carry flag.
    pub(super) fn carry(&mut self, place: SourcePosition) -> Result<u16, PtxError> {
        if let Some(carry) = self.carry {
            return Ok(carry);
        }
        let carry = self.temporary(RegisterType::Predicate, place)?;
        Ok(*self.carry.insert(carry))
    }

    /// A register that no text names.
    pub(super) fn temporary(&mut self, kind: RegisterType, place: SourcePosition) -> Result<u16, PtxError> {
        self.new_register(kind, None, place)
    }

    /// The operand for a constant of each lane.
    pub(super) fn lanes(&mut self, row: Row, place: SourcePosition) -> Result<u16, PtxError> {
        if self.constants.len() >= MOST_REGISTERS {
            return Err(self.too_many("different constants", place));
        }
        self.constants.push(row);
        Ok((self.constants.len() as u16 - 1) | CONSTANT)
    }

    pub(super) fn constant(
        &mut self,
        value: u64,
        wide: bool,
        place: SourcePosition,
    ) -> Result<u16, PtxError> {
        let value = if wide { value } else { value & 0xffff_ffff };
        if let Some(&index) = self.constant_index.get(&(value, wide)) {
            return Ok(index);
        }
        if self.constants.len() >= MOST_REGISTERS {
            return Err(self.too_many("different constants", place));
        }
        let index = self.constants.len() as u16 | CONSTANT;
        if wide {
            // Two rows are 32 words of 64 bits: low and high halves alternate.
            let mut row = Row::ZERO;
            for pair in row.0.chunks_exact_mut(2) {
                pair[0] = value as u32;
                pair[1] = (value >> 32) as u32;
            }
            self.constants.extend([row, row]);
        } else {
            self.constants.push(Row([value as u32; 32]));
        }
        self.constant_index.insert((value, wide), index);
        Ok(index)
    }
}

/// The number in a register's name, modulo 256: its position in the register file.
pub(super) fn number_of(name: &str) -> Option<u8> {
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    digits
        .fold(None, |number, digit| Some(number.unwrap_or(0_u8).wrapping_mul(10).wrapping_add(digit - b'0')))
}
