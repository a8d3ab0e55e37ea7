//! The copy engine (DMA) of a device: moves data between host memory, across the bus, and device memory, through the
//! L2 like any other client.
//!
//! Copies are made one after another, or one each way at a time where there are two engines. Each is made in chunks, several
//! of them in flight. A chunk to the device is read from the
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
    /// Bytes of a chunk: one access to host memory.
    #[param(default = "4 KiB", min = "128 B", max = "64 KiB")]
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

/// What a copy engine counts.
#[derive(Default, Stats)]
pub struct CopyEngineStats {
    /// Copies to the device.
    copies_to_device: Counter,
    /// Copies to the host.
    copies_to_host: Counter,
    /// Bytes copied to the device.
    #[stat(unit = "bytes")]
    bytes_to_device: Counter,
    /// Bytes copied to the host.
    #[stat(unit = "bytes")]
    bytes_to_host: Counter,
}

/// A chunk of a copy under way.
struct Chunk {
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

/// A copy that is to be made.
struct Queued {
    id: CommandId,
    copy: Copy,
    label: Label,
    title: Option<Title>,
}

/// The copy under way.
struct Active {
    id: CommandId,
    copy: Copy,
    label: Label,
    /// Bytes for which a chunk has been begun.
    begun: u64,
    /// Chunks that are not done.
    chunks: u32,
    span: Option<SpanId>,
}

impl Active {
    /// What its span shows.
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

/// What makes one copy at a time.
#[derive(Default)]
struct Engine {
    queue: VecDeque<Queued>,
    active: Option<Active>,
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
    /// Begins chunks of copies while there is room.
    fn begin(&mut self, sim: &Context<CopyEngineStats>) {
        for index in 0..self.engines.len() {
            self.begin_copy(index, sim);
            // The next copy begins in the cycle in which one ends: no message would come to begin it later.
            while self.finish_copy(index, sim) && !self.engines[index].queue.is_empty() {
                self.begin_copy(index, sim);
            }
        }
    }

    /// Begins chunks of an engine's copy under way, or of its next one.
    fn begin_copy(&mut self, index: usize, sim: &Context<CopyEngineStats>) {
        let Engine { queue, active } = &mut self.engines[index];
        if active.is_none()
            && let Some(Queued { id, copy, label, title }) = queue.pop_front()
        {
            let stats = &sim.stats;
            match copy.direction {
                Direction::HostToDevice => {
                    stats.copies_to_device.add(1);
                    stats.bytes_to_device.add(copy.bytes);
                }
                Direction::DeviceToHost => {
                    stats.copies_to_host.add(1);
                    stats.bytes_to_host.add(copy.bytes);
                }
            }
            let open = |Title { name, parent }| {
                sim.open_span(
                    Level::Kernels,
                    parent,
                    String::from(&*name),
                    Lane::Numbered("engine", index as u32),
                )
            };
            *active = Some(Active { id, copy, label, begun: 0, chunks: 0, span: title.map(open) });
        }
        let mut slots = index * self.outstanding..(index + 1) * self.outstanding;
        while let Some(active) = active
            && active.begun < active.copy.bytes
            && let Some(slot) = slots.find(|&slot| self.chunks[slot].is_none())
        {
            let Active { copy, begun, chunks, label, span, .. } = active;
            let (label, number) = (*label, *begun / self.chunk);
            let lane = Lane::Numbered("burst", slot as u32);
            let open = |copy| sim.open_span(Level::Ctas, Some(copy), format!("burst {number}"), lane);
            let span = span.filter(|_| sim.wants_spans(Level::Ctas)).map(open);
            let bytes = self.chunk.min(copy.bytes - *begun);
            let (host, device) = (copy.host + *begun, copy.device + *begun);
            let tag = Tag(slot as u32);
            *begun += bytes;
            *chunks += 1;
            match copy.direction {
                Direction::HostToDevice => {
                    self.chunks[slot] =
                        Some(Chunk { host, device, label, data: Box::default(), lines: 0, span });
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
                    self.chunks[slot] = Some(Chunk { host, device, label, data, lines: count, span });
                }
            }
        }
    }

    /// Reports an engine's copy under way if all of it is done.
    fn finish_copy(&mut self, index: usize, sim: &Context<CopyEngineStats>) -> bool {
        let engine = &mut self.engines[index];
        if let Some(active) = &engine.active
            && active.begun == active.copy.bytes
            && active.chunks == 0
        {
            self.to_control.push_back(FromCopyEngine::Copied(active.id));
            if let Some(span) = active.span {
                sim.close_span(span, active.attributes());
            }
            engine.active = None;
            return true;
        }
        false
    }

    fn finish_chunk(&mut self, slot: usize, sim: &Context<CopyEngineStats>) {
        if let Some(span) = self.chunks[slot].take().and_then(|chunk| chunk.span) {
            sim.close_span(span, Vec::new());
        }
        if let Some(active) = &mut self.engines[slot / self.outstanding].active {
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
                        let engine = copy.direction as usize % self.engines.len();
                        let label = Label { kernel: 0, stream };
                        self.engines[engine].queue.push_back(Queued { id, copy, label, title });
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
            sim.set_busy(self.engines.iter().any(|engine| engine.active.is_some()));
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
