//! Constant expressions of integers (PTX ISA 4.5.1, 4.6): C's operators and precedence in 64 bits.
//!
//! A value is signed unless its literal ends in `U` or does not fit 63 bits, or a cast says so; an operation is unsigned if one
//! of its operands is. Comparisons and logic give a signed 0 or 1. Floating-point literals are operands on their own.

use super::{Parser, operands::integer};
use crate::syntax::error::PtxError;
use crate::syntax::lexer::TokenKind;

/// `WARP_SZ`, the only constant that has a name (PTX ISA 4.4).
pub(super) const WARP_SIZE: u64 = 32;

/// Parentheses and operators nested deeper than this are refused, so that no text can exhaust the stack.
const DEEPEST: u32 = 64;

/// A value, and whether it is unsigned.
#[derive(Clone, Copy)]
pub(super) struct Constant {
    pub(super) value: u64,
    unsigned: bool,
}

impl Constant {
    fn signed(value: i64) -> Self {
        Constant { value: value as u64, unsigned: false }
    }
}

/// The operators of two operands with their precedence, longest first.
const OPERATORS: [(&str, u32); 18] = [
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("==", 6),
    ("!=", 6),
    ("&&", 2),
    ("||", 1),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
    ("&", 5),
    ("^", 4),
    ("|", 3),
];

/// The precedence of `+` and `-`.
const SUM: u32 = 9;

impl Parser<'_> {
    /// Whether an integer expression begins here.
    pub(super) fn is_constant(&self) -> bool {
        match self.kind() {
            TokenKind::Number => integer(self.text()).is_some(),
            TokenKind::Mark(mark) => b"(-+~".contains(&mark),
            _ => self.text() == "WARP_SZ",
        }
    }

    /// A whole expression.
    pub(super) fn constant(&mut self) -> Result<u64, PtxError> {
        Ok(self.conditional(0)?.value)
    }

    /// The number of registers before a `>`, which ends it.
    pub(super) fn range(&mut self) -> Result<u32, PtxError> {
        let place = self.token().place;
        if !self.is_constant() {
            return Err(self.unexpected("a number of registers"));
        }
        let value = self.binary(SUM, 0)?.value;
        u32::try_from(value).map_err(|_| PtxError::new(place, format!("{value} registers are too many")))
    }

    /// The terms behind a name, such as `+4*2-1`: their sum.
    pub(super) fn offset(&mut self) -> Result<i64, PtxError> {
        let mut sum = 0i64;
        while self.is_mark(b'+') || self.is_mark(b'-') {
            let negative = !self.accept(b'+') && self.accept(b'-');
            let value = self.binary(SUM + 1, 0)?.value as i64;
            sum = if negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
        }
        Ok(sum)
    }

    fn conditional(&mut self, depth: u32) -> Result<Constant, PtxError> {
        let condition = self.binary(1, depth)?;
        if !self.accept(b'?') {
            return Ok(condition);
        }
        let yes = self.conditional(depth + 1)?;
        self.expect(b':')?;
        let no = self.conditional(depth + 1)?;
        Ok(if condition.value != 0 { yes } else { no })
    }

    fn operator(&self) -> Option<(&'static str, u32)> {
        let rest = self.source.get(self.token().start as usize..)?;
        OPERATORS.into_iter().find(|(text, _)| rest.starts_with(text))
    }

    fn binary(&mut self, least: u32, depth: u32) -> Result<Constant, PtxError> {
        let mut left = self.unary(depth)?;
        while let Some((operator, precedence)) =
            self.operator().filter(|(_, precedence)| *precedence >= least)
        {
            let place = self.token().place;
            self.at += operator.len();
            let right = self.binary(precedence + 1, depth + 1)?;
            left = apply(operator, left, right)
                .ok_or_else(|| PtxError::new(place, "a constant is divided by zero"))?;
        }
        Ok(left)
    }

    fn unary(&mut self, depth: u32) -> Result<Constant, PtxError> {
        if depth > DEEPEST {
            return Err(PtxError::new(self.token().place, "expressions are nested too deeply"));
        }
        if self.accept(b'-') {
            let operand = self.unary(depth + 1)?;
            return Ok(Constant { value: operand.value.wrapping_neg(), ..operand });
        }
        if self.accept(b'+') {
            return self.unary(depth + 1);
        }
        if self.accept(b'~') {
            let operand = self.unary(depth + 1)?;
            return Ok(Constant { value: !operand.value, ..operand });
        }
        if self.accept(b'!') {
            let operand = self.unary(depth + 1)?;
            return Ok(Constant::signed(i64::from(operand.value == 0)));
        }
        if self.accept(b'(') {
            let cast = match self.text() {
                ".s64" => Some(false),
                ".u64" => Some(true),
                _ => None,
            };
            if let Some(unsigned) = cast {
                self.at += 1;
                self.expect(b')')?;
                return Ok(Constant { unsigned, ..self.unary(depth + 1)? });
            }
            let inner = self.conditional(depth + 1)?;
            self.expect(b')')?;
            return Ok(inner);
        }
        let text = self.text();
        let value = match self.kind() {
            TokenKind::Number => integer(text),
            _ => (text == "WARP_SZ").then_some(WARP_SIZE),
        };
        let value = value.ok_or_else(|| self.unexpected("an integer"))?;
        self.at += 1;
        Ok(Constant { value, unsigned: text.ends_with(['U', 'u']) || value > i64::MAX as u64 })
    }
}

/// The value of an operation; `None` for a division by zero.
fn apply(operator: &str, left: Constant, right: Constant) -> Option<Constant> {
    let unsigned = left.unsigned || right.unsigned;
    let (a, b) = (left.value, right.value);
    let (x, y) = (a as i64, b as i64);
    let truth = |holds: bool| Constant::signed(i64::from(holds));
    let number = |value: u64| Constant { value, unsigned };
    // A shift is as its left operand; by 64 bits or more nothing is left but the sign.
    let shifted = |value: u64| Constant { value, unsigned: left.unsigned };
    let amount = u32::try_from(b).unwrap_or(u32::MAX);
    Some(match operator {
        "<<" => shifted(a.checked_shl(amount).unwrap_or(0)),
        ">>" if left.unsigned => shifted(a.checked_shr(amount).unwrap_or(0)),
        ">>" => shifted((x >> amount.min(63)) as u64),
        "<=" => truth(if unsigned { a <= b } else { x <= y }),
        ">=" => truth(if unsigned { a >= b } else { x >= y }),
        "<" => truth(if unsigned { a < b } else { x < y }),
        ">" => truth(if unsigned { a > b } else { x > y }),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "&&" => truth(a != 0 && b != 0),
        "||" => truth(a != 0 || b != 0),
        "+" => number(a.wrapping_add(b)),
        "-" => number(a.wrapping_sub(b)),
        "*" => number(a.wrapping_mul(b)),
        "/" if b == 0 => return None,
        "/" if unsigned => number(a / b),
        "/" => number(x.wrapping_div(y) as u64),
        "%" if b == 0 => return None,
        "%" if unsigned => number(a % b),
        "%" => number(x.wrapping_rem(y) as u64),
        "&" => number(a & b),
        "^" => number(a ^ b),
        _ => number(a | b),
    })
}
