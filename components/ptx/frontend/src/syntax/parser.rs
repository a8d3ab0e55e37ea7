//! Tokens to a module, by recursive descent (PTX ISA 4 and 5; directives, section 11).
//!
//! The parser knows the shape of statements and nothing of the meaning of opcodes. After an error it
//! continues behind the next `;` or at the next closing brace, so that one run reports all it can.

mod constants;
mod directives;
mod functions;
mod operands;
mod widths;

use crate::syntax::ast::{
    Guard, Instruction, Module, SourceLines, Span, Statement, StatementKind, StorageSpace, Variable,
};
use crate::syntax::error::{PtxError, SourcePosition, distinct};
use crate::syntax::lexer::{Token, TokenKind, tokenize};
use crate::syntax::types::element_size;

/// Scopes deeper than this are refused, so that no text can exhaust the stack.
const DEEPEST_SCOPE: u32 = 64;

/// Whether a text has the directive that every PTX module has, `.version`.
pub fn is_ptx(source: &str) -> bool {
    source.contains(".version")
}

/// Reads a PTX module.
///
/// # Errors
/// Syntax errors, each cause once; a single error for a text that is not PTX.
pub fn parse(source: &str) -> Result<Module, Vec<PtxError>> {
    let read = parse_all(source);
    if read.is_err() && !is_ptx(source) {
        let place = SourcePosition { line: 1, column: 1 };
        return Err(vec![PtxError::new(place, "this is not PTX: it has no `.version`")]);
    }
    read.map_err(distinct)
}

/// Reads a module; returns all errors in the order of the text.
fn parse_all(source: &str) -> Result<Module, Vec<PtxError>> {
    let tokens = tokenize(source)?;
    let sources = SourceLines::default();
    let mut parser = Parser { source, tokens: &tokens, at: 0, errors: Vec::new(), depth: 0, sources };
    let mut module = Module {
        source: String::new(),
        tokens: Vec::new(),
        version: String::new(),
        target: String::new(),
        address_size: 0,
        is_width_inferred: false,
        variables: Vec::new(),
        functions: Vec::new(),
        aliases: Vec::new(),
        sources: SourceLines::default(),
    };
    while parser.kind() != TokenKind::End {
        let before = parser.at;
        if let Err(error) = parser.module_item(&mut module) {
            parser.errors.push(error);
            parser.recover();
            if parser.at == before {
                parser.at += 1;
            }
        }
    }
    parser.require_directives(&mut module);
    let Parser { errors, sources, .. } = parser;
    if !errors.is_empty() {
        return Err(errors);
    }
    module.sources = sources;
    module.source = source.to_owned();
    module.tokens = tokens;
    Ok(module)
}

