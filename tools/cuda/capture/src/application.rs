//! Writer of an application from a record: its steps, the contents of its files, and the YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::buffers::{BYTE, Buffers, Code, fills};
use crate::expectations;
use crate::fold::{Piece, fold};
use crate::held::Held;
use crate::journal::Recorded;
use crate::paths::{LEAST_FOUND, Paths, finder};
use crate::phases::{Contents, LITTLE, RecordedStep, Source, copied, lines, phases};
use crate::record::{Blob, Entry, Region, Way};
use crate::store::Store;
use crate::waits::without_empty;
use crate::{bound, streams, text};

/// Bytes that the host reads or writes at once.
const PIECE: u64 = 1 << 20;
/// Name of the buffer that holds them.
pub(crate) const SCRATCH: &str = "host";

/// Conversion of the host's measured work into time of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum HostTime {
    /// The measured time.
    #[default]
    Measured,
    /// The measured time, multiplied by a factor.
    Scaled(f64),
    /// No time: a program gives the same application in each run.
    None,
}

impl HostTime {
    fn of(self, nanoseconds: u64) -> f64 {
        match self {
            HostTime::Measured => nanoseconds as f64,
            HostTime::Scaled(factor) => nanoseconds as f64 * factor,
            HostTime::None => 0.0,
        }
    }
}

pub(crate) struct Writer<'a> {
    recorded: &'a Recorded,
    folder: &'a Path,
    host_time: HostTime,
    pub(crate) codes: Vec<Code>,
    pub(crate) buffers: Buffers,
    /// Contents of the host's copy of each buffer at the current step of the application.
    held: BTreeMap<u64, Held>,
    store: Store,
    steps: Vec<RecordedStep>,
    work: f64,
    pub(crate) paths: Paths,
    /// Bytes of the host that hold what it reads and computes with, or writes.
    scratch: u64,
    /// Elements of the intermediate buffer, by type, for copies with overlapping ends.
    between: BTreeMap<&'static str, u64>,
}

