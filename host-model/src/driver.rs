//! Operations of a runtime: read and write files, copy, launch, wait. All operations become messages to storage, memory
//! and devices; the parameters limit the number of messages under way.

mod allocation;
mod host;
mod live;
mod modules;
mod moves;
pub(crate) mod overlap;
mod printing;
mod spans;
pub mod threads;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::Context;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{BusMessage, Command, CommandId, Description, Direction, Title, Work};
use counterpoint_protocols::extra::Extra;
use counterpoint_protocols::host::{DeviceMessage, HostAccess, HostReply, StorageReply, StorageRequest};
use counterpoint_protocols::launch::{CtaCounts, Launch, LaunchId, Precedence};
use counterpoint_protocols::launch_rows::LaunchRows;
use counterpoint_protocols::memory::Tag;
use counterpoint_ptx::Allocations;
use counterpoint_ptx::texture::Textures;

use crate::calls::CallParams;
use crate::cores::CoreParams;
use crate::cpu::{CpuParams, CpuPorts, CpuStats};
use crate::journal::Journal;
use crate::program::{Application, BufferId, Condition, LaunchStep, Space, Transfer};
use modules::{Hidden, Loaded};
use printing::Printing;
use threads::{Invalid, Thread};

pub use allocation::Layout;

/// Purpose of a page in flight.
enum Page {
    /// From storage to memory.
    Fill { address: u64, bytes: u32 },
    /// From memory to storage.
    Drain { transfer: Transfer, offset: u64, bytes: u32 },
    /// From memory to the journal.
    Inspect { buffer: BufferId, offset: u64, bytes: u32 },
    /// From memory to the CPU.
    Poll { offset: u64 },
    /// From the CPU to memory.
    Note,
}

/// A command under way.
struct Issued {
    bytes: u64,
    is_launch: bool,
}

