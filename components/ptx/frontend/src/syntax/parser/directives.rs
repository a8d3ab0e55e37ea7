//! Directives of modules: version, target, aliases, debug information (PTX ISA 11).

use super::{Parser, widths};
use crate::syntax::ast::{Alias, Module};
use crate::syntax::error::{PtxError, SourcePosition};
use crate::syntax::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn module_item(&mut self, module: &mut Module) -> Result<(), PtxError> {
        let first = self.at;
        let place = self.token().place;
        match self.text() {
            ".version" => {
                self.at += 1;
                if self.kind() != TokenKind::Number {
                    return Err(self.unexpected("a version such as `7.8`"));
                }
                module.version = self.text().to_owned();
                self.at += 1;
                Ok(())
            }
            ".target" => {
                self.at += 1;
                let mut names = vec![self.name("a target such as `sm_35`")?];
                while self.accept(b',') {
                    names.push(self.name("a target option")?);
                }
                module.target = names.join(",");
                Ok(())
            }
            ".address_size" => {
                self.at += 1;
                module.address_size = self.unsigned32("`64`")?;
                if module.address_size != 64 {
                    return Err(PtxError::new(place, "only 64-bit addresses are supported").expecting("64"));
                }
                Ok(())
            }
            ".alias" => {
                self.at += 1;
                let name = self.name("the alias")?.to_owned();
                self.expect(b',')?;
                let function = self.name("a function")?.to_owned();
                self.expect(b';')?;
                module.aliases.push(Alias { name, function, span: self.span_from(first) });
                Ok(())
            }
            ".loc" => {
                self.location();
                Ok(())
            }
            ".file" => self.file(),
            ".section" => self.skip_section(),
            ".pragma" => self.pragma().map(drop),
            _ => self.declaration(module, first),
        }
    }

    /// The directives that every module must have; an old one has 64-bit addresses without saying so.
    pub(super) fn require_directives(&mut self, module: &mut Module) {
        let is_old = !module.version.is_empty() && !widths::is_told(module.version_number());
        if is_old && module.address_size == 0 {
            self.errors.extend(widths::check(module).err());
            (module.address_size, module.is_width_inferred) = (64, true);
        }
        let missing = [
            (".version", "`.version 7.8`", module.version.is_empty()),
            (".target", "`.target sm_35`", module.target.is_empty()),
            (".address_size", "`.address_size 64`", module.address_size == 0),
        ];
        for (directive, form, _) in missing.into_iter().filter(|(.., missing)| *missing) {
            let place = SourcePosition { line: 1, column: 1 };
            let error = PtxError::new(place, format!("the module has no `{directive}`"));
            self.errors.push(error.expecting(form));
        }
    }

    /// `.file number "name"`, with a time and a size that nothing here needs.
    pub(super) fn file(&mut self) -> Result<(), PtxError> {
        let line = self.token().place.line;
        self.at += 1;
        let number = self.unsigned32("the number of a file")?;
        if self.kind() != TokenKind::Text {
            return Err(self.unexpected("the name of a file in quotes"));
        }
        self.sources.files.insert(number, self.text().trim_matches('"').to_owned());
        self.skip_line(line);
        Ok(())
    }

    /// `.loc file line column` and where it was inlined.
    pub(super) fn location(&mut self) {
        let line = self.token().place.line;
        self.at += 1;
        if let (Ok(file), Ok(source)) = (self.unsigned32("a file"), self.unsigned32("a line")) {
            self.sources.lines.push((line, file, source));
        }
        self.skip_line(line);
    }

    fn skip_line(&mut self, line: u32) {
        while self.kind() != TokenKind::End && self.token().place.line == line {
            self.at += 1;
        }
    }

    fn skip_section(&mut self) -> Result<(), PtxError> {
        while !matches!(self.kind(), TokenKind::End | TokenKind::Mark(b'{')) {
            self.at += 1;
        }
        self.expect(b'{')?;
        while !matches!(self.kind(), TokenKind::End | TokenKind::Mark(b'}')) {
            self.at += 1;
        }
        self.expect(b'}')
    }

    /// The texts of a `.pragma`, without quotation marks.
    pub(super) fn pragma(&mut self) -> Result<Vec<String>, PtxError> {
        self.at += 1;
        let mut texts = Vec::new();
        while self.kind() == TokenKind::Text {
            texts.push(self.text().trim_matches('"').to_owned());
            self.at += 1;
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b';')?;
        Ok(texts)
    }

    /// The names behind `.branchtargets` or `.calltargets`.
    pub(super) fn targets(&mut self, what: &str) -> Result<Vec<String>, PtxError> {
        self.at += 1;
        let mut names = vec![self.name(what)?.to_owned()];
        while self.accept(b',') {
            names.push(self.name(what)?.to_owned());
        }
        self.expect(b';')?;
        Ok(names)
    }
}
