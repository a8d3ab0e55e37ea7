//! From a record to an application: its steps, the contents of its files, and the YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::buffers::{BYTE, Buffers, Code, fills};
use crate::fold::{Item, Piece, fold};
use crate::journal::Recorded;
use crate::paths::{LEAST_FOUND, Paths, find};
use crate::record::{Blob, Entry, Region, Way};
use crate::{bound, streams, text};

/// Summary of a record, for the program's user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Launches.
    pub launches: u64,
    /// Bytes copied to the device, and from it.
    pub copied: [u64; 2],
    /// Calls that were refused, with the reason, once each.
    pub refused: Vec<(String, String)>,
    /// The message of a kernel that failed.
    pub fault: Option<String>,
    /// The program ended as programs do.
    pub ended: bool,
}

/// Summarises a record.
pub fn summary(recorded: &Recorded) -> Summary {
    let mut summary = Summary::default();
    for entry in &recorded.entries {
        match entry {
            Entry::Launch { .. } => summary.launches += 1,
            Entry::Copy { way, device, .. } => {
                summary.copied[usize::from(*way == Way::Out)] += device.bytes()
            }
            Entry::Refused { call, reason } => {
                let refused = (call.clone(), reason.clone());
                if !summary.refused.contains(&refused) {
                    summary.refused.push(refused);
                }
            }
            Entry::Fault { message } => summary.fault = Some(message.clone()),
            Entry::End => summary.ended = true,
            _ => {}
        }
    }
    summary
}

/// Relative tolerance of results of kernels that add in an order of their own.
const ANY_ORDER: &str = "1e-4";

/// Bytes that the host reads or writes at once.
const PIECE: u64 = 1 << 20;
/// Name of the buffer that holds them.
pub(crate) const SCRATCH: &str = "host";

/// Work of the host between calls, in nanoseconds, that has no line of its own. So short a time cannot be told from that of a switch between
/// processes, which a call that runs a kernel mostly ends with, and of first calls of functions.
pub(crate) const LITTLE: f64 = 50_000.0;

pub(crate) enum Step {
    /// The host computes or reads what it puts into a buffer.
    Into { buffer: String, part: Option<Part>, source: Source, time: f64, whole: bool },
    /// The host reads what it then computes with, or writes a result.
    Files { line: Vec<Piece>, before: f64, reads: bool },
    /// A copy of a whole buffer on the default stream, after work of the host.
    WholeCopy { way: Way, buffer: String, before: f64 },
    /// Anything else, after work of the host.
    Other { line: Vec<Piece>, before: f64 },
    /// The host waits for everything.
    SynchronizeAll { before: f64 },
}

/// The origin of bytes that the host puts into a buffer.
pub(crate) enum Source {
    /// It has computed them: the number of the file that has them.
    Computed(u64),
    /// They are in a file that the program reads: its name and where they begin.
    File(String, u64),
}

/// Part of a buffer, in its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) element: u64,
    pub(crate) elements: u64,
    pub(crate) rows: u64,
    pub(crate) pitch: u64,
}

pub(crate) struct Writer<'a> {
    recorded: &'a Recorded,
    folder: &'a Path,
    pub(crate) codes: Vec<Code>,
    pub(crate) buffers: Buffers,
    /// By buffer what the host's copy holds where the application has come to.
    host: BTreeMap<u64, Vec<u8>>,
    /// Buffers of which something has been copied back.
    copied_back: BTreeSet<u64>,
    /// Numbers of the files of contents.
    files: BTreeMap<Vec<u8>, u64>,
    steps: Vec<Step>,
    work: f64,
    pub(crate) paths: Paths,
    /// Bytes of the host that hold what it reads and computes with, or writes.
    scratch: u64,
}

