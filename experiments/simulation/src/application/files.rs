//! `prelude:`, `postlude:` and `expect:`: the files that come in and go out, and what should be in them.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_framework::time::BytesPerSecond;
use counterpoint_host_model::program::{Application, BufferId, Computed, Step, Transfer};
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;

use super::keys::{COMPUTE, EXPECTATION, READ, READ_STEP, WRITE, WRITE_STEP};
use super::reader::{Reader, reason};
use super::{Against, Expectation, Found, InputFile};
use crate::find::{CACHE_VARIABLE, Sort};
use crate::generate::{GENERATORS, Generator};
use crate::output::RESERVED;
use crate::references;
use crate::verify::Tolerance;

impl Reader<'_> {
    /// Reads the input files.
    pub(super) fn read_prelude(&mut self, node: Option<&Node>) {
        for step in self.list(node, "steps") {
            self.section(step, &READ_STEP);
            if let Some(compute) = step.get("compute") {
                self.compute(compute);
                continue;
            }
            let Some(read) = self.required(step, "read", "a step of the prelude") else { continue };
            let Some((input, buffer)) = self.transfer(read, "read") else { continue };
            let file = FileIndex(self.inputs.len() as u32);
            self.inputs.extend(input);
            self.application.prelude.push(Transfer { file, buffer });
        }
    }

    /// A buffer that the CPU fills itself.
    fn compute(&mut self, node: &Node) {
        self.section(node, &COMPUTE);
        let into = self.required(node, "into", "compute").and_then(|into| self.buffer(into));
        let rate = self.required(node, "rate", "compute").and_then(|rate| self.rate(rate));
        let rule = self.required(node, "generate", "compute");
        let (Some(buffer), Some(rate), Some(rule)) = (into, rate, rule) else { return };
        let Some(generator) = self.generator(rule, buffer) else { return };
        let place = &self.application.buffers[buffer.0 as usize];
        let element = self.elements[buffer.0 as usize];
        let values: Arc<[u8]> = generator.fill(element, place.bytes / element.bytes() as u64).into();
        let (path, file) = (format!("computed {}", place.name), FileIndex(self.inputs.len() as u32));
        let computed = Computed { values: Arc::clone(&values), rate };
        self.application.computed.insert(file, computed);
        let held = Found::Held(Bytes::from_owner(values));
        self.inputs.push(InputFile::new(&path, path.clone(), path.clone().into(), held));
        self.application.prelude.push(Transfer { file, buffer });
    }

    /// A data rate, which is not nothing.
    fn rate(&mut self, node: &Node) -> Option<BytesPerSecond> {
        let text = self.text(node)?;
        match text.parse::<BytesPerSecond>() {
            Ok(rate) if rate.get() > 0 => Some(rate),
            Ok(_) => {
                self.diagnostics.error(node.span, "a rate of nothing would never end");
                None
            }
            Err(problem) => {
                self.diagnostics.error(node.span, format!("{problem}"));
                None
            }
        }
    }

    /// A file with the buffer that it fills; without the file if there is a problem with it. `what` names the node.
    pub(super) fn transfer(&mut self, node: &Node, what: &str) -> Option<(Option<InputFile>, BufferId)> {
        self.section(node, &READ);
        let file = self.required(node, "file", what).and_then(|file| Some((self.text(file)?, file.span)));
        let into = self.required(node, "into", what).and_then(|into| self.buffer(into));
        let ((name, span), buffer) = file.zip(into)?;
        let generator = match node.get("generate") {
            None => None,
            Some(rule) => Some(self.generator(rule, buffer)?),
        };
        Some((self.input(&name, span, buffer, generator), buffer))
    }

    /// The contents of an input file, which must fill its buffer; made by its generator where it does not exist.
    fn input(
        &mut self,
        name: &str,
        span: Span,
        buffer: BufferId,
        generator: Option<Generator>,
    ) -> Option<InputFile> {
        let bytes = self.application.buffers[buffer.0 as usize].bytes;
        let element = self.elements[buffer.0 as usize];
        if bytes == 0 {
            // The buffer itself has a problem, which has been reported.
            return None;
        }
        let (path, place) = self.input_place(name, span, buffer, generator.as_ref())?;
        let lacks = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        let found = self.files.find(&path).or_else(|error| match lacks(&error) {
            true => self.files.find(&place.to_string_lossy()),
            false => Err(error),
        });
        match (found, generator) {
            (Ok(found), _) if found.bytes() == bytes => Some(InputFile::new(name, path, place, found)),
            (Ok(found), _) => {
                let message = format!("`{}` has {} bytes, expected {bytes}", place.display(), found.bytes());
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

    /// The path of an input file and its place on disk: a made one is where it is kept, another one where it is found.
    fn input_place(
        &mut self,
        name: &str,
        span: Span,
        buffer: BufferId,
        generator: Option<&Generator>,
    ) -> Option<(String, PathBuf)> {
        let from = self.sources.name(span.file).to_owned();
        match generator {
            Some(rule) => {
                let (bytes, element) =
                    (self.application.buffers[buffer.0 as usize].bytes, self.elements[buffer.0 as usize]);
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

    fn generator(&mut self, node: &Node, buffer: BufferId) -> Option<Generator> {
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
        let known: Vec<&str> = info.parameters.iter().map(|(name, _)| *name).collect();
        self.keys(rule, &known, info.name)?;
        let mut values = Vec::new();
        for (name, default) in info.parameters {
            let given = match (rule.get(name), default) {
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
        let elements = self.application.buffers[buffer.0 as usize].bytes / element.bytes() as u64;
        match generator.check(element, elements) {
            Ok(()) => Some(generator),
            Err(problem) => {
                self.diagnostics.error(rule.span, problem);
                None
            }
        }
    }

    /// Reads what is written at the end.
    pub(super) fn read_postlude(&mut self, node: Option<&Node>) {
        for step in self.list(node, "steps") {
            self.section(step, &WRITE_STEP);
            let Some(write) = self.required(step, "write", "a step of the postlude") else { continue };
            self.section(write, &WRITE);
            let from = self.required(write, "from", "write").and_then(|from| self.host_buffer(from));
            let Some(node) = self.required(write, "file", "write") else { continue };
            let Some(name) = self.text(node) else { continue };
            if let Some(problem) = self.output_problem(&name) {
                self.diagnostics.error(node.span, problem);
                continue;
            }
            let file = FileIndex((self.inputs.len() + self.outputs.len()) as u32);
            self.outputs.push(name);
            if let Some(buffer) = from {
                self.application.postlude.push(Transfer { file, buffer });
            }
        }
    }

    fn output_problem(&self, name: &str) -> Option<String> {
        let inside = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !inside || name.contains('\\') {
            return Some(format!("`{name}` does not lie inside the folder of the run's results"));
        }
        if RESERVED.contains(&name) {
            return Some(format!("`{name}` is the name of one of the run's own files"));
        }
        self.outputs.iter().any(|other| other == name).then(|| format!("`{name}` is written twice"))
    }

    /// A buffer whose results the host sees.
    fn host_buffer(&mut self, node: &Node) -> Option<BufferId> {
        let buffer = self.buffer(node)?;
        let copied = |step: &Step| match step {
            Step::Copy { direction: Direction::DeviceToHost, buffer: name, .. } => *name == buffer,
            Step::Tasks(tasks) => {
                tasks.iter().flat_map(|task| &task.copy_out).any(|part| part.buffer == buffer)
            }
            _ => false,
        };
        let Application { copy_out, prelude, steps, .. } = &self.application;
        let known = copy_out.contains(&buffer)
            || prelude.iter().any(|transfer| transfer.buffer == buffer)
            || steps.iter().any(|step| step.any(&copied));
        if !known {
            let name = &self.application.buffers[buffer.0 as usize].name;
            let message = format!("the host never receives `{name}`");
            self.diagnostics.report(Diagnostic::new(node.span, message).help("add it to `copy_out`"));
        }
        Some(buffer)
    }

    /// Reads what the results should be.
    pub(super) fn read_expectations(&mut self, node: Option<&Node>) {
        for entry in self.list(node, "expectations") {
            self.section(entry, &EXPECTATION);
            let buffer =
                self.required(entry, "buffer", "an expectation").and_then(|node| self.host_buffer(node));
            let against = self.against(entry);
            let mut share = |key: &str| entry.get(key).and_then(|node| self.share(node)).unwrap_or(0.0);
            let tolerance = Tolerance { relative: share("relative"), absolute: share("absolute") };
            let (Some(buffer), Some(against)) = (buffer, against) else { continue };
            let bytes = self.application.buffers[buffer.0 as usize].bytes;
            if let (Against::File(file), Some(node)) = (&against, entry.get("file"))
                && file.bytes != bytes
            {
                let message = format!("`{}` has {} bytes, expected {bytes}", file.path, file.bytes);
                self.diagnostics.report(Diagnostic::new(node.span, message).help(self.size_in_words(buffer)));
            }
            if !self.application.inspect.contains(&buffer) {
                self.application.inspect.push(buffer);
            }
            self.expectations.push(Expectation { buffer, against, tolerance });
        }
    }

    fn share(&mut self, node: &Node) -> Option<f64> {
        let value = self.float(node)?;
        if value < 0.0 {
            self.diagnostics.error(node.span, "a tolerance cannot be negative");
        }
        Some(value)
    }

    fn against(&mut self, entry: &Node) -> Option<Against> {
        let ways = ["reference", "file", "fnv64"];
        let given: Vec<(&str, &Node)> = ways.iter().filter_map(|way| Some((*way, entry.get(way)?))).collect();
        let [(way, node)] = given[..] else {
            let message = "an expectation needs exactly one of `reference`, `file` and `fnv64`";
            self.diagnostics.error(entry.span, message);
            return None;
        };
        let text = self.text(node)?;
        match way {
            "reference" => {
                let found = references::all(self.registry).find(|reference| reference.name == text);
                if found.is_none() {
                    let diagnostic = Diagnostic::new(node.span, format!("there is no reference `{text}`"));
                    let names = references::all(self.registry).map(|reference| reference.name);
                    self.diagnostics.report(diagnostic.suggest(&text, names));
                }
                found.copied().map(Against::Reference)
            }
            "file" => {
                let path = self.locate(Sort::Data, node.span, &text)?;
                match self.files.find(&path) {
                    Ok(found) => Some(Against::File(InputFile::new(&text, path.clone(), path.into(), found))),
                    Err(error) => {
                        let message = format!("cannot read `{path}`: {}", reason(&error));
                        self.diagnostics.error(node.span, message);
                        None
                    }
                }
            }
            _ => {
                let digits = text.strip_prefix("0x").unwrap_or(&text);
                let hash = u64::from_str_radix(digits, 16).ok();
                if hash.is_none() {
                    self.diagnostics
                        .error(node.span, format!("`{text}` is not a number of 16 hexadecimal digits"));
                }
                hash.map(Against::Fnv64)
            }
        }
    }
}
