//! The copy engine (DMA) of a device: moves data between host memory, across the bus, and device memory, through the
//! L2 like any other client.
//!
//! Copies are made one after another, or one each way at a time where there are two engines; pages of copies that go page by
//! page may be under way beside each other. Each is made in chunks, several of them in flight. A chunk to the device is read from the
//! host and written line by line; the copy is done when every line is acknowledged. A chunk to the host is read line by line and
//! written to the host; the copy is done when the host has acknowledged every chunk.
//!
//! Copies within the device and fills use the engine of copies to the device: a chunk of a copy within the device is read line by
//! line, and written line by line when it has arrived; a chunk of a fill is written at once. A chunk never extends beyond its row.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::telemetry::{Attribute, Attributes, Lane, Level, SpanId};
use counterpoint_framework::time::{Bytes, SimTime};
use counterpoint_protocols::bus::{
    BusMessage, CommandId, Copy, CopyServer, Direction, FromCopyEngine, Move, RowSource, RowTarget, Rows,
    Title, ToCopyEngine,
};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, MemAccess, MemReply, MemRequest, MemResult, MemoryClient, Tag, fresh_at,
    line_of,
};
use counterpoint_protocols::roles;
use counterpoint_protocols::values::Values;

/// How a copy engine works.
#[derive(Clone, Debug, Params)]
pub struct CopyEngineParams {
    /// Bytes of a chunk: one access to host memory. Chunks are written to device memory as they come.
    #[param(default = "4 KiB", min = "32 B", max = "64 KiB")]
    chunk: Bytes,
    /// Chunks of an engine in flight at most.
    #[param(default = "8", min = "1", max = "1024")]
    outstanding: u32,
    /// Engines. One engine serializes all copies, as on a Fermi GeForce; with 2, as on a Tesla, each direction has its own engine
    /// (asyncEngineCount of CUDA's device properties).
    #[param(default = "1", min = "1", max = "2")]
    engines: u32,
}

/// The ports of a copy engine.
#[derive(Ports)]
pub struct CopyEnginePorts {
    /// The command processor: copies to make, and the way to the host.
    control: CopyServer,
    /// The device's memory network.
    memory: MemoryClient,
}

/// Statistics of a copy engine.
#[derive(Default, Stats)]
pub struct CopyEngineStats {
    /// Copies to the device.
    #[stat(unit = "copies")]
    copies_to_device: Counter,
    /// Copies to the host.
    #[stat(unit = "copies")]
    copies_to_host: Counter,
    /// Pages copied to the device individually.
    #[stat(unit = "pages")]
    pages_to_device: Counter,
    /// Pages copied to the host individually.
    #[stat(unit = "pages")]
    pages_to_host: Counter,
    /// Bytes copied to the device.
    #[stat(unit = "bytes")]
    bytes_to_device: Counter,
    /// Bytes copied to the host.
    #[stat(unit = "bytes")]
    bytes_to_host: Counter,
    /// Copies within the device.
    #[stat(unit = "copies")]
    copies_on_device: Counter,
    /// Bytes copied within the device.
    #[stat(unit = "bytes")]
    bytes_on_device: Counter,
    /// Fills of device memory with a value.
    #[stat(unit = "fills")]
    fills: Counter,
    /// Bytes filled.
    #[stat(unit = "bytes")]
    bytes_filled: Counter,
}

impl CopyEngineStats {
    fn count(&self, queued: &Queued) {
        let (bytes, pages) = (queued.rows.total(), u64::from(queued.origin.is_page()));
        match (queued.rows.from, queued.rows.to) {
            (RowSource::Host(_), _) => {
                self.copies_to_device.add(1 - pages);
                self.pages_to_device.add(pages);
                self.bytes_to_device.add(bytes);
            }
            (RowSource::Device(_), RowTarget::Host(_)) => {
                self.copies_to_host.add(1 - pages);
                self.pages_to_host.add(pages);
                self.bytes_to_host.add(bytes);
            }
            (RowSource::Device(_), RowTarget::Device(_)) => {
                self.copies_on_device.add(1);
                self.bytes_on_device.add(bytes);
            }
            (RowSource::Value(_), _) => {
                self.fills.add(1);
                self.bytes_filled.add(bytes);
            }
        }
    }
}

