//! The copy engine (DMA) of a device: moves data between host memory, across the bus, and device memory, through the
//! L2 like any other client.
//!
//! Copies are made one after another, or one each way at a time where there are two engines; pages of copies that go page by
//! page may be under way beside each other. Each is made in chunks, several of them in flight. A chunk to the device is read from the
//! host and written line by line; the copy is done when every line is acknowledged. A chunk to the host is read line
//! by line and written to the host; the copy is done when the host has acknowledged every chunk.

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::telemetry::{Attribute, Attributes, Lane, Level, SpanId};
use counterpoint_framework::time::{Bytes, SimTime};
use counterpoint_protocols::bus::{
    BusMessage, CommandId, Copy, CopyServer, Direction, FromCopyEngine, Title, ToCopyEngine,
};
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, MemAccess, MemReply, MemRequest, MemResult, MemoryClient, Tag, line_of,
};

/// How a copy engine works.
#[derive(Clone, Debug, Params)]
pub struct CopyEngineParams {
    /// Bytes of a chunk: one access to host memory. Chunks are written to device memory as they come.
    #[param(default = "4 KiB", min = "32 B", max = "64 KiB")]
    chunk: Bytes,
    /// Chunks of an engine in flight at most.
    #[param(default = "8", min = "1", max = "1024")]
    outstanding: u32,
    /// 1 makes all copies one after another, as a GeForce of Fermi; with 2, as a Tesla has, each way has its own
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
    /// Pages that were copied to the device by themselves.
    #[stat(unit = "pages")]
    pages_to_device: Counter,
    /// And to the host.
    #[stat(unit = "pages")]
    pages_to_host: Counter,
    /// Bytes copied to the device.
    #[stat(unit = "bytes")]
    bytes_to_device: Counter,
    /// Bytes copied to the host.
    #[stat(unit = "bytes")]
    bytes_to_host: Counter,
}

/// A chunk of a copy under way.
struct Chunk {
    /// The number of its copy.
    copy: u64,
    host: u64,
    device: u64,
    /// On whose behalf its accesses are.
    label: Label,
    data: Box<[u8]>,
    /// Lines whose answer is missing.
    lines: u32,
    /// Its span, if such are kept.
    span: Option<SpanId>,
}

/// A copy that is to be made: a command's, or a page by itself.
struct Queued {
    id: Option<CommandId>,
    copy: Copy,
    label: Label,
    title: Option<Title>,
}

/// A copy under way.
struct Active {
    number: u64,
    id: Option<CommandId>,
    copy: Copy,
    label: Label,
    /// Bytes for which a chunk has been begun.
    begun: u64,
    /// Chunks that are not done.
    chunks: u32,
    span: Option<SpanId>,
}

impl Active {
    /// Attributes of its span.
    fn attributes(&self) -> Attributes {
        let way = match self.copy.direction {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
        };
        vec![
            ("bytes", Attribute::Amount(self.copy.bytes)),
            ("direction", Attribute::Text(way.into())),
            ("stream", Attribute::Number(self.label.stream.into())),
        ]
    }
}

/// An engine for one copy at a time, or for pages.
#[derive(Default)]
struct Engine {
    queue: VecDeque<Queued>,
    /// The number of the next copy.
    next: u64,
    /// The copies under way, oldest first: one, or pages.
    active: VecDeque<Active>,
}