/// Writes an application into a folder, and returns its text.
///
/// # Errors
/// Files of the record cannot be read, or those of the application not written.
pub fn write_application(recorded: &Recorded, name: &str, folder: &Path) -> io::Result<String> {
    let prepared;
    let recorded = match streams::prepared(&recorded.entries) {
        Some(entries) => {
            prepared = recorded.with(entries)?;
            &prepared
        }
        None => recorded,
    };
    let mut codes = Vec::new();
    for entry in &recorded.entries {
        if let Entry::Module(module) = entry {
            let text = std::fs::read_to_string(recorded.folder.join(&module.file))?;
            std::fs::write(folder.join(&module.file), &text)?;
            codes.extend(Code::new(module.clone(), &text));
        }
    }
    let buffers = Buffers::new(&recorded.entries, &codes);
    let paths = Paths::new(recorded)?;
    let mut writer = Writer {
        recorded,
        folder,
        codes,
        buffers,
        host: BTreeMap::new(),
        copied_back: BTreeSet::new(),
        files: BTreeMap::new(),
        steps: Vec::new(),
        work: 0.0,
        paths,
        scratch: 0,
    };
    writer.walk()?;
    writer.finish(name)
}

impl Writer<'_> {
    fn walk(&mut self) -> io::Result<()> {
        let last = self.recorded.entries.iter().rposition(|entry| {
            matches!(
                entry,
                Entry::Launch { .. }
                    | Entry::Copy { .. }
                    | Entry::Move { .. }
                    | Entry::Fill { .. }
                    | Entry::Wrote { .. }
            )
        });
        let recorded = self.recorded;
        let entries = &recorded.entries[..last.map_or(0, |last| last + 1)];
        let last_free = last_frees(entries);
        for (index, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Work { nanoseconds } => self.work += *nanoseconds as f64,
                Entry::Copy { way, device, blob, stream, waits } => {
                    self.copy(index, (*way, *device, *blob), *stream, *waits)?;
                }
                Entry::Read { path, from, to } => self.reads(path, *from, *to)?,
                Entry::Wrote { .. } if self.paths.is_overwritten(index) => {}
                Entry::Wrote { path, from, to } => self.writes(path, *from, *to)?,
                Entry::Synchronize { stream: None } => {
                    let before = std::mem::take(&mut self.work);
                    self.synchronize(before);
                }
                Entry::Free { .. } if !last_free.contains(&index) => {}
                Entry::Fill { region, value, stream } => {
                    let found = self.buffers.at(region.address);
                    let element = found.map_or(BYTE, |(buffer, _)| buffer.element);
                    for (region, value) in fills(*region, value, element) {
                        self.other(&Entry::Fill { region, value, stream: *stream });
                    }
                }
                entry => self.other(entry),
            }
        }
        Ok(())
    }

    /// A step by itself.
    fn other(&mut self, entry: &Entry) {
        if let Some(line) = text::line(self, entry) {
            let before = std::mem::take(&mut self.work);
            self.steps.push(Step::Other { line, before });
        }
    }

    fn copy(
        &mut self,
        index: usize,
        (way, device, blob): (Way, Region, Blob),
        stream: u32,
        waits: bool,
    ) -> io::Result<()> {
        let Some((buffer, offset)) = self.buffers.at(device.address) else { return Ok(()) };
        let (name, address, bytes) = (buffer.name.clone(), buffer.address, buffer.bytes);
        let part = text::part(buffer, offset, device);
        let is_whole = part.is_none();
        let contents = self.recorded.bytes(blob)?;
        let held = self.host.entry(address).or_insert_with(|| vec![0; bytes as usize]);
        let changed = put_rows(held, offset, device, &contents);
        if way == Way::Out {
            self.copied_back.insert(address);
        }
        if way == Way::In && changed {
            // The host writes what lies between rows as well, as it is.
            let extent = Region::line(device.address, device.extent());
            let contents = if device.rows > 1 {
                held[offset as usize..][..extent.width as usize].to_vec()
            } else {
                contents
            };
            let part = self.buffers.at(address).and_then(|(buffer, _)| text::part(buffer, offset, extent));
            let source = match self.paths.origin(index) {
                Some((path, at)) => Source::File(self.paths.input(self.folder, &path)?, at),
                None => Source::Computed(self.file(contents)?),
            };
            let computed = matches!(source, Source::Computed(_));
            let time = if computed { std::mem::take(&mut self.work) } else { 0.0 };
            self.steps.push(Step::Into { buffer: name.clone(), part, source, time, whole: part.is_none() });
        }
        // What has only been read takes no work, and that of others stays theirs.
        let is_read = matches!(self.steps.last(), Some(Step::Into { source: Source::File(..), .. }));
        let before = if is_read { 0.0 } else { std::mem::take(&mut self.work) };
        self.steps.push(match is_whole && stream == 0 {
            true => Step::WholeCopy { way, buffer: name, before },
            false => Step::Other { line: text::copy(way, &name, part, stream), before },
        });
        if waits {
            self.synchronize(0.0);
        }
        Ok(())
    }

    /// The host reads a file, but for what it copies to the device as it is.
    fn reads(&mut self, path: &str, from: u64, to: u64) -> io::Result<()> {
        for (from, to) in self.paths.rest(path, from, to) {
            let file = self.paths.input(self.folder, path)?;
            for at in (from..to).step_by(PIECE as usize) {
                let line = text::scratch_read(&file, at, PIECE.min(to - at));
                // It computes with what it has read, so its work comes behind that.
                self.steps.push(Step::Files { line, before: 0.0, reads: true });
            }
            self.scratch = self.scratch.max(PIECE.min(to - from));
        }
        Ok(())
    }

    /// The host writes a file: results as they were copied, or what it made of them.
    fn writes(&mut self, path: &str, from: u64, to: u64) -> io::Result<()> {
        let name = self.paths.output(path);
        let Some(bytes) = self.paths.range(path, from, to) else { return Ok(()) };
        let found = self.host.iter().find_map(|(address, held)| Some((*address, find(held, &bytes)?)));
        let element =
            |address| self.buffers.at(address).map(|(buffer, _)| (buffer.name.clone(), buffer.element.bytes));
        if let Some((address, at)) = found.filter(|_| bytes.len() >= LEAST_FOUND)
            && let Some((buffer, size)) = element(address)
            && [at, bytes.len() as u64].iter().all(|bytes| bytes.is_multiple_of(size))
        {
            let line = text::write(&buffer, at / size, bytes.len() as u64 / size, &name, from);
            self.steps.push(Step::Files { line, before: std::mem::take(&mut self.work), reads: false });
            return Ok(());
        }
        for (piece, at) in bytes.chunks(PIECE as usize).zip((from..).step_by(PIECE as usize)) {
            let (length, number) = (piece.len() as u64, self.file(piece.to_vec())?);
            let made = text::scratch_compute(number, length, std::mem::take(&mut self.work));
            self.steps.push(Step::Files { line: made, before: 0.0, reads: false });
            let line = text::write(SCRATCH, 0, length, &name, at);
            self.steps.push(Step::Files { line, before: 0.0, reads: false });
            self.scratch = self.scratch.max(length);
        }
        Ok(())
    }

    fn file(&mut self, contents: Vec<u8>) -> io::Result<u64> {
        if let Some(&number) = self.files.get(&contents) {
            return Ok(number);
        }
        let number = self.files.len() as u64 + 1;
        std::fs::create_dir_all(self.folder.join("data"))?;
        std::fs::write(self.folder.join(format!("data/{number}.bin")), &contents)?;
        self.files.insert(contents, number);
        Ok(number)
    }

    /// The host waits for everything, if it has not just done so.
    fn synchronize(&mut self, before: f64) {
        match self.steps.last() {
            Some(Step::SynchronizeAll { .. }) if before < LITTLE => {}
            _ => self.steps.push(Step::SynchronizeAll { before }),
        }
    }

    fn finish(mut self, name: &str) -> io::Result<String> {
        let steps = std::mem::take(&mut self.steps);
        let [prelude, copy_in, kernels, copy_out, postlude] = phases(steps);
        let expected = self.expectations()?;
        let mut yaml = String::from("counterpoint: 1\n");
        let _ = writeln!(yaml, "application: {}", text::quoted(name));
        if let Some(Entry::Program { arguments, .. }) = self.recorded.entries.first() {
            let description = format!("Recorded from `{}`.", arguments.join(" "));
            let _ = writeln!(yaml, "description: {}", text::quoted(&description));
        }
        text::code(&mut yaml, &self.codes);
        text::library(&mut yaml, &self.recorded.entries);
        text::buffers(&mut yaml, &self.buffers, self.scratch);
        bound::lists(&mut yaml, &self.recorded.entries, &self.buffers);
        text::section(&mut yaml, "prelude", &fold(lines(prelude)));
        text::names(&mut yaml, "copy_in", &copied(&copy_in));
        text::section(&mut yaml, "kernels", &fold(lines(kernels)));
        text::names(&mut yaml, "copy_out", &copied(&copy_out));
        text::non_blocking(&mut yaml, &self.recorded.entries);
        text::section(&mut yaml, "postlude", &fold(lines(postlude)));
        if !expected.is_empty() {
            yaml.push_str("expect:\n");
            expected.iter().for_each(|line| yaml.push_str(line));
        }
        Ok(yaml)
    }

    /// Lines for the buffers of which something was copied back: they are to hold what the host holds in the end.
    fn expectations(&self) -> io::Result<Vec<String>> {
        let any_order = self.codes.iter().any(|code| code.adds_in_any_order);
        let mut lines = Vec::new();
        for buffer in self.buffers.iter().filter(|buffer| self.copied_back.contains(&buffer.address)) {
            let Some(held) = self.host.get(&buffer.address) else { continue };
            std::fs::create_dir_all(self.folder.join("expected"))?;
            let file = format!("expected/{}.bin", buffer.name);
            std::fs::write(self.folder.join(&file), held)?;
            let tolerance = match buffer.element.floats && any_order {
                true => format!(", relative: {ANY_ORDER}, absolute: {ANY_ORDER}"),
                false => String::new(),
            };
            lines.push(format!("  - {{ buffer: {}, file: {file}{tolerance} }}\n", buffer.name));
        }
        Ok(lines)
    }
}

