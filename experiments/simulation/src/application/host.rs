//! Steps of the host: files that are read and written, and what the CPU computes; in `prelude:` and `postlude:`, and among those
//! of `kernels:`.

use bytes::Bytes;
use counterpoint_framework::model::{Diagnostic, Node};
use counterpoint_framework::time::{BytesPerSecond, SimTime};
use counterpoint_host_model::program::{BufferId, Computed, HostStep, Pace, Range, Step, Transfer};
use counterpoint_protocols::host::FileIndex;

use super::files::Wanted;
use super::input::InputFile;
use super::keys::{COMPUTE, COMPUTE_STEP, READ, READ_STEP, Section, WRITE, WRITE_STEP};
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
    /// In `prelude`.
    Before,
    /// Among the steps, or in `postlude`.
    Later,
}

const KINDS: [(&str, &Section); 3] =
    [("read", &READ_STEP), ("compute", &COMPUTE_STEP), ("write", &WRITE_STEP)];

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

    /// A step of a list whose usual ones have this key.
    fn host_step(&mut self, step: &Node, what: &str, usual: &str, part: HostPhase) -> Option<HostStep> {
        let Some((key, section)) = KINDS.into_iter().find(|(key, _)| step.get(key).is_some()) else {
            self.keys(step, &KINDS.map(|(key, _)| key), what);
            self.required(step, usual, what);
            return None;
        };
        self.section(step, section)?;
        self.host(key, step.get(key)?, part)
    }

    /// A step of the host with one of the keys, whose value is given.
    pub(super) fn host(&mut self, key: &str, node: &Node, part: HostPhase) -> Option<HostStep> {
        match key {
            "read" => self.read(node, part).map(HostStep::Read),
            "compute" => self.compute(node),
            _ => self.write(node).map(HostStep::Write),
        }
    }

    /// A file that is read into a part of a buffer.
    fn read(&mut self, node: &Node, part: HostPhase) -> Option<Transfer> {
        self.section(node, &READ);
        let file =
            self.required(node, "file", READ.name).and_then(|file| Some((self.text(file)?, file.span)));
        let into = self.required(node, "into", READ.name).and_then(|into| self.buffer(into));
        let ((name, span), buffer) = file.zip(into)?;
        let range = self.part_of(node, buffer)?;
        let at = self.file_offset(node)?;
        let generator = match node.get("generate") {
            None => None,
            Some(rule) => Some(self.generator(rule, buffer, range.bytes)?),
        };
        let is_whole = ["element", "elements", "offset"].iter().all(|key| node.get(key).is_none());
        let wanted = Wanted { buffer, bytes: at + range.bytes, exactly: is_whole };
        let input = self.input(&name, span, wanted, generator)?;
        // A step that is done often reads one file. Each of the prelude has its own.
        let known = self.inputs.iter().position(|known| part == HostPhase::Later && known.is_same(&input));
        let file = FileIndex(known.unwrap_or(self.inputs.len()) as u32);
        if known.is_none() {
            self.inputs.push(input);
        }
        Some(Transfer { file, part: range, at })
    }

    /// The place in a file that the key `offset` names; 0 without it.
    pub(super) fn file_offset(&mut self, node: &Node) -> Option<u64> {
        node.get("offset").map_or(Some(0), |node| self.count(node, "offset", 0, MOST_OFFSET))
    }

    /// Something that the CPU computes, perhaps into a part of a buffer.
    fn compute(&mut self, node: &Node) -> Option<HostStep> {
        self.section(node, &COMPUTE);
        let time = node.get("time").map(|time| (time.span, self.time(time)));
        let Some(into) = node.get("into") else {
            let beside = ["generate", "file", "offset", "element", "elements", "rate"];
            if let Some(key) = beside.into_iter().find_map(|key| node.get(key)) {
                let message = "a computation without `into` has a `time` and nothing else";
                self.diagnostics.error(key.span, message);
            } else if time.is_none() {
                self.diagnostics.error(node.span, "compute needs the key `into`, or `time` alone");
            }
            return Some(HostStep::Busy(time?.1?));
        };
        let buffer = self.buffer(into);
        let pace = match (node.get("rate"), time) {
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
        let part = self.part_of(node, buffer)?;
        let values = self.computed(node, buffer, part)?;
        let name = format!("computed {}", self.name_of(buffer));
        let file = FileIndex(self.inputs.len() as u32);
        self.application.computed.insert(file, Computed { values: values.clone(), pace: pace? });
        self.inputs.push(InputFile::new(&name, name.clone(), name.clone().into(), Found::Held(values)));
        Some(HostStep::Read(Transfer { file, part, at: 0 }))
    }

    /// The values that fill a part of a buffer: those of a rule or of a file.
    fn computed(&mut self, node: &Node, buffer: BufferId, part: Range) -> Option<Bytes> {
        match (node.get("generate"), node.get("file")) {
            (Some(_), Some(file)) => {
                self.diagnostics.error(file.span, "compute has a rule or a `file`, not both");
                None
            }
            (None, None) => {
                self.diagnostics.error(node.span, "compute needs the key `generate` or `file`");
                None
            }
            (Some(rule), None) => {
                if let Some(offset) = node.get("offset") {
                    self.diagnostics
                        .error(offset.span, "`offset` is a place in a `file`, and a rule has none");
                }
                let generator = self.generator(rule, buffer, part.bytes)?;
                let element = self.elements[buffer.0 as usize];
                Some(generator.fill(element, part.bytes / element.bytes() as u64).into())
            }
            (None, Some(file)) => {
                let name = self.text(file)?;
                let at = self.file_offset(node)?;
                let exactly = node.get("offset").is_none();
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
    fn write(&mut self, node: &Node) -> Option<Transfer> {
        self.section(node, &WRITE);
        let from = self.required(node, "from", WRITE.name).and_then(|from| self.buffer(from));
        if let (Some(buffer), Some(node)) = (from, node.get("from")) {
            self.received.push((buffer, node.span));
        }
        let file = self.required(node, "file", WRITE.name)?;
        let name = self.text(file)?;
        if let Some(problem) = output_problem(&name) {
            self.diagnostics.error(file.span, problem);
            return None;
        }
        let at = self.file_offset(node)?;
        let part = self.part_of(node, from?)?;
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
        Some(Transfer { file: FileIndex(OUTPUTS + output), part, at })
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
