//! The YAML of an application, line by line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use counterpoint_ptx::printf::Ring;
use counterpoint_ptx::{Heap, Param, StackSize};

use crate::application::{SCRATCH, Writer};
use crate::buffers::{Buffer, Buffers, Code, Element};
use crate::fold::{Item, Linear, Piece};
use crate::phases::{BufferPart, Contents, LITTLE, RecordedStep, Source};
use crate::record::{Dim, Entry, Region, Way};
use crate::store::DATA;
use crate::streams;

#[derive(Default)]
struct Line(Vec<Piece>);

impl Line {
    fn text(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        match self.0.last_mut() {
            Some(Piece::Text(before)) => before.push_str(&text),
            _ => self.0.push(Piece::Text(text)),
        }
        self
    }

    fn number(mut self, number: impl Into<i128>) -> Self {
        self.0.push(Piece::Number(Linear::from(number.into())));
        self
    }

    /// Appends a key, unless its number is the default.
    fn key(mut self, name: &'static str, number: u64, default: u64) -> Self {
        let key = Some((name, default.into()));
        self.0.push(Piece::Number(Linear { key, ..Linear::from(i128::from(number)) }));
        self
    }

    fn stream(self, stream: u32) -> Self {
        if stream == 0 { self } else { self.text(format!(", stream: s{stream}")) }
    }

    fn part(self, part: Option<BufferPart>) -> Self {
        let Some(BufferPart { element, elements, rows, pitch }) = part else { return self };
        self.key("element", element, 0).key("elements", elements, u64::MAX).rows(rows, pitch)
    }

    fn rows(self, rows: u64, pitch: u64) -> Self {
        if rows == 1 { self } else { self.key("rows", rows, 1).key("pitch", pitch, u64::MAX) }
    }
}

/// Part of a buffer that a region covers; `None` if the region is the whole buffer.
pub(crate) fn part(buffer: &Buffer, offset: u64, region: Region) -> Option<BufferPart> {
    let size = buffer.element.bytes;
    let is_whole = offset == 0 && region.rows == 1 && region.width == buffer.bytes;
    (!is_whole).then(|| BufferPart {
        element: offset / size,
        elements: region.width / size,
        rows: region.rows,
        pitch: region.pitch / size,
    })
}

/// A copy between host and device.
pub(crate) fn copy(way: Way, buffer: &str, part: Option<BufferPart>, stream: u32) -> Vec<Piece> {
    let key = if way == Way::In { "copy_in" } else { "copy_out" };
    let line = Line::default().text(format!("{{ {key}: "));
    let line = match part {
        None => line.text(buffer),
        // Rows lie behind one another on the host as they do on the device.
        part => line.text(format!("{{ buffer: {buffer}")).part(part).text(" }"),
    };
    line.stream(stream).text(" }").0
}

/// A copy on the device, between regions that begin at those bytes of buffers of one type.
pub(crate) fn within(
    (source, at, from): (&Buffer, u64, Region),
    (target, to_at, to): (&Buffer, u64, Region),
    stream: u32,
) -> Vec<Piece> {
    let size = source.element.bytes;
    let line = Line::default().text(format!("{{ copy: {{ from: {}, to: {}", source.name, target.name));
    let line = line.key("element", at / size, 0);
    let line = if to_at == at { line } else { line.key("to_element", to_at / size, u64::MAX) };
    let line = line.key("elements", from.width / size, u64::MAX).rows(from.rows, from.pitch / size);
    let line = if to.rows == 1 { line } else { line.key("to_pitch", to.pitch / size, u64::MAX) };
    line.text(" }").stream(stream).text(" }").0
}

/// Intermediate buffer of a type, for copies with overlapping ends.
pub(crate) fn between(element: Element) -> Buffer {
    Buffer { name: format!("between_{}", element.name), address: 0, bytes: u64::MAX, variable: None, element }
}