/// The host's hands.
pub struct Driver<'a> {
    io: &'a mut CpuPorts,
    sim: &'a Context<CpuStats>,
    application: Arc<Application>,
    journal: Arc<Journal>,
    /// The cores of the CPU.
    cores: CoreParams,
    calls: CallParams,
    page: u64,
    /// Pages that each thread may have under way.
    depth: usize,
    /// The pages under way: those of the steps, then those of each thread.
    pages: Vec<Option<Page>>,
    threads: Vec<Thread>,
    invalid: Invalid,
    host_address: Vec<u64>,
    device_address: Vec<u64>,
    /// Buffer to which each buffer's name currently refers; `swap` exchanges entries.
    meaning: Vec<BufferId>,
    /// For each device, the memory that its kernels may access.
    mapped: BTreeMap<Space, Arc<Allocations>>,
    /// For each module, its location.
    loaded: Vec<Loaded>,
    /// For each device, its hidden allocations besides buffers.
    hidden: BTreeMap<u32, Hidden>,
    /// For each device, the number of copies that have written its constants.
    constant_writes: BTreeMap<u32, u32>,
    /// For each device with kernels that print, the state of their output.
    printing: BTreeMap<u32, Printing>,
    run: Option<SpanId>,
    /// For each buffer, by position, the number of launches after which it was freed.
    freed: Vec<Option<u32>>,
    commands: BTreeMap<CommandId, Issued>,
    descriptions: BTreeMap<CommandId, Description>,
    /// Counts of launches that nobody has taken yet.
    counts: BTreeMap<CommandId, Box<CtaCounts>>,
    devices: BTreeMap<u32, Description>,
    next_command: u32,
    next_launch: u32,
    /// Times at which commands were done, of those for which it is noted.
    ends: BTreeMap<CommandId, Option<SimTime>>,
    /// Textures and surfaces of a program that runs live; others have those of the application.
    textures: Option<Arc<Textures>>,
    inspected: BTreeMap<BufferId, Vec<u8>>,
    /// Bytes that the CPU looked at last.
    seen: Vec<u8>,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        io: &'a mut CpuPorts,
        sim: &'a Context<CpuStats>,
        params: &CpuParams,
    ) -> Result<Self, Fault> {
        let (page, depth) = (params.page.get(), params.queue_depth as usize);
        let application =
            sim.resource::<Application>().ok_or_else(|| Fault::new("the run was given no application"))?;
        let journal = sim.resource::<Journal>().unwrap_or_default();
        let meaning = (0..application.buffers.len() as u32).map(BufferId).collect();
        Ok(Driver {
            io,
            sim,
            freed: vec![None; application.buffers.len()],
            application,
            journal,
            cores: params.cores.clone(),
            calls: params.calls.clone(),
            page,
            depth,
            pages: (0..depth).map(|_| None).collect(),
            threads: Vec::new(),
            invalid: Invalid::default(),
            host_address: Vec::new(),
            device_address: Vec::new(),
            meaning,
            mapped: BTreeMap::new(),
            loaded: Vec::new(),
            hidden: BTreeMap::new(),
            constant_writes: BTreeMap::new(),
            printing: BTreeMap::new(),
            run: None,
            commands: BTreeMap::new(),
            descriptions: BTreeMap::new(),
            counts: BTreeMap::new(),
            devices: BTreeMap::new(),
            next_command: 1,
            next_launch: 1,
            ends: BTreeMap::new(),
            textures: None,
            inspected: BTreeMap::new(),
            seen: Vec::new(),
        })
    }

    /// The application.
    pub fn application(&self) -> Arc<Application> {
        Arc::clone(&self.application)
    }

    /// The device of a name's buffer.
    pub fn device_of(&self, name: BufferId) -> u32 {
        self.application.buffers[self.place(name)].device
    }

    /// A random number of the host's own.
    pub fn random(&self) -> u64 {
        self.sim.random()
    }

    /// Exchanges the buffers of two names.
    pub fn swap(&mut self, a: BufferId, b: BufferId) {
        self.meaning.swap(a.0 as usize, b.0 as usize);
    }

    /// The CPU's cores.
    pub fn cores(&self) -> &CoreParams {
        &self.cores
    }

    /// Position, among those of the application, of the buffer to which a name currently refers.
    pub fn place(&self, name: BufferId) -> usize {
        self.meaning[name.0 as usize].0 as usize
    }

    /// Notes the final values of the buffers to be inspected.
    pub(crate) async fn inspect(&mut self) -> Result<(), Fault> {
        for name in self.application().inspect.clone() {
            let place = self.place(name);
            let (size, address) = (self.application.buffers[place].bytes, self.host_address[place]);
            self.inspected.insert(name, vec![0; size as usize]);
            for offset in (0..size).step_by(self.page as usize) {
                let bytes = self.page.min(size - offset) as u32;
                let tag = self.page_slot(Page::Inspect { buffer: name, offset, bytes }).await?;
                self.io.memory.tx.send(HostAccess::Read { tag, address: address + offset, bytes }).await;
            }
            self.settle().await?;
            self.journal.result(name, self.inspected.remove(&name).unwrap_or_default().into());
        }
        Ok(())
    }

    /// Copies the value of a condition from the device, after everything sent on the stream before, and returns whether the
    /// condition is fulfilled.
    pub async fn is_fulfilled(
        &mut self,
        condition: &Condition,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<bool, Fault> {
        let part = condition.part();
        let copy = self.copy_part(Direction::DeviceToHost, part, stream, parent).await?;
        self.wait(copy).await?;
        Ok(*self.read_part(part).await? == *condition.value)
    }

    /// Launches a kernel; the result names it.
    ///
    /// # Errors
    /// If its code is not on its device.
    pub async fn launch(
        &mut self,
        step: &LaunchStep,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        self.launch_as(step, stream, (Precedence::Stream, Extra::default()), parent).await
    }

    /// Launches a kernel with the additions of an extension; the result names the launch.
    ///
    /// # Errors
    /// As [`Driver::launch`].
    pub async fn launch_with(
        &mut self,
        step: &LaunchStep,
        stream: u32,
        extra: Extra,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        self.launch_as(step, stream, (Precedence::Stream, extra), parent).await
    }

    /// The name of the launch behind the next one.
    pub fn launch_after_next(&self) -> LaunchId {
        LaunchId(self.next_launch + 1)
    }

    /// Launches a kernel that does not wait, or is not waited for, as the others of its stream are; the result names it.
    ///
    /// # Errors
    /// As [`Driver::launch`].
    pub async fn launch_as(
        &mut self,
        step: &LaunchStep,
        stream: u32,
        (precedence, extra): (Precedence, Extra),
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        let params = self.params_of(step);
        let place_of = |name| self.device_address[self.place(name)];
        let textures = match &self.textures {
            Some(textures) => Arc::clone(textures),
            None => self.application.textures_on(step.device, place_of),
        };
        let id = LaunchId(self.next_launch);
        self.next_launch += 1;
        let unknown = || Fault::new(format!("`{}` is not on device {}", step.code, step.device));
        let place = self.application.place_of(step).ok_or_else(unknown)?;
        let space = self.application.space_of_module(place.module);
        let memory = self.mapped.get(&space).cloned().ok_or_else(unknown)?;
        let loaded = &self.loaded[place.module];
        let hidden = self.hidden.get(&step.device).ok_or_else(unknown)?;
        let launch = Launch {
            id,
            stream,
            precedence,
            extra,
            kernel: Arc::clone(&step.kernel),
            code: loaded.code[place.kernel],
            variables: loaded.seen(space),
            shift: space.shift,
            textures,
            local: hidden.local,
            grid: step.grid,
            block: step.block,
            dynamic_shared: step.shared,
            stack: hidden.stack,
            registers: step.registers,
            params: params.into(),
            constant_writes: self.constant_writes.get(&step.device).copied().unwrap_or(0),
            parameters: hidden.parameters.of(id),
            memory,
            span: parent,
        };
        if let Some(rows) = self.sim.resource::<LaunchRows>() {
            let device = self.devices.get(&step.device).map_or("", |device| &device.path);
            rows.note(device, launch.name());
        }
        if let Some(printing) = self.printing.get_mut(&step.device).filter(|_| step.kernel.prints()) {
            printing.due = true;
        }
        Ok(self.command(step.device, stream, Work::Launch(Arc::new(launch)), None, 0).await)
    }

    /// The parameters of a launch as bytes, with the addresses at which its program sees buffers on its device.
    pub fn params_of(&self, step: &LaunchStep) -> Vec<u8> {
        let shift = self.application.space_of_launch(step).shift;
        step.params(|name| self.device_address[self.place(name)] - shift)
    }

    /// Records an event on a stream; the result names it.
    pub async fn record(&mut self, device: u32, stream: u32) -> CommandId {
        self.command(device, stream, Work::Record, None, 0).await
    }

    /// Holds a stream until an event of its device has been recorded; the result names the command.
    pub async fn hold(&mut self, device: u32, stream: u32, event: CommandId) -> CommandId {
        self.command(device, stream, Work::Wait(event), None, 0).await
    }

    /// Waits until all commands are done, and reads the text that kernels have printed.
    pub async fn drain(&mut self) -> Result<(), Fault> {
        while !self.commands.is_empty() {
            self.event().await?;
        }
        self.read_printed().await
    }

    /// Waits until a command is done.
    pub async fn wait(&mut self, id: CommandId) -> Result<(), Fault> {
        while self.commands.contains_key(&id) {
            self.event().await?;
        }
        Ok(())
    }

    /// Counts of the blocks of a launch that was [`Counted`](counterpoint_protocols::launch::Counted) and is
    /// done; once.
    pub fn take_counts(&mut self, id: CommandId) -> Option<CtaCounts> {
        self.counts.remove(&id).map(|counts| *counts)
    }

    /// Whether any command has been sent and is not done.
    pub(crate) fn is_busy(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Whether a command has been sent and is not done.
    pub fn is_under_way(&self, id: CommandId) -> bool {
        self.commands.contains_key(&id)
    }

    async fn command(
        &mut self,
        device: u32,
        stream: u32,
        work: Work,
        title: Option<Title>,
        bytes: u64,
    ) -> CommandId {
        let id = CommandId(self.next_command);
        self.next_command += 1;
        self.sim.stats.commands.add(1);
        let time = self.calls.time(&work);
        if time > SimTime::ZERO {
            self.sim.until(self.sim.now() + time).await;
        }
        let is_kernel = |launch: &Launch| !matches!(launch.precedence, Precedence::Helper(_));
        let is_launch = matches!(&work, Work::Launch(launch) if is_kernel(launch));
        self.commands.insert(id, Issued { bytes, is_launch });
        self.sim.debug(|| format!("sends command {} on stream {stream}", id.0));
        let message = BusMessage::Command(Command { id, stream, work, title });
        self.io.devices.tx.send(DeviceMessage { device, message }).await;
        id
    }

    /// Waits for a free place among the pages under way.
    async fn page_slot(&mut self, page: Page) -> Result<Tag, Fault> {
        loop {
            if let Some(slot) = self.pages[..self.depth].iter().position(Option::is_none) {
                self.pages[slot] = Some(page);
                return Ok(Tag(slot as u32));
            }
            self.event().await?;
        }
    }

    /// Waits until no page is under way.
    async fn settle(&mut self) -> Result<(), Fault> {
        while self.pages[..self.depth].iter().any(Option::is_some) {
            self.event().await?;
        }
        Ok(())
    }

    fn page(&mut self, tag: Tag) -> Result<&mut Option<Page>, Fault> {
        let page = self.pages.get_mut(tag.0 as usize).filter(|page| page.is_some());
        page.ok_or_else(|| Fault::new(format!("an answer for page {}, which is not under way", tag.0)))
    }

    /// Waits for messages and takes those that have arrived.
    async fn event(&mut self) -> Result<(), Fault> {
        self.event_until(SimTime::MAX).await
    }

    /// Waits for messages until `deadline` at most, and takes those that have arrived.
    ///
    /// # Errors
    /// If a message answers no request.
    pub async fn event_until(&mut self, deadline: SimTime) -> Result<(), Fault> {
        if self.take_message().await? || self.run_threads().await {
            return Ok(());
        }
        let CpuPorts { input, output, memory, devices } = &*self.io;
        let sources =
            [input.rx.when(true), output.rx.when(true), memory.rx.when(true), devices.rx.when(true)];
        self.sim.wait(self.next_computed().min(deadline), sources).await;
        Ok(())
    }

    /// Takes a message, if one has arrived.
    async fn take_message(&mut self) -> Result<bool, Fault> {
        if let Some(StorageReply::Values { tag, data }) = self.io.input.rx.try_recv() {
            if let Some(Page::Fill { address, .. }) = *self.page(tag)? {
                self.io.memory.tx.send(HostAccess::Write { tag, address, data }).await;
            }
            return Ok(true);
        }
        if let Some(reply) = self.io.memory.rx.try_recv() {
            self.memory_reply(reply).await?;
            return Ok(true);
        }
        if let Some(StorageReply::Written { tag }) = self.io.output.rx.try_recv() {
            if let Some(Page::Drain { bytes, .. }) = self.page(tag)?.take() {
                self.sim.stats.pages_written.add(1);
                self.journal.moved(u64::from(bytes));
                self.end_of_page(tag, bytes);
            }
            return Ok(true);
        }
        if let Some(DeviceMessage { device, message }) = self.io.devices.rx.try_recv() {
            self.device_message(device, message)?;
            return Ok(true);
        }
        Ok(false)
    }

    async fn memory_reply(&mut self, reply: HostReply) -> Result<(), Fault> {
        match reply {
            HostReply::Written { tag } => {
                if let Some(Page::Fill { bytes, .. }) = self.page(tag)?.take() {
                    self.sim.stats.pages_read.add(1);
                    self.journal.moved(u64::from(bytes));
                    self.end_of_page(tag, bytes);
                }
            }
            HostReply::Values { tag, data } => match *self.page(tag)? {
                Some(Page::Drain { transfer, offset, .. }) => {
                    self.io
                        .output
                        .tx
                        .send(StorageRequest::Write {
                            tag,
                            file: transfer.file,
                            offset: transfer.at + offset,
                            data,
                        })
                        .await;
                }
                Some(Page::Inspect { buffer, offset, bytes }) => {
                    *self.page(tag)? = None;
                    let range = offset as usize..offset as usize + bytes as usize;
                    if let Some(values) = self.inspected.get_mut(&buffer) {
                        values[range].copy_from_slice(&data);
                    }
                }
                Some(Page::Poll { offset }) => {
                    *self.page(tag)? = None;
                    self.seen[offset as usize..offset as usize + data.len()].copy_from_slice(&data);
                }
                _ => return Err(Fault::new(format!("memory answered page {} with values", tag.0))),
            },
        }
        Ok(())
    }

    fn device_message(&mut self, device: u32, message: BusMessage) -> Result<(), Fault> {
        let id = match message {
            BusMessage::Done(id) => id,
            BusMessage::PageCopied(copy) => {
                self.page_came(copy);
                return Ok(());
            }
            BusMessage::Counted(id, counts) => {
                self.counts.insert(id, counts);
                id
            }
            BusMessage::Description(id, description) => {
                self.descriptions.insert(id, description);
                id
            }
            other => return Err(Fault::new(format!("device {device} sent {other:?}"))),
        };
        let issued = self.commands.remove(&id);
        let issued =
            issued.ok_or_else(|| Fault::new(format!("device {device} ended command {}, unknown", id.0)))?;
        if let Some(end) = self.ends.get_mut(&id) {
            *end = Some(self.sim.now());
        }
        self.journal.moved(issued.bytes);
        if issued.is_launch {
            self.journal.launched();
        }
        Ok(())
    }
}
