//! PTX text to tokens (PTX ISA 4, "Syntax").
//!
//! A word carries its dots (`add.s32`, `%tid.x`) and its double colons (`ld.shared::cta.b32`): PTX allows no
//! blank inside an opcode, so cutting it here would only make the parser glue it together again. A word that
//! begins with a dot is one directive: `.reg.b32` is two. Comments, blanks and a byte order mark are not tokens; they
//! are between the spans of two tokens, so the text can be printed back exactly.

use crate::syntax::error::{PtxError, SourcePosition};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name, an opcode with its modifiers or a directive.
    Word,
    /// A literal that starts with a digit.
    Number,
    /// A string in double quotes.
    Text,
    /// One character of punctuation.
    Mark(u8),
    /// The end of the text.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: TokenKind,
    /// First byte in the source.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line and column of the first byte.
    pub place: SourcePosition,
}

/// Cuts a text into tokens; the last one is always `End`.
pub fn tokenize(source: &str) -> Result<Vec<Token>, Vec<PtxError>> {
    let first = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lexer = Lexer { bytes: source.as_bytes(), at: first, line: 1, column: 1, counted: first, source };
    let mut tokens = Vec::new();
    let mut errors = Vec::new();
    if source.len() > u32::MAX as usize {
        return Err(vec![PtxError::new(lexer.place(), "the text is longer than 4 GiB")]);
    }
    loop {
        match lexer.next() {
            Ok(token) => {
                tokens.push(token);
                if token.kind == TokenKind::End {
                    break;
                }
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(tokens) } else { Err(errors) }
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    /// The column of the byte `counted`, which is never behind `at`.
    column: u32,
    counted: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn place(&mut self) -> SourcePosition {
        // Columns count characters, as editors do. They go on from the last place: a line may have a million tokens.
        let passed = self.bytes.get(self.counted..self.at).unwrap_or_default();
        self.column += passed.iter().filter(|byte| !is_continuation(**byte)).count() as u32;
        self.counted = self.at;
        SourcePosition { line: self.line, column: self.column }
    }

    fn advance(&mut self) {
        if self.peek(0) == b'\n' {
            self.line += 1;
            (self.column, self.counted) = (1, self.at + 1);
        }
        self.at += 1;
    }

    fn skip_blanks(&mut self) -> Result<(), PtxError> {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' => self.advance(),
                b'/' if self.peek(1) == b'/' => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                b'/' if self.peek(1) == b'*' => {
                    let place = self.place();
                    self.at += 2;
                    loop {
                        if self.at >= self.bytes.len() {
                            return Err(PtxError::new(place, "comment without an end").expecting("`*/`"));
                        }
                        if self.peek(0) == b'*' && self.peek(1) == b'/' {
                            self.at += 2;
                            break;
                        }
                        self.advance();
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && accept(self.peek(0)) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<Token, PtxError> {
        self.skip_blanks()?;
        let place = self.place();
        let start = self.at as u32;
        let first = self.peek(0);
        let kind = if self.at >= self.bytes.len() {
            TokenKind::End
        } else if is_word(first) && !first.is_ascii_digit() && !self.is_remainder() {
            self.take_word();
            TokenKind::Word
        } else if first.is_ascii_digit() {
            self.take_number();
            TokenKind::Number
        } else if first == b'"' {
            self.at += 1;
            self.take_while(|c| c != b'"' && c != b'\n');
            if self.peek(0) != b'"' {
                return Err(PtxError::new(place, "string without an end").expecting("`\"`"));
            }
            self.at += 1;
            TokenKind::Text
        } else if b"{}()[]<>,;:@!|+-=*/%&^~?".contains(&first) {
            self.at += 1;
            TokenKind::Mark(first)
        } else {
            // A whole character is skipped, so that the next token starts on a boundary.
            let width = self.source.get(self.at..).and_then(|rest| rest.chars().next());
            let shown = width.unwrap_or('\u{fffd}');
            self.at += width.map_or(1, char::len_utf8);
            return Err(PtxError::new(place, format!("unexpected character {shown:?}")));
        };
        Ok(Token { kind, start, end: self.at as u32, place })
    }

    /// Whether a `%` is the operator and not the first letter of a register.
    fn is_remainder(&self) -> bool {
        self.peek(0) == b'%'
            && !(self.peek(1).is_ascii_alphabetic() || matches!(self.peek(1), b'_' | b'$' | b'%'))
    }

    fn take_word(&mut self) {
        let directive = self.peek(0) == b'.';
        self.at += 1;
        loop {
            match self.peek(0) {
                b'.' if directive => return,
                b':' if self.peek(1) == b':' && is_word(self.peek(2)) => self.at += 2,
                letter if is_word(letter) => self.at += 1,
                _ => return,
            }
        }
    }

    fn take_number(&mut self) {
        let prefixed =
            self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X' | b'f' | b'F' | b'd' | b'D');
        self.take_while(|c| c.is_ascii_alphanumeric() || c == b'_');
        if prefixed {
            return;
        }
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.take_while(|c| c.is_ascii_alphanumeric());
        }
        // `1.5e-3`: the sign belongs to the number only right behind its exponent mark.
        let exponent = matches!(self.bytes.get(self.at.wrapping_sub(1)), Some(b'e' | b'E'));
        if exponent && matches!(self.peek(0), b'+' | b'-') && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

/// Whether a byte of UTF-8 is not the first of its character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_spans_are_those_of_the_text() {
        let source = "add.s32 %r1, %r2,\n  -0x1F; // end\n/* two\nlines */ $L1:";
        let tokens = tokenize(source).unwrap();
        let texts: Vec<&str> = tokens.iter().map(|t| &source[t.start as usize..t.end as usize]).collect();
        assert_eq!(texts, ["add.s32", "%r1", ",", "%r2", ",", "-", "0x1F", ";", "$L1", ":", ""]);
        assert_eq!(tokens[5].place, SourcePosition { line: 2, column: 3 });
        assert_eq!(tokens[8].place, SourcePosition { line: 4, column: 10 });
    }

    #[test]
    fn columns_count_characters() {
        let tokens = tokenize("/* é */ a /* ü\nß */ b, \"é\" c // ö\nd").unwrap();
        let places: Vec<(u32, u32)> = tokens.iter().map(|it| (it.place.line, it.place.column)).collect();
        assert_eq!(places, [(1, 9), (2, 6), (2, 7), (2, 9), (2, 13), (3, 1), (3, 2)]);
    }

    #[test]
    fn all_bad_characters_are_reported() {
        let errors = tokenize("a # b\n é").unwrap_err();
        assert_eq!(errors.len(), 2);
        assert_eq!((errors[1].line, errors[1].column), (2, 2));
        assert!(tokenize("\"open").is_err());
        assert!(tokenize("/* open").is_err());
    }

    #[test]
    fn directives_are_cut_at_their_dots_and_opcodes_are_not() {
        let texts = |source: &str| -> Vec<String> {
            let tokens = tokenize(source).unwrap();
            tokens.iter().map(|t| source[t.start as usize..t.end as usize].to_owned()).collect()
        };
        assert_eq!(texts(".reg.b32 %r<2>;")[..3], [".reg", ".b32", "%r"]);
        assert_eq!(texts("ld.shared::cta.L2::128B.b32 x")[..2], ["ld.shared::cta.L2::128B.b32", "x"]);
        assert_eq!(texts("\u{feff}a:\r\nb")[..4], ["a", ":", "b", ""]);
    }

    #[test]
    fn exponents_keep_their_sign() {
        let source = "1.5e-3 0x1e-3";
        let count = tokenize(source).unwrap().len();
        assert_eq!(count, 1 + 3 + 1);
    }
}