/// The line of an entry that is a step by itself.
pub(crate) fn line(writer: &Writer<'_>, entry: &Entry) -> Option<Vec<Piece>> {
    let buffers = &writer.buffers;
    let start = |text: String| Line::default().text(text);
    let line = match entry {
        Entry::Move { from, to, stream } => {
            let ((source, at), (target, to_at)) = (buffers.at(from.address)?, buffers.at(to.address)?);
            return Some(within((source, at, *from), (target, to_at, *to), *stream));
        }
        Entry::Fill { region, value, stream } => {
            let (buffer, at) = buffers.at(region.address)?;
            let line = start(format!("{{ memset: {{ buffer: {}", buffer.name));
            let bytes = value.repeat(buffer.element.bytes as usize);
            let number = bytes.iter().take(buffer.element.bytes as usize).rev();
            let number = number.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            let line = line.key("value", number, 0).part(part(buffer, at, *region));
            line.text(" }").stream(*stream).text(" }")
        }
        Entry::Launch { module, kernel, grid, block, shared, parameters, stream, cooperative } => {
            let code = writer.codes.iter().find(|code| code.module.number == *module)?;
            let line = start(format!("{{ launch: m{}.{kernel}, grid: ", module + 1));
            let line = sizes(sizes(line, *grid).text(", block: "), *block).key("shared", (*shared).into(), 0);
            let line = if *cooperative { line.text(", cooperative: on") } else { line };
            let mut line = line.stream(*stream).text(", arguments: [");
            for (index, param) in code.kernels.get(kernel)?.params().iter().enumerate() {
                let bytes = &parameters[param.offset as usize..(param.offset + param.size) as usize];
                line = argument(if index > 0 { line.text(", ") } else { line }, buffers, param, bytes);
            }
            line.text("] }")
        }
        Entry::Record { event, stream } => {
            start(format!("{{ record: {{ event: e{event}")).stream(*stream).text(" } }")
        }
        Entry::Wait { event, stream } => {
            start(format!("{{ wait: {{ event: e{event}")).stream(*stream).text(" } }")
        }
        Entry::Await { event } => start(format!("{{ synchronize: e{event} }}")),
        Entry::Synchronize { stream: Some(0) } => start("{ synchronize: all }".to_owned()),
        Entry::Synchronize { stream: Some(stream) } => start(format!("{{ synchronize: s{stream} }}")),
        Entry::Free { address } => start(format!("{{ free: {} }}", buffers.at(*address)?.0.name)),
        _ => return None,
    };
    Some(line.0)
}

/// The beginning of an address in a buffer.
const BUFFER: &str = "{ buffer: ";

fn sizes(line: Line, sizes: Dim) -> Line {
    match sizes {
        [x, 1, 1] => line.number(x),
        [x, y, 1] => line.text("[").number(x).text(", ").number(y).text("]"),
        [x, y, z] => line.text("[").number(x).text(", ").number(y).text(", ").number(z).text("]"),
    }
}

fn argument(line: Line, buffers: &Buffers, param: &Param, bytes: &[u8]) -> Line {
    let word = bytes.iter().rev().take(8).fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match (param.element.as_str(), bytes.len()) {
        ("f32", 4) => {
            let value = f32::from_bits(word as u32);
            if value.is_nan() {
                line.text(format!("{{ bytes: \"{}\" }}", hex()))
            } else {
                line.text(float(f64::from(value), format!("{value:?}")))
            }
        }
        ("f64", 8) => {
            let value = f64::from_bits(word);
            if value.is_nan() {
                line.text(format!("{{ bytes: \"{}\" }}", hex()))
            } else {
                line.text(float(value, format!("{value:?}")))
            }
        }
        (_, 8)
            if let Some((buffer, offset)) =
                buffers.at(word).filter(|(buffer, _)| buffer.variable.is_none()) =>
        {
            let size = buffer.element.bytes;
            if offset.is_multiple_of(size) {
                // Without the key, of which `plain` takes care, this is the buffer's name.
                line.text(format!("{BUFFER}{}", buffer.name)).key("element", offset / size, 0).text(" }")
            } else {
                line.number(word)
            }
        }
        (_, 1 | 2 | 4 | 8) if !param.element.starts_with('f') => {
            let unused = 64 - 8 * bytes.len() as u32;
            // C's `int` is `.u32` in PTX, so a number that would be huge is meant to be below zero.
            let signed = ((word << unused) as i64) >> unused;
            line.number(if signed < 0 { i128::from(signed) } else { i128::from(word) })
        }
        _ => line.text(format!("{{ bytes: \"{}\" }}", hex())),
    }
}

/// A number with a fraction, or one of the names of what is none.
fn float(value: f64, digits: String) -> String {
    match value {
        f64::INFINITY => "inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => digits,
    }
}

