//! Functions, their parameters and directives, and prototypes (PTX ISA 7 and 11.1).

use super::{Parser, storage_space};
use crate::syntax::ast::{Function, Prototype, Span, StorageSpace, Variable};
use crate::syntax::error::PtxError;

impl Parser<'_> {
    pub(super) fn function(&mut self, first: usize) -> Result<Function, PtxError> {
        let entry = self.text() == ".entry";
        self.at += 1;
        let mut results = Vec::new();
        if !entry && self.is_mark(b'(') {
            self.parameters(&mut results)?;
        }
        let name = self.name("the function's name")?.to_owned();
        let mut function = Function {
            name,
            entry,
            results,
            params: Vec::new(),
            max_ntid: None,
            min_ctas_per_sm: None,
            body: None,
            span: Span::default(),
        };
        if self.is_mark(b'(') {
            self.parameters(&mut function.params)?;
        }
        loop {
            let place = self.token().place;
            match self.text() {
                ".maxntid" | ".reqntid" => {
                    self.at += 1;
                    let mut size = [1; 3];
                    for (index, slot) in size.iter_mut().enumerate() {
                        if index > 0 && !self.accept(b',') {
                            break;
                        }
                        *slot = self.unsigned32("a number of threads")?;
                    }
                    function.max_ntid = Some(size);
                }
                ".minnctapersm" => {
                    self.at += 1;
                    function.min_ctas_per_sm = Some(self.unsigned32("a number of CTAs")?);
                }
                // Limits for a register allocator that we do not have.
                ".maxnreg" | ".maxnctapersm" => {
                    self.at += 1;
                    self.unsigned32("a number")?;
                }
                ".noreturn" => self.at += 1,
                ".pragma" => self.pragma()?,
                _ if self.accept(b';') => break,
                _ if self.is_mark(b'{') => {
                    self.at += 1;
                    function.body = Some(self.block());
                    break;
                }
                text if text.starts_with('.') => {
                    return Err(PtxError::new(place, format!("unknown directive `{text}`"))
                        .expecting("`.maxntid`, `.reqntid`, `.minnctapersm` or `{`"));
                }
                _ => return Err(self.unexpected("`{` or `;`")),
            }
        }
        function.span = self.span_from(first);
        Ok(function)
    }

    fn parameters(&mut self, into: &mut Vec<Variable>) -> Result<(), PtxError> {
        self.expect(b'(')?;
        while !self.is_mark(b')') {
            let first = self.at;
            let text = self.text();
            if !matches!(storage_space(text), Some(StorageSpace::Param | StorageSpace::Register)) {
                return Err(self.unexpected("`.param`"));
            }
            let mut variable = self.declarator_head(first, false)?;
            self.declarator(&mut variable, first)?;
            into.push(variable);
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b')')
    }

    pub(super) fn prototype(&mut self, name: String) -> Result<Prototype, PtxError> {
        self.at += 1;
        let mut prototype = Prototype { name, results: Vec::new(), params: Vec::new() };
        if self.is_mark(b'(') {
            self.parameters(&mut prototype.results)?;
        }
        self.name("`_`")?;
        if self.is_mark(b'(') {
            self.parameters(&mut prototype.params)?;
        }
        if self.text() == ".noreturn" {
            self.at += 1;
        }
        self.expect(b';')?;
        Ok(prototype)
    }
}