/// A chunk of a copy under way.
struct Chunk {
    copy: u64,
    /// The device address of its lines under way.
    device: u64,
    /// The destination of lines that are read; `None` for lines that are written.
    then: Option<Destination>,
    /// On whose behalf its accesses are.
    label: Label,
    data: Box<[u8]>,
    /// Lines whose answer is missing.
    lines: u32,
    /// Span of the chunk, if such are kept.
    span: Option<SpanId>,
}

/// Destination of bytes that have been read from the device.
#[derive(Clone, Copy)]
enum Destination {
    Host(u64),
    Device(u64),
}

#[derive(Clone, Copy)]
enum Origin {
    Command(CommandId),
    /// The copy is a page by itself.
    Page(Copy),
}

impl Origin {
    fn is_page(self) -> bool {
        matches!(self, Origin::Page(_))
    }
}

struct Queued {
    origin: Origin,
    rows: Move,
    label: Label,
    title: Option<Title>,
}

/// A copy under way.
struct Active {
    number: u64,
    origin: Origin,
    rows: Move,
    label: Label,
    /// Bytes for which a chunk has been begun, and the number of these chunks.
    begun: u64,
    parts: u64,
    chunks: u32,
    span: Option<SpanId>,
}

/// The direction of rows in words.
fn way(rows: &Move) -> &'static str {
    match (rows.from, rows.to) {
        (RowSource::Host(_), _) => "host to device",
        (_, RowTarget::Host(_)) => "device to host",
        (_, RowTarget::Device(_)) => "on the device",
    }
}

impl Active {
    fn attributes(&self) -> Attributes {
        vec![
            ("bytes", Attribute::Amount(self.rows.total())),
            ("direction", Attribute::Text(way(&self.rows).into())),
            ("stream", Attribute::Number(self.label.stream.into())),
        ]
    }
}

/// A copy between host and device as one row.
fn single_row(copy: &Copy) -> Move {
    let (host, device) = (row_at(copy.host), row_at(copy.device));
    let (from, to) = match copy.direction {
        Direction::HostToDevice => (RowSource::Host(host), RowTarget::Device(device)),
        Direction::DeviceToHost => (RowSource::Device(device), RowTarget::Host(host)),
    };
    Move { from, to, bytes: copy.bytes, rows: 1 }
}

fn row_at(first: u64) -> Rows {
    Rows { first, pitch: 0 }
}

/// An engine for one copy at a time, or for pages.
#[derive(Default)]
struct Engine {
    queue: VecDeque<Queued>,
    next: u64,
    /// The copies under way, oldest first: one, or pages.
    active: VecDeque<Active>,
}

impl Engine {
    /// The next copy, if it may begin: behind all others, or as a page behind pages.
    fn take_next(&mut self) -> Option<Queued> {
        let pages = |active: &Active| active.origin.is_page() && active.begun == active.rows.total();
        let is_page = self.queue.front()?.origin.is_page();
        let free = self.active.is_empty() || is_page && self.active.iter().all(pages);
        if free { self.queue.pop_front() } else { None }
    }
}

/// The copy engine.
pub struct CopyEngine {
    chunk: u64,
    /// Chunks of an engine in flight at most.
    outstanding: usize,
    engines: Vec<Engine>,
    /// The chunks in flight: those of the first engine, then those of the second.
    chunks: Vec<Option<Chunk>>,
    to_memory: VecDeque<MemRequest>,
    to_control: VecDeque<FromCopyEngine>,
}

impl CopyEngine {
    fn queue(&mut self, queued: Queued) {
        let engine = queued.rows.direction() as usize % self.engines.len();
        self.engines[engine].queue.push_back(queued);
    }