/// Positions of the entries that free a buffer whose place is not used again.
fn last_frees(entries: &[Entry]) -> BTreeSet<usize> {
    let mut last: BTreeMap<u64, Option<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Free { address } => last.insert(*address, Some(index)),
            Entry::Allocate { address, .. } => last.insert(*address, None),
            _ => None,
        };
    }
    last.into_values().flatten().collect()
}

/// Puts rows into the host's copy of a buffer; true if that changes it.
fn put_rows(held: &mut [u8], offset: u64, device: Region, contents: &[u8]) -> bool {
    let mut changed = false;
    for (start, row) in device.starts().zip(contents.chunks_exact(device.width.max(1) as usize)) {
        let at = (start - device.address + offset) as usize;
        let place = &mut held[at..at + row.len()];
        changed |= *place != *row;
        place.copy_from_slice(row);
    }
    changed
}

/// Steps as the phases of an application: what the host does first, copies to the device, all else, copies back, and what the host does last.
fn phases(steps: Vec<Step>) -> [Vec<Step>; 5] {
    let mut phases: [Vec<Step>; 5] = Default::default();
    let mut steps = steps.into_iter().peekable();
    let mut seen = BTreeSet::new();
    while let Some(step) = steps.peek() {
        let phase = match step {
            Step::Into { whole: true, buffer, .. } if !seen.contains(buffer) => Some(0),
            Step::Files { reads: true, .. } => Some(0),
            Step::WholeCopy { way: Way::In, buffer, before }
                if *before < LITTLE && seen.insert(buffer.clone()) =>
            {
                Some(1)
            }
            // The copies are waited for where the launches begin.
            Step::SynchronizeAll { before } if *before < LITTLE => None,
            _ => break,
        };
        if let (Some(step), Some(phase)) = (steps.next(), phase) {
            phases[phase].push(step);
        }
    }
    let mut rest: Vec<Step> = steps.collect();
    while let Some(Step::Files { reads: false, .. }) = rest.last() {
        phases[4].extend(rest.pop());
    }
    phases[4].reverse();
    let mut seen = BTreeSet::new();
    while let Some(step) = rest.last() {
        match step {
            Step::WholeCopy { way: Way::Out, buffer, before }
                if *before < LITTLE && seen.insert(buffer.clone()) =>
            {
                phases[3].extend(rest.pop());
            }
            Step::SynchronizeAll { before } if *before < LITTLE => drop(rest.pop()),
            _ => break,
        }
    }
    phases[3].reverse();
    phases[2] = rest;
    phases
}

fn copied(steps: &[Step]) -> Vec<&str> {
    let mut names = Vec::new();
    for step in steps {
        if let Step::WholeCopy { buffer, .. } = step {
            names.push(buffer.as_str());
        }
    }
    names
}

fn lines(steps: Vec<Step>) -> Vec<Item> {
    steps.into_iter().map(|step| Item::Line(text::step(step))).collect()
}
