//! Operands and literals (PTX ISA 4.5 and 6).

use super::Parser;
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::error::PtxError;
use crate::syntax::lexer::TokenKind;

/// No compiler passes more.
const MOST_ARGUMENTS: usize = 1024;

impl Parser<'_> {
    /// An operand; `lists` where parentheses hold the arguments of a call, not a constant.
    pub(super) fn operand(&mut self, lists: bool) -> Result<Operand, PtxError> {
        let first = self.at;
        let kind = match self.kind() {
            TokenKind::Mark(b'{') => {
                self.at += 1;
                OperandKind::Vector(self.parts()?)
            }
            TokenKind::Mark(b'(') if lists => {
                self.at += 1;
                let mut list = Vec::new();
                while !self.is_mark(b')') {
                    if list.len() >= MOST_ARGUMENTS {
                        return Err(self.unexpected("fewer arguments"));
                    }
                    let first = self.at;
                    let kind = self.simple_operand()?;
                    list.push(Operand { kind, span: self.span_from(first) });
                    if !self.accept(b',') {
                        break;
                    }
                }
                self.expect(b')')?;
                OperandKind::List(list)
            }
            TokenKind::Mark(b'[') => {
                self.at += 1;
                let address = match self.simple_operand()? {
                    OperandKind::Name(name) if self.accept(b',') => {
                        if self.accept(b'{') {
                            OperandKind::Texture(name, self.parts()?)
                        } else {
                            OperandKind::Texture(name, vec![self.simple_operand()?])
                        }
                    }
                    OperandKind::Name(name) => OperandKind::Address(name, 0),
                    OperandKind::Offset(name, offset) => OperandKind::Address(name, offset),
                    OperandKind::Integer(value) => OperandKind::Absolute(value),
                    _ => return Err(self.unexpected("an address")),
                };
                self.expect(b']')?;
                address
            }
            _ => self.simple_operand()?,
        };
        Ok(Operand { kind, span: self.span_from(first) })
    }

    /// The parts between braces, and the closing one.
    fn parts(&mut self) -> Result<Vec<OperandKind>, PtxError> {
        let mut parts = Vec::new();
        loop {
            parts.push(self.simple_operand()?);
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b'}')?;
        Ok(parts)
    }

    fn simple_operand(&mut self) -> Result<OperandKind, PtxError> {
        if self.is_mark(b'!') && self.tokens.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Word)
        {
            self.at += 1;
            return Ok(OperandKind::Not(self.name("a predicate register")?.to_owned()));
        }
        if let Some(float) = self.float() {
            return float;
        }
        if self.is_constant() || self.is_mark(b'!') {
            return Ok(OperandKind::Integer(self.constant()?));
        }
        if self.kind() == TokenKind::Number {
            return Err(self.not_a_number());
        }
        let name = self.name("an operand")?;
        if name == "_" && !self.is_mark(b'|') {
            return Ok(OperandKind::Discard);
        }
        if self.accept(b'|') {
            return Ok(OperandKind::Pair(name.to_owned(), self.name("a register")?.to_owned()));
        }
        if self.is_mark(b'+') || self.is_mark(b'-') {
            return Ok(OperandKind::Offset(name.to_owned(), self.offset()?));
        }
        Ok(OperandKind::Name(name.to_owned()))
    }

    /// A floating-point literal with its sign, if one is here.
    fn float(&mut self) -> Option<Result<OperandKind, PtxError>> {
        let negative = self.is_mark(b'-');
        let token = *self.tokens.get(self.at + usize::from(negative))?;
        let text = self.text_of(token);
        if token.kind != TokenKind::Number || integer(text).is_some() {
            return None;
        }
        let bits = |digits: usize| {
            let hexadecimal = text.get(2..).filter(|hex| hex.len() == digits)?;
            u64::from_str_radix(hexadecimal, 16).ok()
        };
        let value = match text.get(..2) {
            Some("0f" | "0F") => {
                bits(8).map(|b| OperandKind::Float32(b as u32 ^ if negative { 1 << 31 } else { 0 }))
            }
            Some("0d" | "0D") => {
                bits(16).map(|b| OperandKind::Float64(b ^ if negative { 1 << 63 } else { 0 }))
            }
            _ => {
                let decimal = text.contains(['.', 'e', 'E']) && !text.starts_with("0x");
                let value = text.parse::<f64>().ok().filter(|_| decimal);
                value.map(|v| OperandKind::Float64(if negative { -v } else { v }.to_bits()))
            }
        };
        self.at += usize::from(negative);
        let Some(value) = value else { return Some(Err(self.not_a_number())) };
        self.at += 1;
        Some(Ok(value))
    }

    fn not_a_number(&self) -> PtxError {
        PtxError::new(self.token().place, format!("`{}` is not a number", self.text()))
            .expecting("an integer, `0f` and 8 digits, or `0d` and 16 digits")
    }
}

/// An integer literal: decimal, `0x`, `0b` or octal, with an optional `U`.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['U', 'u']).unwrap_or(text);
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B")) {
        u64::from_str_radix(digits, 2).ok()
    } else if text.len() > 1 && text.starts_with('0') {
        u64::from_str_radix(text, 8).ok()
    } else {
        text.parse().ok()
    }
}