    /// Begins chunks of copies while there is room.
    fn begin(&mut self, sim: &Context<CopyEngineStats>) -> Result<(), Fault> {
        for index in 0..self.engines.len() {
            self.begin_copies(index, sim)?;
            // The next copy begins in the cycle in which one ends: no later message would begin it.
            while self.finish_copies(index, sim) && !self.engines[index].queue.is_empty() {
                self.begin_copies(index, sim)?;
            }
        }
        Ok(())
    }

    /// Begins chunks of an engine's copies under way, and copies that may begin.
    fn begin_copies(&mut self, index: usize, sim: &Context<CopyEngineStats>) -> Result<(), Fault> {
        loop {
            self.begin_chunks(index, sim)?;
            let Some(queued) = self.engines[index].take_next() else { return Ok(()) };
            sim.stats.count(&queued);
            let Queued { origin, rows, label, title } = queued;
            sim.debug(|| format!("begins to copy {} bytes, {}", rows.total(), way(&rows)));
            let lane = Lane::Numbered("engine", index as u32);
            let open =
                |Title { name, parent }| sim.open_span(Level::Kernels, parent, String::from(&*name), lane);
            let engine = &mut self.engines[index];
            engine.next += 1;
            let (number, span) = (engine.next, title.map(open));
            engine.active.push_back(Active {
                number,
                origin,
                rows,
                label,
                begun: 0,
                parts: 0,
                chunks: 0,
                span,
            });
        }
    }

    /// Begins chunks of an engine's youngest copy, which alone can have some left to begin.
    fn begin_chunks(&mut self, index: usize, sim: &Context<CopyEngineStats>) -> Result<(), Fault> {
        let mut slots = index * self.outstanding..(index + 1) * self.outstanding;
        while let Some(active) = self.engines[index].active.back_mut()
            && active.begun < active.rows.total()
            && let Some(slot) = slots.find(|&slot| self.chunks[slot].is_none())
        {
            let Active { number, rows, begun, parts, chunks, label, span, .. } = active;
            let (of, label, part) = (*number, *label, *parts);
            let lane = Lane::Numbered("burst", slot as u32);
            let open = |copy| sim.open_span(Level::Ctas, Some(copy), format!("burst {part}"), lane);
            let span = span.filter(|_| sim.wants_spans(Level::Ctas)).map(open);
            let (row, within) = (*begun / rows.bytes, *begun % rows.bytes);
            let bytes = self.chunk.min(rows.bytes - within);
            let at = |place: Rows| place.first + row * place.pitch + within;
            sim.trace(|| format!("chunk {slot}: {bytes} bytes, row {row} from byte {within} on"));
            let tag = Tag(slot as u32);
            *begun += bytes;
            *parts += 1;
            *chunks += 1;
            let mut chunk =
                Chunk { copy: of, device: 0, then: None, label, data: Box::default(), lines: 0, span };
            match (rows.from, rows.to) {
                (RowSource::Host(host), RowTarget::Device(device)) => {
                    chunk.device = at(device);
                    let read = BusMessage::Read { tag, address: at(host), bytes: bytes as u32 };
                    self.to_control.push_back(FromCopyEngine::Bus(read));
                }
                (RowSource::Device(device), to) => {
                    chunk.device = at(device);
                    chunk.data = vec![0; bytes as usize].into_boxed_slice();
                    chunk.then = Some(match to {
                        RowTarget::Host(host) => Destination::Host(at(host)),
                        RowTarget::Device(device) => Destination::Device(at(device)),
                    });
                    let lines = lines(chunk.device, bytes);
                    chunk.lines = lines.clone().count() as u32;
                    self.to_memory.extend(lines.map(|(line, mask)| MemRequest {
                        line,
                        tag,
                        client: 0,
                        label,
                        fresh: 0,
                        access: MemAccess::Read(mask),
                    }));
                }
                (RowSource::Value(value), RowTarget::Device(device)) => {
                    let data = (within..within + bytes).map(|byte| value[(byte % 8) as usize]);
                    write(&mut chunk, tag, at(device), &data.collect::<Vec<u8>>(), &mut self.to_memory);
                }
                (RowSource::Host(_) | RowSource::Value(_), RowTarget::Host(_)) => {
                    return Err(Fault::new(
                        "a copy engine does not write what it has not read from its device to the host",
                    ));
                }
            }
            self.chunks[slot] = Some(chunk);
        }
        Ok(())
    }