struct Parser<'a> {
    source: &'a str,
    tokens: &'a [Token],
    at: usize,
    errors: Vec<PtxError>,
    depth: u32,
    sources: SourceLines,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        // The last token is `End`, and nothing moves past it.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn text(&self) -> &'a str {
        self.text_of(self.token())
    }

    fn is_mark(&self, mark: u8) -> bool {
        self.kind() == TokenKind::Mark(mark)
    }

    fn accept(&mut self, mark: u8) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.at += 1;
        }
        found
    }

    fn unexpected(&self, expected: &str) -> PtxError {
        let found = match self.kind() {
            TokenKind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.text()),
        };
        PtxError::new(self.token().place, format!("unexpected {found}")).expecting(expected)
    }

    fn expect(&mut self, mark: u8) -> Result<(), PtxError> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{}`", mark as char))) }
    }

    fn word(&mut self, what: &str) -> Result<&'a str, PtxError> {
        if self.kind() != TokenKind::Word {
            return Err(self.unexpected(what));
        }
        let text = self.text();
        self.at += 1;
        Ok(text)
    }

    fn name(&mut self, what: &str) -> Result<&'a str, PtxError> {
        if self.text().starts_with('.') {
            return Err(self.unexpected(what));
        }
        self.word(what)
    }

    fn unsigned(&mut self, what: &str) -> Result<u64, PtxError> {
        if self.is_constant() { self.constant() } else { Err(self.unexpected(what)) }
    }

    fn unsigned32(&mut self, what: &str) -> Result<u32, PtxError> {
        let place = self.token().place;
        let value = self.unsigned(what)?;
        u32::try_from(value)
            .map_err(|_| PtxError::new(place, format!("{value} is too large")).expecting(what))
    }

    fn span_from(&self, first: usize) -> Span {
        let start = self.tokens[first.min(self.tokens.len() - 1)];
        let last = self.tokens[self.at.saturating_sub(1).max(first).min(self.tokens.len() - 1)];
        Span { start: start.start, end: last.end, place: start.place }
    }

    /// Moves behind the next `;`, or to a brace that may close an open one.
    fn recover(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::Mark(b'}') => return,
                TokenKind::Mark(b';') => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn declaration(&mut self, module: &mut Module, first: usize) -> Result<(), PtxError> {
        let mut external = false;
        loop {
            match self.text() {
                ".visible" | ".weak" | ".common" => self.at += 1,
                ".attribute" => self.attribute()?,
                ".extern" => {
                    external = true;
                    self.at += 1;
                }
                ".entry" | ".func" => {
                    let function = self.function(first)?;
                    module.functions.push(function);
                    return Ok(());
                }
                text if storage_space(text).is_some() => {
                    self.variables(first, external, &mut module.variables)?;
                    return self.expect(b';');
                }
                _ => return Err(self.unexpected("a directive such as `.entry` or `.shared`")),
            }
        }
    }

    /// The statements up to the closing brace, which is taken too.
    fn block(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        self.depth += 1;
        loop {
            match self.kind() {
                TokenKind::End => {
                    let error = self.unexpected("`}`");
                    self.errors.push(error);
                    break;
                }
                TokenKind::Mark(b'}') => {
                    self.at += 1;
                    break;
                }
                _ => {
                    if let Err(error) = self.statement(&mut statements) {
                        self.errors.push(error);
                        self.recover();
                    }
                }
            }
        }
        self.depth -= 1;
        statements
    }

    fn statement(&mut self, into: &mut Vec<Statement>) -> Result<(), PtxError> {
        let first = self.at;
        let place = self.token().place;
        if self.accept(b';') {
            return Ok(());
        }
        if self.is_mark(b'{') {
            if self.depth >= DEEPEST_SCOPE {
                return Err(PtxError::new(place, "scopes are nested too deeply"));
            }
            self.at += 1;
            let kind = StatementKind::Block(self.block());
            into.push(Statement { kind, span: self.span_from(first) });
            return Ok(());
        }
        if self.is_mark(b'@') {
            return self.instruction(first, into);
        }
        match self.text() {
            ".loc" => {
                self.location();
                return Ok(());
            }
            ".file" => {
                self.file()?;
                return Ok(());
            }
            ".pragma" => {
                let kind = StatementKind::Pragma(self.pragma()?);
                into.push(Statement { kind, span: self.span_from(first) });
                return Ok(());
            }
            ".extern" | ".visible" => {
                self.at += 1;
                let mut found = Vec::new();
                self.variables(first, self.text_of(self.tokens[first]) == ".extern", &mut found)?;
                return self.finish_variables(found, into);
            }
            text if storage_space(text).is_some() => {
                let mut found = Vec::new();
                self.variables(first, false, &mut found)?;
                return self.finish_variables(found, into);
            }
            text if text.starts_with('.') => {
                return Err(PtxError::new(place, format!("unknown directive `{text}`")));
            }
            _ => {}
        }
        if self.kind() != TokenKind::Word {
            return Err(self.unexpected("an instruction, a label or a declaration"));
        }
        if self.tokens.get(self.at + 1).is_some_and(|t| t.kind == TokenKind::Mark(b':')) {
            let name = self.text().to_owned();
            self.at += 2;
            let kind = match self.text() {
                ".callprototype" => StatementKind::Prototype(self.prototype(name)?),
                ".branchtargets" => StatementKind::BranchTargets(name, self.targets("a label")?),
                ".calltargets" => StatementKind::CallTargets(name, self.targets("a function")?),
                _ => StatementKind::Label(name),
            };
            into.push(Statement { kind, span: self.span_from(first) });
            return Ok(());
        }
        self.instruction(first, into)
    }

    fn finish_variables(&mut self, found: Vec<Variable>, into: &mut Vec<Statement>) -> Result<(), PtxError> {
        self.expect(b';')?;
        into.extend(
            found
                .into_iter()
                .map(|variable| Statement { span: variable.span, kind: StatementKind::Variable(variable) }),
        );
        Ok(())
    }

    fn variables(&mut self, first: usize, external: bool, into: &mut Vec<Variable>) -> Result<(), PtxError> {
        if storage_space(self.text()).is_none() {
            return Err(self.unexpected("a state space such as `.shared`"));
        }
        let head = self.declarator_head(first, external)?;
        loop {
            let mut variable = head.clone();
            self.declarator(&mut variable, first)?;
            into.push(variable);
            if !self.accept(b',') {
                return Ok(());
            }
        }
    }

    /// Space, alignment, vector width and type, in any order that compilers write.
    fn declarator_head(&mut self, first: usize, external: bool) -> Result<Variable, PtxError> {
        let place = self.token().place;
        let space = storage_space(self.text()).unwrap_or(StorageSpace::Param);
        self.at += 1;
        let mut variable = Variable {
            space,
            external,
            align: None,
            element: String::new(),
            vector: 1,
            name: String::new(),
            range: None,
            dimensions: Vec::new(),
            initial: Vec::new(),
            span: Span { place, ..Span::default() },
        };
        while self.kind() == TokenKind::Word && self.text().starts_with('.') {
            let place = self.token().place;
            match self.text() {
                ".align" => {
                    self.at += 1;
                    let align = self.unsigned32("an alignment")?;
                    if !align.is_power_of_two() {
                        return Err(PtxError::new(place, format!("alignment {align} is not a power of two")));
                    }
                    variable.align = Some(align);
                    continue;
                }
                ".attribute" => {
                    self.attribute()?;
                    continue;
                }
                ".v2" => variable.vector = 2,
                ".v4" => variable.vector = 4,
                ".v8" => variable.vector = 8,
                // `.ptr` describes the target of a pointer parameter; the value is a plain address.
                ".ptr" | ".global" | ".shared" | ".const" | ".local" => {}
                text => match element_size(&text[1..]) {
                    Some(_) if variable.element.is_empty() => variable.element = text[1..].to_owned(),
                    _ => return Err(self.unexpected("a type such as `.b32`")),
                },
            }
            self.at += 1;
        }
        if variable.element.is_empty() {
            return Err(self.unexpected("a type such as `.b32`"));
        }
        variable.span = self.span_from(first);
        Ok(variable)
    }

    /// `.attribute(.managed)` and the like: where CUDA keeps a variable, which the host decides here.
    fn attribute(&mut self) -> Result<(), PtxError> {
        self.at += 1;
        self.expect(b'(')?;
        while !matches!(self.kind(), TokenKind::End | TokenKind::Mark(b')' | b';')) {
            self.at += 1;
            if self.is_mark(b'(') {
                self.attribute()?;
            }
        }
        self.expect(b')')
    }

    fn declarator(&mut self, variable: &mut Variable, first: usize) -> Result<(), PtxError> {
        variable.name = self.name("a name")?.to_owned();
        if self.accept(b'<') {
            variable.range = Some(self.range()?);
            self.expect(b'>')?;
        }
        while self.accept(b'[') {
            if self.accept(b']') {
                variable.dimensions.push(None);
                continue;
            }
            variable.dimensions.push(Some(self.unsigned("a number of elements")?));
            self.expect(b']')?;
        }
        if self.accept(b'=') {
            self.initial_values(variable, 0)?;
        }
        variable.span = self.span_from(first);
        Ok(())
    }

    fn initial_values(&mut self, variable: &mut Variable, depth: u32) -> Result<(), PtxError> {
        if !self.is_mark(b'{') {
            // The address of a variable of these spaces is its generic address.
            let generic = self.text() == "generic";
            self.at += usize::from(generic);
            if generic {
                self.expect(b'(')?;
            }
            let value = self.operand(false)?;
            if generic {
                self.expect(b')')?;
            }
            variable.initial.push(value);
            return Ok(());
        }
        if depth > 8 {
            return Err(self.unexpected("a value"));
        }
        self.at += 1;
        while !self.is_mark(b'}') {
            self.initial_values(variable, depth + 1)?;
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b'}')
    }

    fn instruction(&mut self, first: usize, into: &mut Vec<Statement>) -> Result<(), PtxError> {
        let mut guard = None;
        if self.accept(b'@') {
            let negated = self.accept(b'!');
            let at = self.at;
            let name = self.name("a predicate register")?.to_owned();
            guard = Some(Guard { name, negated, span: self.span_from(at) });
        }
        let opcode = self.name("an opcode")?.to_owned();
        let calls = opcode.split('.').next() == Some("call");
        let mut operands = Vec::new();
        if !self.is_mark(b';') {
            loop {
                operands.push(self.operand(calls)?);
                if !self.accept(b',') {
                    break;
                }
            }
        }
        self.expect(b';')?;
        let kind = StatementKind::Instruction(Instruction { guard, opcode, operands });
        into.push(Statement { kind, span: self.span_from(first) });
        Ok(())
    }
}

fn storage_space(word: &str) -> Option<StorageSpace> {
    Some(match word {
        ".reg" => StorageSpace::Register,
        ".param" => StorageSpace::Param,
        ".shared" => StorageSpace::Shared,
        ".local" => StorageSpace::Local,
        ".global" => StorageSpace::Global,
        ".const" => StorageSpace::Const,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_another_kind_is_one_problem() {
        assert!(is_ptx("/* made by hand */ .version 7.8\n.target sm_35\n"));
        for text in ["# A heading\n\nIt's no PTX.\n", "__global__ void k() { int a = 'x'; }\n", ""] {
            let texts: Vec<String> = match parse(text) {
                Ok(_) => Vec::new(),
                Err(errors) => errors.iter().map(ToString::to_string).collect(),
            };
            let expected = "1:1: this is not PTX: it has no `.version`";
            assert!(texts == [expected] || text.is_empty() && texts.is_empty(), "{texts:?}");
        }
    }
}