pub(crate) fn step(step: RecordedStep) -> Vec<Piece> {
    match step {
        RecordedStep::Into { buffer, part, source: Source::File(file, at), time, .. } => {
            let line = Line::default()
                .text(format!("{{ read: {{ file: {}, into: {buffer}", quoted(&file)))
                .part(part);
            after(time, line.text(", offset: ").number(at).text(" } }").0)
        }
        RecordedStep::Into { buffer, part, source: Source::Computed(contents), time, .. } => {
            let line = Line::default().text(format!("{{ compute: {{ into: {buffer}")).part(part);
            let line = match contents {
                Contents::Rule(rule) => line.text(format!(", generate: {rule}")),
                Contents::Data(at) => line.text(format!(", file: {DATA}, offset: ")).number(at),
            };
            let mut line = line.text(", time: ");
            line.0.push(Piece::Time(time));
            line.text(" } }").0
        }
        RecordedStep::WholeCopy { way, buffer, before } => after(before, copy(way, &buffer, None, 0)),
        RecordedStep::Other { line, before } => after(before, line),
        RecordedStep::Files { line, before, .. } => after(before, line),
        RecordedStep::SynchronizeAll { before } => {
            after(before, Line::default().text("{ synchronize: all }").0)
        }
    }
}

pub(crate) fn scratch_read(file: &str, at: u64, bytes: u64) -> Vec<Piece> {
    let line = Line::default().text(format!("{{ read: {{ file: {}, into: {SCRATCH}", quoted(file)));
    line.text(", elements: ").number(bytes).text(", offset: ").number(at).text(" } }").0
}

/// Line of a computation of data that the host then writes.
pub(crate) fn scratch_compute(contents: Contents, bytes: u64, time: f64) -> Vec<Piece> {
    let part = BufferPart { element: 0, elements: bytes, rows: 1, pitch: bytes };
    let source = Source::Computed(contents);
    step(RecordedStep::Into { buffer: SCRATCH.to_owned(), part: Some(part), source, time, whole: false })
}

/// Line of a write of a part of a buffer to an offset in a file.
pub(crate) fn write(buffer: &str, element: u64, elements: u64, file: &str, at: u64) -> Vec<Piece> {
    let line =
        Line::default().text(format!("{{ write: {{ from: {buffer}, file: {}, element: ", quoted(file)));
    line.number(element).text(", elements: ").number(elements).text(", offset: ").number(at).text(" } }").0
}

/// A line after work of the host.
fn after(before: f64, mut line: Vec<Piece>) -> Vec<Piece> {
    line.insert(0, Piece::Before(before));
    line
}

/// A text quoted as in JSON, which is valid YAML.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(crate) fn code(yaml: &mut String, codes: &[Code]) {
    if codes.is_empty() {
        return;
    }
    yaml.push_str("code:\n");
    for Code { module, kernels, .. } in codes {
        let any = kernels.values().next();
        let _ = write!(yaml, "  m{}: {{ file: {}", module.number + 1, module.file);
        if any.is_some_and(|kernel| kernel.global_bytes() > 0) {
            let _ = write!(yaml, ", globals: {:#x}", module.globals);
        }
        if any.is_some_and(|kernel| kernel.constant_bytes() > 0) {
            let _ = write!(yaml, ", constants: {:#x}", module.constants);
        }
        yaml.push_str(" }\n");
    }
}

pub(crate) fn buffers(
    yaml: &mut String,
    buffers: &Buffers,
    scratch: u64,
    between: &BTreeMap<&'static str, u64>,
) {
    yaml.push_str("buffers:\n");
    for Buffer { name, address, bytes, variable, element } in buffers.iter() {
        let _ = match variable {
            Some((module, symbol)) => {
                // The module may have other elements than copies of parts count in.
                let kind = element.name;
                writeln!(yaml, "  {name}: {{ variable: m{}.{symbol}, type: {kind} }}", module + 1)
            }
            None => {
                let (elements, name_of) = (bytes / element.bytes, element.name);
                writeln!(yaml, "  {name}: {{ type: {name_of}, elements: {elements}, address: {address:#x} }}")
            }
        };
    }
    for (kind, elements) in between {
        let _ = writeln!(yaml, "  between_{kind}: {{ type: {kind}, elements: {elements} }}");
    }
    if scratch > 0 {
        let _ = writeln!(yaml, "  {SCRATCH}: {{ type: u8, elements: {scratch} }}");
    }
}