    /// Reports the finished copies of an engine; false if there are none.
    fn finish_copies(&mut self, index: usize, sim: &Context<CopyEngineStats>) -> bool {
        let (active, to_control) = (&mut self.engines[index].active, &mut self.to_control);
        let before = active.len();
        active.retain(|active| {
            let is_done = active.begun == active.rows.total() && active.chunks == 0;
            if is_done {
                to_control.push_back(match active.origin {
                    Origin::Command(id) => FromCopyEngine::Copied(id),
                    Origin::Page(copy) => FromCopyEngine::PageCopied(copy),
                });
                if let Some(span) = active.span {
                    sim.close_span(span, active.attributes());
                }
            }
            !is_done
        });
        active.len() < before
    }

    fn finish_chunk(&mut self, slot: usize, sim: &Context<CopyEngineStats>) {
        let Some(Chunk { copy, span, .. }) = self.chunks[slot].take() else { return };
        if let Some(span) = span {
            sim.close_span(span, Vec::new());
        }
        let mut active = self.engines[slot / self.outstanding].active.iter_mut();
        if let Some(active) = active.find(|active| active.number == copy) {
            active.chunks -= 1;
        }
    }

    fn take_host_message(
        &mut self,
        message: BusMessage,
        sim: &Context<CopyEngineStats>,
    ) -> Result<(), Fault> {
        match message {
            BusMessage::Values { tag, data } => {
                let chunk = find(&mut self.chunks, tag)?;
                write(chunk, tag, chunk.device, &data, &mut self.to_memory);
            }
            BusMessage::Written { tag } => {
                find(&mut self.chunks, tag)?;
                self.finish_chunk(tag.0 as usize, sim);
            }
            other => return Err(Fault::new(format!("the copy engine was sent {other:?}"))),
        }
        Ok(())
    }

    /// Takes what device memory says.
    fn take_reply(&mut self, reply: MemReply, sim: &Context<CopyEngineStats>) -> Result<(), Fault> {
        let tag = reply.tag;
        let chunk = find(&mut self.chunks, tag)?;
        chunk.lines -= 1;
        let complete = chunk.lines == 0;
        if let MemResult::Line(_, values) = reply.result {
            let (device, length) = (chunk.device, chunk.data.len() as u64);
            let first = reply.line.max(device);
            let last = (reply.line + LINE_BYTES).min(device + length);
            chunk.data[(first - device) as usize..(last - device) as usize]
                .copy_from_slice(&values[(first - reply.line) as usize..(last - reply.line) as usize]);
            if complete {
                let data = std::mem::take(&mut chunk.data);
                match chunk.then.take() {
                    Some(Destination::Device(device)) => {
                        write(chunk, tag, device, &data, &mut self.to_memory);
                    }
                    Some(Destination::Host(address)) => {
                        self.to_control.push_back(FromCopyEngine::Bus(BusMessage::Write {
                            tag,
                            address,
                            data,
                        }));
                    }
                    None => return Err(Fault::new(format!("values for chunk {}, which writes", tag.0))),
                }
            }
        } else if complete {
            self.finish_chunk(tag.0 as usize, sim);
        }
        Ok(())
    }
}

fn find(chunks: &mut [Option<Chunk>], tag: Tag) -> Result<&mut Chunk, Fault> {
    let chunk = chunks.get_mut(tag.0 as usize).and_then(Option::as_mut);
    chunk.ok_or_else(|| Fault::new(format!("an answer to chunk {}, which is not under way", tag.0)))
}