/// Writes an application into a folder, and returns its text.
///
/// # Errors
/// Files of the record cannot be read, or those of the application not written.
pub fn write_application(
    recorded: &Recorded,
    name: &str,
    folder: &Path,
    host_time: HostTime,
) -> io::Result<String> {
    let entries = streams::prepared(&recorded.entries).unwrap_or_else(|| recorded.entries.clone());
    let recorded = &recorded.with(without_empty(entries))?;
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
        host_time,
        codes,
        buffers,
        held: BTreeMap::new(),
        store: Store::new(folder, &recorded.folder)?,
        steps: Vec::new(),
        work: 0.0,
        paths,
        scratch: 0,
        between: BTreeMap::new(),
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
                Entry::Work { nanoseconds } => self.work += self.host_time.of(*nanoseconds),
                Entry::Copy { .. } => self.copy(index, entry)?,
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
                Entry::Move { from, to, stream } if from.overlaps(to) => {
                    self.copy_between(*from, *to, *stream)
                }
                entry => self.other(entry),
            }
        }
        Ok(())
    }

    /// A step by itself.
    fn other(&mut self, entry: &Entry) {
        if let Some(line) = text::line(self, entry) {
            self.step(line);
        }
    }

    fn step(&mut self, line: Vec<Piece>) {
        let before = std::mem::take(&mut self.work);
        self.steps.push(RecordedStep::Other { line, before });
    }

    /// A copy whose ends overlap, which CUDA does not define: the copy goes through other memory, as on the
    /// device. A copy onto itself is omitted.
    fn copy_between(&mut self, from: Region, to: Region, stream: u32) {
        let Some((buffer, at)) = self.buffers.at(from.address).filter(|_| from != to) else { return };
        let Some((target, to_at)) = self.buffers.at(to.address) else { return };
        let element = buffer.element;
        let between = text::between(element);
        let rows = Region { address: 0, pitch: from.width, ..from };
        let there = text::within((buffer, at, from), (&between, 0, rows), stream);
        let back = text::within((&between, 0, rows), (target, to_at, to), stream);
        let elements = self.between.entry(element.name).or_default();
        *elements = (from.bytes() / element.bytes).max(*elements);
        self.step(there);
        self.step(back);
    }

    fn copy(&mut self, index: usize, entry: &Entry) -> io::Result<()> {
        let Entry::Copy { way, device, blob, stream, waits, unwritten } = entry else { return Ok(()) };
        let (way, device) = (*way, *device);
        let Some((buffer, offset)) = self.buffers.at(device.address) else { return Ok(()) };
        let (name, address) = (buffer.name.clone(), buffer.address);
        let part = text::part(buffer, offset, device);
        let is_whole = part.is_none();
        let contents = self.recorded.bytes(blob)?;
        let held = self.held.entry(address).or_insert_with(|| Held::new(buffer.bytes));
        match way {
            Way::In => {
                let changed = held.send(offset, device, &contents);
                self.fill_host(index, (address, offset, device), changed)?;
            }
            Way::Out => {
                let unwritten =
                    unwritten.as_ref().map(|blob: &Blob| self.recorded.bytes(blob)).transpose()?;
                held.receive(offset, device, &contents, unwritten.as_deref());
            }
        }
        // Data that the host has only read needs no work, and pending work is kept for other steps.
        let is_read = matches!(self.steps.last(), Some(RecordedStep::Into { source: Source::File(..), .. }));
        let before = if is_read { 0.0 } else { std::mem::take(&mut self.work) };
        self.steps.push(match is_whole && *stream == 0 {
            true => RecordedStep::WholeCopy { way, buffer: name, before },
            false => RecordedStep::Other { line: text::copy(way, &name, part, *stream), before },
        });
        if *waits {
            self.synchronize(0.0);
        }
        Ok(())
    }

    /// Adds steps by which the host fills the bytes of a buffer that it has changed since the last copy:
    /// bytes read from a file unchanged, or computed.
    fn fill_host(
        &mut self,
        index: usize,
        (address, offset, device): (u64, u64, Region),
        changed: Vec<Range<u64>>,
    ) -> io::Result<()> {
        let Some((buffer, _)) = self.buffers.at(address) else { return Ok(()) };
        let (size, name) = (buffer.element.bytes, buffer.name.clone());
        // Rows with a gap between them do not have the same layout in the file as in the buffer.
        let origin = self.paths.origin(index).filter(|_| device.rows == 1 || device.pitch == device.width);
        for change in changed {
            let (start, end) = (change.start / size * size, change.end.next_multiple_of(size));
            let part = text::part(buffer, start, Region::line(address + start, end - start));
            let source = match &origin {
                Some((path, at)) if start >= offset => {
                    Source::File(self.paths.input(self.folder, path)?, at + start - offset)
                }
                _ => {
                    let bytes = &self.held[&address].bytes[start as usize..end as usize];
                    Source::Computed(expectations::contents(&mut self.store, bytes, buffer)?)
                }
            };
            let computed = matches!(source, Source::Computed(_));
            let time = if computed { std::mem::take(&mut self.work) } else { 0.0 };
            let whole = part.is_none();
            self.steps.push(RecordedStep::Into { buffer: name.clone(), part, source, time, whole });
        }
        Ok(())
    }

    /// Adds steps that read a file, except the bytes that are copied to the device unchanged.
    fn reads(&mut self, path: &str, from: u64, to: u64) -> io::Result<()> {
        for (from, to) in self.paths.rest(path, from, to) {
            let file = self.paths.input(self.folder, path)?;
            for at in (from..to).step_by(PIECE as usize) {
                let line = text::scratch_read(&file, at, PIECE.min(to - at));
                // The host computes with the data that it has read, so its work follows the read.
                self.steps.push(RecordedStep::Files { line, before: 0.0, reads: true });
            }
            self.scratch = self.scratch.max(PIECE.min(to - from));
        }
        Ok(())
    }

    /// Adds steps that write a file: results as copied, or bytes computed from them.
    fn writes(&mut self, path: &str, from: u64, to: u64) -> io::Result<()> {
        let name = self.paths.output(path);
        let Some(bytes) = self.paths.range(path, from, to) else { return Ok(()) };
        if bytes.len() >= LEAST_FOUND
            && let Some((buffer, element, elements)) = self.received(&bytes)
        {
            let line = text::write(&buffer, element, elements, &name, from);
            self.steps.push(RecordedStep::Files {
                line,
                before: std::mem::take(&mut self.work),
                reads: false,
            });
            return Ok(());
        }
        for (piece, at) in bytes.chunks(PIECE as usize).zip((from..).step_by(PIECE as usize)) {
            let length = piece.len() as u64;
            let contents = Contents::Data(self.store.place(piece)?);
            let made = text::scratch_compute(contents, length, std::mem::take(&mut self.work));
            self.steps.push(RecordedStep::Files { line: made, before: 0.0, reads: false });
            let line = text::write(SCRATCH, 0, length, &name, at);
            self.steps.push(RecordedStep::Files { line, before: 0.0, reads: false });
            self.scratch = self.scratch.max(length);
        }
        Ok(())
    }

    /// The buffer, with the first element and their number, of which the host has received these bytes.
    fn received(&self, bytes: &[u8]) -> Option<(String, u64, u64)> {
        let find = finder(bytes);
        self.held.iter().find_map(|(address, held)| {
            let at = held.received.iter().find_map(|range| {
                let part = &held.bytes[range.start as usize..range.end as usize];
                Some(range.start + find(part)?)
            })?;
            let (buffer, _) = self.buffers.at(*address)?;
            let (size, length) = (buffer.element.bytes, bytes.len() as u64);
            let is_whole = at.is_multiple_of(size) && length.is_multiple_of(size);
            is_whole.then(|| (buffer.name.clone(), at / size, length / size))
        })
    }

    /// The host waits for everything, if it has not just done so.
    fn synchronize(&mut self, before: f64) {
        match self.steps.last() {
            Some(RecordedStep::SynchronizeAll { .. }) if before < LITTLE => {}
            _ => self.steps.push(RecordedStep::SynchronizeAll { before }),
        }
    }

    fn finish(mut self, name: &str) -> io::Result<String> {
        let steps = std::mem::take(&mut self.steps);
        let [prelude, copy_in, kernels, copy_out, postlude] =
            phases(steps, !streams::non_blocking(&self.recorded.entries).is_empty());
        let expected = self.expectations()?;
        let mut yaml = String::from("counterpoint: 1\n");
        let _ = writeln!(yaml, "application: {}", text::quoted(name));
        if let Some(Entry::Program { arguments, .. }) = self.recorded.entries.first() {
            let description = format!("Recorded from `{}`.", arguments.join(" "));
            let _ = writeln!(yaml, "description: {}", text::quoted(&description));
        }
        text::code(&mut yaml, &self.codes);
        text::library(&mut yaml, &self.recorded.entries);
        text::buffers(&mut yaml, &self.buffers, self.scratch, &self.between);
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
        self.store.finish()?;
        Ok(yaml)
    }

    /// Lines for buffers that were copied back, wholly or in part: they must have the host's contents at the
    /// end.
    fn expectations(&mut self) -> io::Result<Vec<String>> {
        let any_order = self.codes.iter().any(|code| code.adds_in_any_order);
        let mut all = Vec::new();
        for buffer in self.buffers.iter() {
            if let Some(held) = self.held.get(&buffer.address) {
                all.extend(expectations::lines(&mut self.store, buffer, held, any_order)?);
            }
        }
        Ok(all)
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
