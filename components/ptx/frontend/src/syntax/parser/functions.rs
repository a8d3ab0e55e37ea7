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
            exact_ntid: false,
            min_ctas_per_sm: None,
            max_registers: None,
            cluster: None,
            body: None,
            span: Span::default(),
        };
        if self.is_mark(b'(') {
            self.parameters(&mut function.params)?;
        }
        loop {
            let place = self.token().place;
            match self.text() {
                directive @ (".maxntid" | ".reqntid") => {
                    function.exact_ntid = directive == ".reqntid";
                    function.max_ntid = Some(self.dimensions("a number of threads")?);
                }
                ".minnctapersm" => {
                    self.at += 1;
                    function.min_ctas_per_sm = Some(self.unsigned32("a number of CTAs")?);
                }
                ".maxnreg" => {
                    self.at += 1;
                    function.max_registers = Some(self.unsigned32("a number of registers")?);
                }
                // Hints for an assembler, which change no result.
                ".maxnctapersm" | ".abi_preserve" | ".abi_preserve_control" => {
                    self.at += 1;
                    self.unsigned32("a number")?;
                }
                ".noreturn" => self.at += 1,
                directive @ (".explicitcluster" | ".blocksareclusters") => {
                    function.cluster = Some(directive.to_owned());
                    self.at += 1;
                }
                directive @ (".reqnctapercluster" | ".maxclusterrank") => {
                    function.cluster = Some(directive.to_owned());
                    self.dimensions("a number of CTAs")?;
                }
                ".attribute" => self.attribute()?,
                ".pragma" => drop(self.pragma()?),
                _ if self.accept(b';') => break,
                _ if self.is_mark(b'{') => {
                    self.at += 1;
                    function.body = Some(self.block());
                    break;
                }
                // A declaration of a function needs no `;`: the next directive of the module ends it.
                text if !entry && (text.is_empty() || begins_item(text)) => break,
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

    /// One to three numbers behind a directive; the missing ones are 1.
    fn dimensions(&mut self, what: &str) -> Result<[u32; 3], PtxError> {
        self.at += 1;
        let mut size = [1; 3];
        for (index, slot) in size.iter_mut().enumerate() {
            if index > 0 && !self.accept(b',') {
                break;
            }
            *slot = self.unsigned32(what)?;
        }
        Ok(size)
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
        loop {
            match self.text() {
                ".noreturn" => self.at += 1,
                ".abi_preserve" | ".abi_preserve_control" => {
                    self.at += 1;
                    self.unsigned32("a number")?;
                }
                _ => break,
            }
        }
        self.expect(b';')?;
        Ok(prototype)
    }
}

/// Whether a word begins a declaration or directive of the module.
fn begins_item(word: &str) -> bool {
    const ITEMS: [&str; 12] = [
        ".visible", ".weak", ".extern", ".common", ".entry", ".func", ".global", ".const", ".shared",
        ".alias", ".file", ".section",
    ];
    ITEMS.contains(&word)
}