/// Queues the writes of a chunk's bytes to the device, beginning at an address.
fn write(chunk: &mut Chunk, tag: Tag, device: u64, data: &[u8], to_memory: &mut VecDeque<MemRequest>) {
    chunk.device = device;
    for (line, mask) in lines(device, data.len() as u64) {
        let mut values = Values::zero();
        let first = line.max(device);
        let last = (line + LINE_BYTES).min(device + data.len() as u64);
        values[(first - line) as usize..(last - line) as usize]
            .copy_from_slice(&data[(first - device) as usize..(last - device) as usize]);
        let access = MemAccess::Write(mask, values);
        to_memory.push_back(MemRequest { line, tag, client: 0, label: chunk.label, fresh: 0, access });
        chunk.lines += 1;
    }
}

/// The lines that a range touches, with the bytes of each that are in the range.
fn lines(start: u64, bytes: u64) -> impl Iterator<Item = (u64, ByteMask)> + Clone {
    let end = start + bytes;
    (line_of(start)..end).step_by(LINE_BYTES as usize).map(move |line| {
        let (first, last) = (start.max(line) - line, end.min(line + LINE_BYTES) - line);
        let upto = |bytes: u64| if bytes >= 128 { ByteMask::MAX } else { (1 << bytes) - 1 };
        (line, upto(last) & !upto(first))
    })
}

impl Component for CopyEngine {
    const KIND: &'static str = "io/copy-engine";
    const DOC: &'static str = "A device's copy engine (DMA): moves data between host memory and device memory, through \
                               the L2.";
    const DAEMON: bool = true;
    const ROLE: &'static str = roles::COPY_ENGINE;
    type Params = CopyEngineParams;
    type Ports = CopyEnginePorts;
    type Stats = CopyEngineStats;

    fn new(params: CopyEngineParams) -> Result<Self, Invalid> {
        Ok(CopyEngine {
            chunk: params.chunk.get(),
            outstanding: params.outstanding as usize,
            engines: (0..params.engines).map(|_| Engine::default()).collect(),
            chunks: (0..params.engines * params.outstanding).map(|_| None).collect(),
            to_memory: VecDeque::new(),
            to_control: VecDeque::new(),
        })
    }

    async fn run(&mut self, io: &mut CopyEnginePorts, sim: &Context<CopyEngineStats>) -> Result<(), Fault> {
        loop {
            if let Some(message) = io.control.rx.try_recv() {
                match message {
                    ToCopyEngine::Copy { id, stream, copy, title } => {
                        let label = Label { kernel: 0, stream, tag: copy.tag };
                        self.queue(Queued {
                            origin: Origin::Command(id),
                            rows: single_row(&copy),
                            label,
                            title,
                        });
                    }
                    ToCopyEngine::Move { id, stream, rows, title } => {
                        let label = Label { kernel: 0, stream, tag: LineTag::NONE };
                        self.queue(Queued { origin: Origin::Command(id), rows: *rows, label, title });
                    }
                    ToCopyEngine::Page(copy) => {
                        let label = Label { tag: copy.tag, ..Label::default() };
                        let (origin, rows) = (Origin::Page(copy), single_row(&copy));
                        self.queue(Queued { origin, rows, label, title: None });
                    }
                    ToCopyEngine::Bus(message) => self.take_host_message(message, sim)?,
                }
            }
            if let Some(reply) = io.memory.rx.try_recv() {
                self.take_reply(reply, sim)?;
            }
            self.begin(sim)?;
            // One line a cycle is the width of the engine's path to the network.
            if let Some(request) = self.to_memory.front_mut() {
                request.fresh = fresh_at(sim.now());
            }
            io.memory.tx.send_front(&mut self.to_memory, SimTime::ZERO);
            io.control.tx.send_front(&mut self.to_control, SimTime::ZERO);
            sim.set_busy(self.engines.iter().any(|engine| !engine.active.is_empty()));
            sim.wait_tried(SimTime::MAX, io).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_lines() {
        let cut: Vec<(u64, u32)> = lines(100, 200).map(|(line, mask)| (line, mask.count_ones())).collect();
        assert_eq!(cut, [(0, 28), (128, 128), (256, 44)]);
        assert_eq!(lines(128, 128).collect::<Vec<_>>(), [(128, ByteMask::MAX)]);
    }
}
