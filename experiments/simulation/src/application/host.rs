//! Steps of the host: files that are read and written, and work of the CPU; in `prelude:` and `postlude:`, and among those of
//! `kernels:`.

use bytes::Bytes;
use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_framework::time::{BytesPerSecond, SimTime};
use counterpoint_host_model::program::{BufferId, Computed, HostStep, Pace, Range, Step, Transfer};
use counterpoint_protocols::host::FileIndex;

use super::files::Wanted;
use super::input::InputFile;
use super::keys::{ComputeKeys, ComputeStep, PartKeys, ReadKeys, ReadStep, WriteKeys, WriteStep};
use super::reader::{Reader, Written};
use crate::find::Found;
use crate::output::RESERVED;

/// Offsets in files at most; keeps sums far from overflow.
const MOST_OFFSET: u64 = 1 << 60;

/// The number of the first output while the inputs are not all known.
const OUTPUTS: u32 = 1 << 31;

/// Phase of a program to which steps of the host belong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HostPhase {
    /// The step is in `prelude`.
    Before,
    /// Among the steps, or in `postlude`.
    Later,
}

impl Reader<'_> {
    pub(super) fn read_prelude(&mut self, node: Option<&Node>) {
        for step in self.list(node, "steps") {
            let step = self.host_step(step, "a step of the prelude", "read", HostPhase::Before);
            self.application.prelude.extend(step);
        }
    }

    pub(super) fn read_postlude(&mut self, node: Option<&Node>) {
        for step in self.list(node, "steps") {
            let step = self.host_step(step, "a step of the postlude", "write", HostPhase::Later);
            self.application.postlude.extend(step);
        }
        for (buffer, span) in std::mem::take(&mut self.received) {
            self.check_received(buffer, span);
        }
    }

    /// Reads a step of a list whose usual steps have the key `usual`.
    fn host_step(
        &mut self,
        step: &Node,
        what: &'static str,
        usual: &str,
        part: HostPhase,
    ) -> Option<HostStep> {
        if step.get("read").is_some() {
            return self.read(step).and_then(|keys| self.read_step(&keys, part));
        }
        if step.get("compute").is_some() {
            return self.read(step).and_then(|keys| self.compute_step(&keys));
        }
        if step.get("write").is_some() {
            return self.read(step).and_then(|keys| self.write_step(&keys));
        }
        self.keys(step, vec!["read", "compute", "write"], what);
        self.required(None, step, usual, what);
        None
    }

    /// A file that is read into a part of a buffer.
    pub(super) fn read_step(&mut self, ReadStep { read }: &ReadStep, phase: HostPhase) -> Option<HostStep> {
        let ReadKeys { file, into, part, offset, generate } = self.open(read)?;
        let (name, into) = (self.text(&file), self.buffer(&into));
        let (name, buffer) = (name?, into?);
        let range = self.part_of(&part, buffer)?;
        let at = self.file_offset(offset.as_deref())?;
        let generator = match generate {
            None => None,
            Some(rule) => Some(self.generator(&rule, buffer, range.bytes)?),
        };
        let is_whole = part.is_whole() && offset.is_none();
        let wanted = Wanted { buffer, bytes: at + range.bytes, exactly: is_whole };
        let input = self.input(&name, file.span, wanted, generator)?;
        // A step that is done often reads one file. Each of the prelude has its own.
        let known = self.inputs.iter().position(|known| phase == HostPhase::Later && known.is_same(&input));
        let file = FileIndex(known.unwrap_or(self.inputs.len()) as u32);
        if known.is_none() {
            self.inputs.push(input);
        }
        Some(HostStep::Read(Transfer { file, part: range, at }))
    }

    /// A place in a file; its beginning if none is given.
    pub(super) fn file_offset(&mut self, offset: Option<&Node>) -> Option<u64> {
        offset.map_or(Some(0), |node| self.count(node, "offset", 0, MOST_OFFSET))
    }

    /// Work of the CPU, with the part of a buffer that the work writes, if any.
    pub(super) fn compute_step(&mut self, ComputeStep { compute: node }: &ComputeStep) -> Option<HostStep> {
        let keys = self.open(node)?;
        let time = keys.time.as_deref().map(|time| (time.span, self.time(time)));
        let Some(into) = &keys.into else {
            let PartKeys { element, elements } = &keys.part;
            let beside = [&keys.file, &keys.offset, element, elements, &keys.rate].into_iter().flatten();
            let mut beside = keys.generate.iter().map(|rule| rule.span).chain(beside.map(|key| key.span));
            if let Some(span) = beside.next() {
                let message = "a computation without `into` has a `time` and nothing else";
                self.diagnostics.error(span, message);
            } else if time.is_none() {
                self.diagnostics.error(node.span, "compute needs the key `into`, or `time` alone");
            }
            return Some(HostStep::Busy(time?.1?));
        };
        let buffer = self.buffer(into);
        let pace = match (&keys.rate, time) {
            (Some(_), Some((span, _))) => {
                self.diagnostics.error(span, "compute has a `rate` or a `time`, not both");
                None
            }
            (None, None) => {
                self.diagnostics.error(node.span, "compute needs the key `rate` or `time`");
                None
            }
            (Some(rate), None) => self.rate(rate).map(Pace::Rate),
            (None, Some((_, time))) => time.map(Pace::Whole),
        };
        let buffer = buffer?;
        let part = self.part_of(&keys.part, buffer)?;
        let values = self.computed(node, &keys, buffer, part)?;
        let name = format!("computed {}", self.name_of(buffer));
        let file = FileIndex(self.inputs.len() as u32);
        self.application.computed.insert(file, Computed { values: values.clone(), pace: pace? });
        self.inputs.push(InputFile::new(&name, name.clone(), name.clone().into(), Found::Held(values)));
        Some(HostStep::Read(Transfer { file, part, at: 0 }))
    }

    /// The values that fill a part of a buffer: those of a rule or of a file.
    fn computed(&mut self, node: &Node, keys: &ComputeKeys, buffer: BufferId, part: Range) -> Option<Bytes> {
        match (&keys.generate, &keys.file) {
            (Some(_), Some(file)) => {
                self.diagnostics.error(file.span, "compute has a rule or a `file`, not both");
                None
            }
            (None, None) => {
                self.diagnostics.error(node.span, "compute needs the key `generate` or `file`");
                None
            }
            (Some(rule), None) => {
                if let Some(offset) = &keys.offset {
                    self.diagnostics
                        .error(offset.span, "`offset` is a place in a `file`, and a rule has none");
                }
                let generator = self.generator(rule, buffer, part.bytes)?;
                let element = self.elements[buffer.0 as usize];
                Some(generator.fill(element, part.bytes / element.bytes() as u64).into())
            }
            (None, Some(file)) => {
                let name = self.text(file)?;
                let at = self.file_offset(keys.offset.as_deref())?;
                let exactly = keys.offset.is_none();
                let wanted = Wanted { buffer, bytes: at + part.bytes, exactly };
                let input = self.input(&name, file.span, wanted, None)?;
                match input.contents() {
                    Ok(contents) => Some(contents.slice(at as usize..(at + part.bytes) as usize)),
                    Err(error) => {
                        self.diagnostics.error(file.span, format!("cannot read `{}`: {error}", input.path));
                        None
                    }
                }
            }
        }
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

    fn time(&mut self, node: &Node) -> Option<SimTime> {
        let text = self.text(node)?;
        text.parse::<SimTime>()
            .map_err(|problem| self.diagnostics.error(node.span, format!("{problem}")))
            .ok()
    }

    /// A part of a buffer that is written to a file.
    pub(super) fn write_step(&mut self, WriteStep { write }: &WriteStep) -> Option<HostStep> {
        let WriteKeys { from, file, part, offset } = self.open(write)?;
        let buffer = self.buffer(&from);
        self.received.extend(buffer.map(|buffer| (buffer, from.span)));
        let name = self.text(&file)?;
        if let Some(problem) = output_problem(&name) {
            self.diagnostics.error(file.span, problem);
            return None;
        }
        let at = self.file_offset(offset.as_deref())?;
        let part = self.part_of(&part, buffer?)?;
        let known = self.outputs.iter().position(|output| *output == name);
        let output = known.unwrap_or(self.outputs.len()) as u32;
        if known.is_none() {
            self.outputs.push(name.clone());
        }
        let written = Written { output, bytes: at..at + part.bytes, span: file.span };
        let overlaps = |other: &Written| {
            // Rounds of one step may write the same part again.
            other.output == output
                && other.span != written.span
                && other.bytes.start < written.bytes.end
                && written.bytes.start < other.bytes.end
        };
        if self.written.iter().any(overlaps) {
            let diagnostic = Diagnostic::new(file.span, format!("`{name}` is written twice"));
            self.diagnostics.report(diagnostic.help("parts of one file lie behind each other, by `offset`"));
        }
        self.written.push(written);
        Some(HostStep::Write(Transfer { file: FileIndex(OUTPUTS + output), part, at }))
    }

    /// Numbers the outputs behind the inputs, which are all known.
    pub(super) fn number_outputs(&mut self) {
        let first = self.inputs.len() as u32;
        let number = |transfer: Transfer| {
            let FileIndex(file) = transfer.file;
            let file = FileIndex(file.checked_sub(OUTPUTS).map_or(file, |output| first + output));
            Transfer { file, ..transfer }
        };
        let change = &mut |step: &mut HostStep| *step = step.changed(number);
        let application = &mut self.application;
        application.prelude.iter_mut().chain(&mut application.postlude).for_each(&mut *change);
        Step::each_of_host(&mut application.steps, change);
    }
}

/// Why a name cannot be that of an output.
fn output_problem(name: &str) -> Option<String> {
    let inside = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !inside || name.contains('\\') {
        return Some(format!("`{name}` does not lie inside the folder of the run's results"));
    }
    RESERVED.contains(&name).then(|| format!("`{name}` is the name of one of the run's own files"))
}
