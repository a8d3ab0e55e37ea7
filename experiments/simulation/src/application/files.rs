//! Input files, and `expect:`: the expected contents of buffers at the end.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_host_model::program::{Application, BufferId, HostStep, Moved, Range, Step};
use counterpoint_protocols::bus::Direction;

use super::input::InputFile;
use super::keys::{ExpectationKeys, LoadKeys, Single};
use super::loaded::{Against, Expectation};
use super::reader::Reader;
use crate::find::{CACHE_VARIABLE, Found, Sort, reason};
use crate::workloads::generate::{GENERATORS, Generator};
use crate::workloads::references::{self, Reference};
use crate::workloads::verify::Tolerance;

/// The bytes that a file must have.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The buffer that the file fills, wholly or in part.
    pub(super) buffer: BufferId,
    pub(super) bytes: u64,
    /// The file must have exactly this number of bytes, and not more.
    pub(super) exactly: bool,
}

impl Reader<'_> {
    /// A file that fills a buffer on its device before the run; without the file if there is a problem with it.
    pub(super) fn load(&mut self, keys: &LoadKeys) -> Option<(Option<InputFile>, BufferId)> {
        let (name, into) = (self.text(&keys.file), self.buffer(&keys.into));
        let (name, buffer) = (name?, into?);
        let bytes = self.application.buffers[buffer.0 as usize].bytes;
        let generator = match &keys.generate {
            None => None,
            Some(rule) => Some(self.generator(rule, buffer, bytes)?),
        };
        Some((self.input(&name, keys.file.span, Wanted { buffer, bytes, exactly: true }, generator), buffer))
    }

    /// The contents of an input file; made by its generator where it does not exist.
    pub(super) fn input(
        &mut self,
        name: &str,
        span: Span,
        wanted: Wanted,
        generator: Option<Generator>,
    ) -> Option<InputFile> {
        let Wanted { buffer, bytes, exactly } = wanted;
        let element = self.elements[buffer.0 as usize];
        if self.application.buffers[buffer.0 as usize].bytes == 0 {
            // The buffer itself has a problem, which has been reported.
            return None;
        }
        let (path, place) = self.input_place(name, span, wanted, generator.as_ref())?;
        let lacks = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        let found = match self.find(&path) {
            Err(error) if lacks(&error) => self.find(&place.to_string_lossy()),
            found => found,
        };
        match (found, generator) {
            (Ok(found), _) if found.bytes() == bytes || !exactly && found.bytes() > bytes => {
                Some(InputFile::new(name, path, place, found))
            }
            (Ok(found), _) => {
                let least = if exactly { "" } else { "at least " };
                let message =
                    format!("`{}` has {} bytes, expected {least}{bytes}", place.display(), found.bytes());
                self.diagnostics.report(Diagnostic::new(span, message).help(self.size_in_words(buffer)));
                None
            }
            (Err(error), Some(rule)) if lacks(&error) => {
                let nothing = Found::Disk(0);
                Some(InputFile::new(name, path, place, nothing).made_by(bytes, rule, element))
            }
            (Err(error), rule) => {
                let message = format!("cannot read `{}`: {}", place.display(), reason(&error));
                let help = match rule {
                    Some(_) if place.as_os_str() != path.as_str() => {
                        format!("{CACHE_VARIABLE} names another folder for it")
                    }
                    _ => self.size_and_rule(buffer),
                };
                self.diagnostics.report(Diagnostic::new(span, message).help(help));
                None
            }
        }
    }

    /// Path of an input file, and its path on disk: for a generated file the path where it is kept, otherwise
    /// the path where it was found.
    fn input_place(
        &mut self,
        name: &str,
        span: Span,
        Wanted { buffer, bytes, .. }: Wanted,
        generator: Option<&Generator>,
    ) -> Option<(String, PathBuf)> {
        let from = self.sources.name(span.file).to_owned();
        match generator {
            Some(rule) => {
                let element = self.elements[buffer.0 as usize];
                let made_by = format!("{rule:?} {element:?} {bytes}");
                let made = self.files.made(&from, name, &made_by);
                made.map_err(|problem| self.diagnostics.error(span, problem)).ok()
            }
            None => match self.files.locate(&from, Sort::Data, name) {
                Ok(path) => Some((path.clone(), path.into())),
                Err(mut missing) => {
                    missing.help.insert(0, self.size_and_rule(buffer));
                    self.diagnostics.report(missing.at(span));
                    None
                }
            },
        }
    }

    fn size_and_rule(&self, buffer: BufferId) -> String {
        format!(
            "{}; with `generate: {{ uniform: {{ seed: 1 }} }}` beside `file` it is made",
            self.size_in_words(buffer)
        )
    }

    fn size_in_words(&self, buffer: BufferId) -> String {
        let (place, element) =
            (&self.application.buffers[buffer.0 as usize], self.elements[buffer.0 as usize]);
        let elements = place.bytes / element.bytes() as u64;
        format!("`{}` has {elements} elements of type {}, {} bytes", place.name, element.name(), place.bytes)
    }

    /// The rule that a node names, for a number of bytes of a buffer.
    pub(super) fn generator(&mut self, node: &Node, buffer: BufferId, bytes: u64) -> Option<Generator> {
        let names = GENERATORS.iter().map(|info| info.name);
        let entries = node.as_map().unwrap_or_default();
        let [(key, rule)] = entries else {
            let diagnostic = Diagnostic::new(node.span, "expected one generator with its parameters");
            self.diagnostics.report(diagnostic.suggest("", names));
            return None;
        };
        let Some(info) = GENERATORS.iter().find(|info| info.name == key.name) else {
            let diagnostic = Diagnostic::new(key.span, format!("there is no generator `{}`", key.name));
            self.diagnostics.report(diagnostic.suggest(&key.name, names));
            return None;
        };
        self.keys(rule, info.parameters.iter().map(|(name, _)| *name).collect(), info.name)?;
        let mut values = Vec::new();
        for (name, default) in info.parameters {
            let given = match (rule.get(name), default) {
                (Some(node), _) if matches!(*name, "value" | "elsewhere") => self.any_float(node)?,
                (Some(node), _) => self.float(node)?,
                (None, Some(default)) => *default,
                (None, None) => {
                    self.diagnostics.error(key.span, format!("{} needs `{name}`", info.name));
                    return None;
                }
            };
            values.push((*name, given));
        }
        let value =
            |wanted: &str| values.iter().find(|(name, _)| *name == wanted).map_or(0.0, |(_, value)| *value);
        let generator = Generator::named(info.name, value)?;
        let element = self.elements[buffer.0 as usize];
        let elements = bytes / element.bytes() as u64;
        match generator.check(element, elements) {
            Ok(()) => Some(generator),
            Err(problem) => {
                self.diagnostics.error(rule.span, problem);
                None
            }
        }
    }

    /// A buffer whose results the host sees.
    fn host_buffer(&mut self, node: &Node) -> Option<BufferId> {
        let buffer = self.buffer(node)?;
        self.check_received(buffer, node.span);
        Some(buffer)
    }

    /// Reports a buffer whose results are never copied to the host, for the entry at `span`.
    pub(super) fn check_received(&mut self, buffer: BufferId, span: Span) {
        let copied = |step: &Step| match step {
            Step::Copy { direction: Direction::DeviceToHost, part, .. } => part.buffer == buffer,
            Step::Move { moved: Moved::Copy { direction: Direction::DeviceToHost, host, .. }, .. } => {
                host.buffer == buffer
            }
            Step::Host(HostStep::Read(transfer)) => transfer.part.buffer == buffer,
            Step::Tasks(tasks) => {
                tasks.iter().flat_map(|task| &task.copy_out).any(|part| part.buffer == buffer)
            }
            _ => false,
        };
        let Application { prelude, copy_out, steps, postlude, .. } = &self.application;
        let known = copy_out.contains(&buffer)
            || prelude.iter().chain(postlude).any(|step| copied(&Step::Host(*step)))
            || steps.iter().any(|step| step.any(&copied));
        if !known {
            let name = &self.application.buffers[buffer.0 as usize].name;
            let message = format!("the host never receives `{name}`");
            self.diagnostics.report(Diagnostic::new(span, message).help("add it to `copy_out`"));
        }
    }

    /// Reads the expected results.
    pub(super) fn read_expectations(&mut self, node: Option<&Node>) {
        for entry in self.list(node, "expectations") {
            let Some(keys) = self.read::<ExpectationKeys>(entry) else { continue };
            let buffer = self.host_buffer(&keys.buffer);
            let part = buffer.and_then(|buffer| self.part_of(&keys.part, buffer));
            let against = part.and_then(|part| self.against(entry, &keys, part));
            let only = match (part, &keys.only) {
                (Some(part), Some(node)) => self.compared(node, part),
                _ => None,
            };
            let mut share =
                |key: &Option<Single>| key.as_ref().and_then(|node| self.share(node)).unwrap_or(0.0);
            let tolerance = Tolerance { relative: share(&keys.relative), absolute: share(&keys.absolute) };
            let (Some(part), Some(against)) = (part, against) else { continue };
            if !self.application.inspect.contains(&part.buffer) {
                self.application.inspect.push(part.buffer);
            }
            self.expectations.push(Expectation { part, against, only, tolerance });
        }
    }

    fn share(&mut self, node: &Node) -> Option<f64> {
        let value = self.float(node)?;
        if value < 0.0 {
            self.diagnostics.error(node.span, "a tolerance cannot be negative");
        }
        Some(value)
    }

    fn against(&mut self, entry: &Node, keys: &ExpectationKeys, part: Range) -> Option<Against> {
        let ExpectationKeys { reference, file, offset, generate, fnv64, .. } = keys;
        if let (Some(offset), None) = (offset, file) {
            self.diagnostics.error(offset.span, "`offset` is a place in a `file`");
        }
        match (reference, file, generate, fnv64) {
            (Some(node), None, None, None) => self.reference(node).map(Against::Reference),
            (None, Some(node), None, None) => {
                let at = self.file_offset(offset.as_deref())?;
                let file = self.expected(node, part.buffer, at + part.bytes, offset.is_some())?;
                Some(Against::File(file, at))
            }
            (None, None, Some(node), None) => {
                let rule = self.generator(node, part.buffer, part.bytes)?;
                Some(Against::Rule(rule))
            }
            (None, None, None, Some(node)) => {
                let text = self.text(node)?;
                let digits = text.strip_prefix("0x").unwrap_or(&text);
                let hash = u64::from_str_radix(digits, 16).ok();
                if hash.is_none() {
                    self.diagnostics
                        .error(node.span, format!("`{text}` is not a number of 16 hexadecimal digits"));
                }
                hash.map(Against::Fnv64)
            }
            _ => {
                let message =
                    "an expectation needs exactly one of `reference`, `file`, `generate` and `fnv64`";
                self.diagnostics.error(entry.span, message);
                None
            }
        }
    }

    fn reference(&mut self, node: &Node) -> Option<Reference> {
        let text = self.text(node)?;
        let found = references::all(self.registry).find(|reference| reference.name == text).copied();
        if found.is_none() {
            let diagnostic = Diagnostic::new(node.span, format!("there is no reference `{text}`"));
            let names = references::all(self.registry).map(|reference| reference.name);
            self.diagnostics.report(diagnostic.suggest(&text, names));
        }
        found
    }

    /// The file with the expected contents of a buffer: it has `bytes` bytes, or at least `bytes` where the contents are a part of it.
    fn expected(&mut self, node: &Node, buffer: BufferId, bytes: u64, is_part: bool) -> Option<InputFile> {
        let text = self.text(node)?;
        let path = self.locate(Sort::Data, node.span, &text)?;
        match self.find(&path) {
            Ok(found) => {
                let file = InputFile::new(&text, path.clone(), path.into(), found);
                if file.bytes != bytes && !(is_part && file.bytes > bytes) {
                    let least = if is_part { "at least " } else { "" };
                    let message =
                        format!("`{}` has {} bytes, expected {least}{bytes}", file.path, file.bytes);
                    let diagnostic = Diagnostic::new(node.span, message);
                    self.diagnostics.report(diagnostic.help(self.size_in_words(buffer)));
                }
                Some(file)
            }
            Err(error) => {
                let message = format!("cannot read `{path}`: {}", reason(&error));
                self.diagnostics.error(node.span, message);
                None
            }
        }
    }

    /// A file that tells which elements of a part are compared.
    fn compared(&mut self, node: &Node, part: Range) -> Option<InputFile> {
        let element = self.elements[part.buffer.0 as usize].bytes() as u64;
        self.expected(node, part.buffer, part.bytes / element, false)
    }
}