/// Writes the sizes of heap, print buffer and stack: the largest of any launch, if not the default.
pub(crate) fn library(yaml: &mut String, entries: &[Entry]) {
    let usual = [Heap::DEFAULT_BYTES, Ring::DEFAULT_BYTES, StackSize::default().bytes().into()];
    let sizes = entries.iter().filter_map(|entry| match entry {
        Entry::Library { heap, printf, stack } => Some([*heap, *printf, *stack]),
        _ => None,
    });
    let larger = |most: [u64; 3], one: [u64; 3]| std::array::from_fn(|index| most[index].max(one[index]));
    let most = sizes.reduce(larger).unwrap_or(usual);
    for ((key, bytes), usual) in ["heap", "printf", "stack"].into_iter().zip(most).zip(usual) {
        if bytes != usual {
            let _ = writeln!(yaml, "{key}: {bytes} B");
        }
    }
}

/// The streams that the default stream does not wait for.
pub(crate) fn non_blocking(yaml: &mut String, entries: &[Entry]) {
    let streams = streams::non_blocking(entries).into_iter().map(|stream| format!("s{stream}"));
    let streams: Vec<String> = streams.collect();
    names(yaml, "non_blocking", &streams.iter().map(String::as_str).collect::<Vec<_>>());
}

pub(crate) fn names(yaml: &mut String, key: &str, names: &[&str]) {
    if !names.is_empty() {
        let _ = writeln!(yaml, "{key}: [{}]", names.join(", "));
    }
}

/// A list of steps.
pub(crate) fn section(yaml: &mut String, key: &str, items: &[Item]) {
    if !items.is_empty() {
        let _ = writeln!(yaml, "{key}:");
        items.iter().for_each(|item| write_item(yaml, item, 1));
    }
}

fn write_item(yaml: &mut String, item: &Item, depth: usize) {
    let indent = "  ".repeat(depth);
    match item {
        Item::Line(pieces) => {
            if let Some(Piece::Before(time)) =
                pieces.first().filter(|piece| matches!(piece, Piece::Before(time) if *time >= LITTLE))
            {
                let _ = writeln!(yaml, "{indent}- {{ compute: {{ time: {time:.0} ns }} }}");
            }
            let _ = write!(yaml, "{indent}- ");
            plain(pieces).iter().for_each(|piece| write_piece(yaml, piece));
            yaml.push('\n');
        }
        Item::Loop { rounds, index, items } => {
            let _ = writeln!(yaml, "{indent}- repeat: {rounds}");
            if let Some(index) = index {
                let _ = writeln!(yaml, "{indent}  index: i{index}");
            }
            let _ = writeln!(yaml, "{indent}  do:");
            items.iter().for_each(|item| write_item(yaml, item, depth + 2));
        }
    }
}

/// A line without the keys that have their values anyway, and an address where a buffer begins as the buffer's name.
fn plain(pieces: &[Piece]) -> Vec<Piece> {
    let mut line = Line::default();
    let mut name = None;
    for piece in pieces {
        match (piece, name.take()) {
            (Piece::Number(Linear { base, growth, key: Some((_, default)), .. }), _)
                if base == default && growth.is_empty() =>
            {
                name = match line.0.last() {
                    Some(Piece::Text(text)) => {
                        text.rsplit_once(BUFFER).map(|(before, name)| format!("{before}{name}"))
                    }
                    _ => None,
                };
            }
            (Piece::Text(text), Some(name)) if text.starts_with(" }") => {
                line.0.pop();
                line = line.text(name).text(&text[2..]);
            }
            (Piece::Text(text), _) => line = line.text(text),
            (piece, _) => line.0.push(piece.clone()),
        }
    }
    line.0
}

fn write_piece(yaml: &mut String, piece: &Piece) {
    if let Piece::Number(Linear { key: Some((key, _)), .. }) = piece {
        let _ = write!(yaml, ", {key}: ");
    }
    let _ = match piece {
        Piece::Text(text) => write!(yaml, "{text}"),
        Piece::Number(Linear { base, growth, .. }) if growth.is_empty() => write!(yaml, "{base}"),
        Piece::Number(Linear { base, growth, .. }) => {
            let terms: Vec<String> = growth
                .iter()
                .map(|(index, step)| match step {
                    1 => format!(" + i{index}"),
                    -1 => format!(" - i{index}"),
                    step if *step < 0 => format!(" - {} * i{index}", -step),
                    step => format!(" + {step} * i{index}"),
                })
                .collect();
            let sum = if *base == 0 { terms.concat() } else { format!("{base}{}", terms.concat()) };
            write!(yaml, "\"${{{}}}\"", sum.trim_start_matches(" + "))
        }
        Piece::Time(time) => write!(yaml, "{time:.0} ns"),
        Piece::Before(_) => Ok(()),
    };
}