impl Engine {
    /// The next copy, if it may begin: behind all others, or as a page behind pages.
    fn take_next(&mut self) -> Option<Queued> {
        let pages = |active: &Active| active.id.is_none() && active.begun == active.copy.bytes;
        let is_page = self.queue.front()?.id.is_none();
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
    /// Takes a copy in.
    fn queue(&mut self, queued: Queued) {
        let engine = queued.copy.direction as usize % self.engines.len();
        self.engines[engine].queue.push_back(queued);
    }

    /// Begins chunks of copies while there is room.
    fn begin(&mut self, sim: &Context<CopyEngineStats>) {
        for index in 0..self.engines.len() {
            self.begin_copies(index, sim);
            // The next copy begins in the cycle in which one ends: no message would come to begin it later.
            while self.finish_copies(index, sim) && !self.engines[index].queue.is_empty() {
                self.begin_copies(index, sim);
            }
        }
    }

    /// Begins chunks of an engine's copies under way, and copies that may begin.
    fn begin_copies(&mut self, index: usize, sim: &Context<CopyEngineStats>) {
        loop {
            self.begin_chunks(index, sim);
            let Some(Queued { id, copy, label, title }) = self.engines[index].take_next() else { return };
            let stats = &sim.stats;
            match copy.direction {
                Direction::HostToDevice => {
                    stats.copies_to_device.add(u64::from(id.is_some()));
                    stats.pages_to_device.add(u64::from(id.is_none()));
                    stats.bytes_to_device.add(copy.bytes);
                }
                Direction::DeviceToHost => {
                    stats.copies_to_host.add(u64::from(id.is_some()));
                    stats.pages_to_host.add(u64::from(id.is_none()));
                    stats.bytes_to_host.add(copy.bytes);
                }
            }
            sim.debug(|| format!("begins to copy {} bytes, {:?}", copy.bytes, copy.direction));
            let lane = Lane::Numbered("engine", index as u32);
            let open =
                |Title { name, parent }| sim.open_span(Level::Kernels, parent, String::from(&*name), lane);
            let engine = &mut self.engines[index];
            engine.next += 1;
            let (number, span) = (engine.next, title.map(open));
            engine.active.push_back(Active { number, id, copy, label, begun: 0, chunks: 0, span });
        }
    }

    /// Begins chunks of an engine's youngest copy, which alone can have some left to begin.
    fn begin_chunks(&mut self, index: usize, sim: &Context<CopyEngineStats>) {
        let mut slots = index * self.outstanding..(index + 1) * self.outstanding;
        while let Some(active) = self.engines[index].active.back_mut()
            && active.begun < active.copy.bytes
            && let Some(slot) = slots.find(|&slot| self.chunks[slot].is_none())
        {
            let Active { number, copy, begun, chunks, label, span, .. } = active;
            let (of, label, part) = (*number, *label, *begun / self.chunk);
            let lane = Lane::Numbered("burst", slot as u32);
            let open = |copy| sim.open_span(Level::Ctas, Some(copy), format!("burst {part}"), lane);
            let span = span.filter(|_| sim.wants_spans(Level::Ctas)).map(open);
            let bytes = self.chunk.min(copy.bytes - *begun);
            let (host, device) = (copy.host + *begun, copy.device + *begun);
            sim.trace(|| format!("chunk {slot}: {bytes} bytes, host {host:#x}, device {device:#x}"));
            let tag = Tag(slot as u32);
            *begun += bytes;
            *chunks += 1;
            match copy.direction {
                Direction::HostToDevice => {
                    let data = Box::default();
                    self.chunks[slot] = Some(Chunk { copy: of, host, device, label, data, lines: 0, span });
                    let read = BusMessage::Read { tag, address: host, bytes: bytes as u32 };
                    self.to_control.push_back(FromCopyEngine::Bus(read));
                }
                Direction::DeviceToHost => {
                    let data = vec![0; bytes as usize].into_boxed_slice();
                    let lines = lines(device, bytes);
                    let count = lines.clone().count() as u32;
                    self.to_memory.extend(lines.map(|(line, mask)| MemRequest {
                        line,
                        tag,
                        client: 0,
                        label,
                        access: MemAccess::Read(mask),
                    }));
                    self.chunks[slot] =
                        Some(Chunk { copy: of, host, device, label, data, lines: count, span });
                }
            }
        }
    }

    /// Reports the finished copies of an engine; false if there are none.
    fn finish_copies(&mut self, index: usize, sim: &Context<CopyEngineStats>) -> bool {
        let (active, to_control) = (&mut self.engines[index].active, &mut self.to_control);
        let before = active.len();
        active.retain(|active| {
            let is_done = active.begun == active.copy.bytes && active.chunks == 0;
            if is_done {
                to_control.push_back(match active.id {
                    Some(id) => FromCopyEngine::Copied(id),
                    None => FromCopyEngine::PageCopied(active.copy),
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

    fn chunk(&mut self, tag: Tag) -> Result<&mut Chunk, Fault> {
        let chunk = self.chunks.get_mut(tag.0 as usize).and_then(Option::as_mut);
        chunk.ok_or_else(|| Fault::new(format!("an answer to chunk {}, which is not under way", tag.0)))
    }

    /// Takes what the host says.
    fn take_host_message(
        &mut self,
        message: BusMessage,
        sim: &Context<CopyEngineStats>,
    ) -> Result<(), Fault> {
        match message {
            BusMessage::Values { tag, data } => {
                let chunk = self.chunk(tag)?;
                let (device, label) = (chunk.device, chunk.label);
                let mut count = 0;
                let mut writes = VecDeque::new();
                for (line, mask) in lines(device, data.len() as u64) {
                    let mut values = [0; LINE_BYTES as usize];
                    let first = line.max(device);
                    let last = (line + LINE_BYTES).min(device + data.len() as u64);
                    values[(first - line) as usize..(last - line) as usize]
                        .copy_from_slice(&data[(first - device) as usize..(last - device) as usize]);
                    let access = MemAccess::Write(mask, values);
                    writes.push_back(MemRequest { line, tag, client: 0, label, access });
                    count += 1;
                }
                chunk.lines = count;
                self.to_memory.append(&mut writes);
            }
            BusMessage::Written { tag } => {
                self.chunk(tag)?;
                self.finish_chunk(tag.0 as usize, sim);
            }
            other => return Err(Fault::new(format!("the copy engine was sent {other:?}"))),
        }
        Ok(())
    }

    /// Takes what device memory says.
    fn take_reply(&mut self, reply: MemReply, sim: &Context<CopyEngineStats>) -> Result<(), Fault> {
        let tag = reply.tag;
        let chunk = self.chunk(tag)?;
        chunk.lines -= 1;
        let complete = chunk.lines == 0;
        if let MemResult::Line(_, values) = reply.result {
            let (device, length) = (chunk.device, chunk.data.len() as u64);
            let first = reply.line.max(device);
            let last = (reply.line + LINE_BYTES).min(device + length);
            chunk.data[(first - device) as usize..(last - device) as usize]
                .copy_from_slice(&values[(first - reply.line) as usize..(last - reply.line) as usize]);
            if complete {
                let (address, data) = (chunk.host, std::mem::take(&mut chunk.data));
                self.to_control.push_back(FromCopyEngine::Bus(BusMessage::Write { tag, address, data }));
            }
        } else if complete {
            self.finish_chunk(tag.0 as usize, sim);
        }
        Ok(())
    }
}

/// The lines that a range touches, with the bytes of each that lie in it.
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
                        self.queue(Queued { id: Some(id), copy, label, title });
                    }
                    ToCopyEngine::Page(copy) => {
                        let label = Label { tag: copy.tag, ..Label::default() };
                        self.queue(Queued { id: None, copy, label, title: None });
                    }
                    ToCopyEngine::Bus(message) => self.take_host_message(message, sim)?,
                }
            }
            if let Some(reply) = io.memory.rx.try_recv() {
                self.take_reply(reply, sim)?;
            }
            self.begin(sim);
            // One line a cycle is the width of the engine's path to the network.
            if !self.to_memory.is_empty()
                && let Some(permit) = io.memory.tx.try_reserve()
                && let Some(request) = self.to_memory.pop_front()
            {
                permit.send(request);
            }
            if !self.to_control.is_empty()
                && let Some(permit) = io.control.tx.try_reserve()
                && let Some(message) = self.to_control.pop_front()
            {
                permit.send(message);
            }
            let sources = [
                io.control.rx.when(true),
                io.memory.rx.when(true),
                io.memory.tx.when(!self.to_memory.is_empty()),
                io.control.tx.when(!self.to_control.is_empty()),
            ];
            sim.set_busy(self.engines.iter().any(|engine| !engine.active.is_empty()));
            sim.wait(SimTime::MAX, sources).await;
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
