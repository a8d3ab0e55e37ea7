//! The command processor: the device's end of the bus.
//!
//! Commands of one stream are executed one after another, streams are independent. Copies go to the copy engine, launches to the CTA
//! scheduler; messages between the copy engine and the host pass through.
//!
//! Commands wait in hardware queues, those of a stream in the queue of its number, modulo the queues. A queue is strictly
//! first come, first served: its head is begun when the commands before it *on its own stream* are done, and until then
//! nothing behind it moves, whatever its stream. With one queue (Fermi) that is false serialisation: of streams filled one
//! after another, each with a chain of kernels, only the last kernel of one and the first of the next run together. With a
//! queue for each stream (Hyper-Q, 32 on Kepler) all streams do. (NVIDIA, CUDA sample `simpleHyperQ` and its guide "HyperQ
//! Example"; Kepler GK110 whitepaper, "Hyper-Q".) Copies may have queues of their own, as engines do on Fermi: one, or one each
//! way (NVIDIA, "CUDA C/C++ Streams and Concurrency", 2011).
//!
//! An event is a command that is done as soon as it is its turn; a stream that waits for it is blocked until then. A wait
//! names an event that was sent before it, so queues cannot wait for each other in a circle.
//!
//! A launch that is gated, or helps one ([`Precedence`]), does not hold the launches behind it in its stream: their order is that of
//! pages. Copies wait for it as for any other. The authority over pages knows a gated launch before the CTA scheduler does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::bus::{
    BusMessage, BusSocket, Command, CommandId, Copy, CopyClient, Description, Direction, FromCopyEngine,
    ToCopyEngine, Work,
};
use counterpoint_protocols::launch::{
    CtaCounts, Launch, LaunchClient, LaunchEvent, LaunchId, Precedence, SmResources, ToScheduler,
};
use counterpoint_protocols::local::Capacity;
use counterpoint_protocols::pages::{PageClient, PageCommand, PageEvent};

/// Parameters of the device: its memory and the rate at which commands are taken.
#[derive(Clone, Debug, Params)]
pub struct CommandProcessorParams {
    /// Bytes of device memory, as announced to the host.
    #[param(default = "1 GiB", min = "4 KiB")]
    memory: Bytes,
    /// Latency of a launch command, from its dequeue to its arrival at the CTA scheduler (GPGPU-Sim's kernel_launch_latency).
    #[param(default = "0 cycles")]
    launch_latency: Cycles,
    /// Hardware queues. A stream uses the queue with the number of the stream modulo `queues`. Fermi has 1; Kepler of compute capability
    /// 3.5 and later GPUs have 32 (Hyper-Q), of which CUDA uses 8 unless CUDA_DEVICE_MAX_CONNECTIONS sets another number.
    #[param(default = "32", min = "1", max = "1024")]
    queues: u32,
    /// Queues for copies only. With 0, copies wait in the queue of their stream; with 1, all copies share a queue; with 2, each direction
    /// has a queue, as on a Fermi with two copy engines.
    #[param(default = "0", max = "2")]
    copy_queues: u32,
}

/// The ports of a command processor.
#[derive(Ports)]
pub struct CommandProcessorPorts {
    /// The host, across the bus.
    bus: BusSocket,
    /// The CTA scheduler.
    launches: LaunchClient,
    /// The copy engine.
    copies: CopyClient,
    /// The authority over pages, where the machine has one.
    pages: Option<PageClient>,
}

/// Statistics of a command processor.
#[derive(Default, Stats)]
pub struct CommandProcessorStats {
    /// Commands taken.
    #[stat(unit = "commands")]
    commands: Counter,
    /// Kernel launches among them.
    #[stat(unit = "launches")]
    launches: Counter,
    /// Copies and fills among them.
    #[stat(unit = "copies")]
    copies: Counter,
    /// Events among them that have been recorded.
    #[stat(unit = "events")]
    events: Counter,
}

/// The command processor.
pub struct CommandProcessor {
    params: CommandProcessorParams,
    path: String,
    /// The CTA scheduler's report of the SMs. The host learns of the device only after it.
    capacity: Option<(Capacity, SmResources)>,
    /// The commands that have not begun, in the order of their arrival; the queues for copies come last.
    queues: Vec<VecDeque<Command>>,
    /// For each stream the commands that are not done, in their order: only the first can be under way.
    streams: BTreeMap<u32, VecDeque<CommandId>>,
    /// The copies and launches that are under way, with their streams if these wait for them.
    under_way: BTreeMap<CommandId, Option<u32>>,
    /// Launches under way that hold only copies, with the streams of these copies.
    aside: BTreeMap<CommandId, u32>,
    /// The events that have not been recorded.
    unrecorded: BTreeSet<CommandId>,
    /// The commands that launched kernels, and the precedence of each kernel.
    launched: BTreeMap<LaunchId, (CommandId, Precedence)>,
    /// Gated launches that the authority over pages does not know yet.
    unknown: BTreeMap<LaunchId, Arc<Launch>>,
    has_authority: bool,
    to_pages: VecDeque<PageCommand>,
    to_host: VecDeque<BusMessage>,
    to_copies: VecDeque<ToCopyEngine>,
    to_scheduler: VecDeque<ToScheduler>,
}

impl CommandProcessor {
    /// Begins all commands whose turn it is.
    fn advance(&mut self, stats: &CommandProcessorStats) -> Result<(), Fault> {
        // A command that completes at once, such as an event, may release another queue.
        let mut begun = true;
        while std::mem::take(&mut begun) {
            for index in 0..self.queues.len() {
                while self.is_due(index)
                    && let Some(command) = self.queues[index].pop_front()
                {
                    begun = true;
                    self.begin(command, stats)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the head of a queue can begin.
    fn is_due(&self, index: usize) -> bool {
        self.queues[index].front().is_some_and(|head| {
            let held = match &head.work {
                Work::Wait(event) => self.unrecorded.contains(event),
                Work::Describe => self.capacity.is_none(),
                Work::Copy(_) | Work::Move(_) => self.aside.values().any(|stream| *stream == head.stream),
                _ => false,
            };
            let first = self.streams.get(&head.stream).and_then(VecDeque::front);
            !held && first == Some(&head.id)
        })
    }

    fn queue_of(&self, command: &Command) -> usize {
        let (all, own) = (self.params.queues as usize, self.params.copy_queues as usize);
        match &command.work {
            Work::Copy(copy) if own > 0 => all + copy.direction as usize % own,
            Work::Move(rows) if own > 0 => all + rows.direction() as usize % own,
            _ => command.stream as usize % all,
        }
    }

    fn begin(
        &mut self,
        Command { id, stream, work, title }: Command,
        stats: &CommandProcessorStats,
    ) -> Result<(), Fault> {
        match work {
            Work::Copy(copy) if copy.bytes > 0 => {
                stats.copies.add(1);
                self.to_copies.push_back(ToCopyEngine::Copy { id, stream, copy, title });
                self.under_way.insert(id, Some(stream));
            }
            Work::Launch(launch) => {
                stats.launches.add(1);
                let precedence = launch.precedence;
                self.launched.insert(launch.id, (id, precedence));
                let holds = precedence == Precedence::Stream;
                self.under_way.insert(id, holds.then_some(stream));
                if !holds {
                    self.aside.insert(id, stream);
                    self.resume_stream(stream);
                }
                if precedence.is_gated() {
                    self.tell(PageCommand::Launched(Arc::clone(&launch)))?;
                    self.unknown.insert(launch.id, launch);
                } else {
                    self.to_scheduler.push_back(ToScheduler::Start(launch));
                }
            }
            Work::Overlap(copy) => {
                self.tell(PageCommand::Overlap(copy))?;
                self.end(stream, BusMessage::Done(id));
            }
            Work::Note { note, pages } => {
                if pages {
                    self.tell(PageCommand::Note(note.clone()))?;
                }
                self.to_scheduler.push_back(ToScheduler::Note(note));
                self.end(stream, BusMessage::Done(id));
            }
            Work::Describe => {
                let (capacity, sm) = self.capacity.unwrap_or_default();
                let description =
                    Description { memory: self.params.memory.get(), capacity, sm, path: self.path.clone() };
                self.end(stream, BusMessage::Description(id, description));
            }
            Work::Record => {
                stats.events.add(1);
                self.unrecorded.remove(&id);
                self.end(stream, BusMessage::Done(id));
            }
            Work::Move(rows) if rows.total() > 0 => {
                stats.copies.add(1);
                self.to_copies.push_back(ToCopyEngine::Move { id, stream, rows, title });
                self.under_way.insert(id, Some(stream));
            }
            Work::Copy(_) | Work::Move(_) | Work::Wait(_) => self.end(stream, BusMessage::Done(id)),
        }
        Ok(())
    }

    /// A command for the authority over pages.
    fn tell(&mut self, command: PageCommand) -> Result<(), Fault> {
        if !self.has_authority {
            let message = "copies by page and gated launches need an authority over pages: link `pages` to its `control`";
            return Err(Fault::new(message));
        }
        self.to_pages.push_back(command);
        Ok(())
    }

    /// An event of the authority over pages.
    fn take_page_event(&mut self, event: PageEvent) {
        match event {
            PageEvent::Known(launch) => {
                self.to_scheduler.extend(self.unknown.remove(&launch).map(ToScheduler::Start));
            }
            PageEvent::Copy(copy) => self.to_copies.push_back(ToCopyEngine::Page(copy)),
        }
    }

    fn page_copied(&mut self, copy: Copy) -> Result<(), Fault> {
        match copy.direction {
            Direction::HostToDevice => self.tell(PageCommand::Arrived(copy)),
            Direction::DeviceToHost => {
                self.to_host.push_back(BusMessage::PageCopied(copy));
                Ok(())
            }
        }
    }

    /// The first command of a stream is done: notifies the host.
    fn end(&mut self, stream: u32, answer: BusMessage) {
        self.to_host.push_back(answer);
        self.resume_stream(stream);
    }

    /// A stream does not wait for its first command any more.
    fn resume_stream(&mut self, stream: u32) {
        if let Some(commands) = self.streams.get_mut(&stream) {
            commands.pop_front();
        }
    }

    /// A copy or a launch is done.
    fn done(&mut self, id: CommandId, stats: &CommandProcessorStats) -> Result<(), Fault> {
        self.done_as(id, BusMessage::Done(id), stats)
    }

    /// Like `done`, with the answer that the host receives.
    fn done_as(
        &mut self,
        id: CommandId,
        answer: BusMessage,
        stats: &CommandProcessorStats,
    ) -> Result<(), Fault> {
        let stream = self.under_way.remove(&id);
        let stream = stream.ok_or_else(|| Fault::new(format!("command {} is not under way", id.0)))?;
        self.to_host.push_back(answer);
        self.aside.remove(&id);
        if let Some(stream) = stream {
            self.resume_stream(stream);
        }
        self.advance(stats)
    }

    /// A launch is done, with counts if they were requested.
    fn launch_done(
        &mut self,
        launch: LaunchId,
        counts: Option<Box<CtaCounts>>,
        stats: &CommandProcessorStats,
    ) -> Result<(), Fault> {
        let command = self.launched.remove(&launch);
        let (id, precedence) =
            command.ok_or_else(|| Fault::new(format!("launch {} is not under way", launch.0)))?;
        match precedence {
            Precedence::Stream => {}
            Precedence::Helper(kernel) => self.tell(PageCommand::HelperEnded(kernel))?,
            Precedence::Gated => self.tell(PageCommand::Ended(launch))?,
        }
        let answer = counts.map_or(BusMessage::Done(id), |counts| BusMessage::Counted(id, counts));
        self.done_as(id, answer, stats)
    }

    fn take_host_message(&mut self, message: BusMessage, stats: &CommandProcessorStats) -> Result<(), Fault> {
        match message {
            BusMessage::Command(command) => {
                stats.commands.add(1);
                if matches!(command.work, Work::Record) {
                    self.unrecorded.insert(command.id);
                }
                self.streams.entry(command.stream).or_default().push_back(command.id);
                let queue = self.queue_of(&command);
                self.queues[queue].push_back(command);
                self.advance(stats)?;
            }
            BusMessage::Page(copy) => self.to_copies.push_back(ToCopyEngine::Page(copy)),
            message @ (BusMessage::Values { .. } | BusMessage::Written { .. }) => {
                self.to_copies.push_back(ToCopyEngine::Bus(message));
            }
            other => return Err(Fault::new(format!("the host sent {other:?}"))),
        }
        Ok(())
    }
}

impl Component for CommandProcessor {
    const KIND: &'static str = "gpu/command-processor";
    const DOC: &'static str = "The device's end of the bus: takes commands, keeps the order of streams, reports \
                               completions.";
    const DAEMON: bool = true;
    type Params = CommandProcessorParams;
    type Ports = CommandProcessorPorts;
    type Stats = CommandProcessorStats;

    fn new(params: CommandProcessorParams) -> Result<Self, Invalid> {
        Ok(CommandProcessor {
            path: String::new(),
            capacity: None,
            queues: vec![VecDeque::new(); (params.queues + params.copy_queues) as usize],
            params,
            streams: BTreeMap::new(),
            under_way: BTreeMap::new(),
            aside: BTreeMap::new(),
            unrecorded: BTreeSet::new(),
            launched: BTreeMap::new(),
            unknown: BTreeMap::new(),
            has_authority: false,
            to_pages: VecDeque::new(),
            to_host: VecDeque::new(),
            to_copies: VecDeque::new(),
            to_scheduler: VecDeque::new(),
        })
    }

    async fn run(
        &mut self,
        io: &mut CommandProcessorPorts,
        sim: &Context<CommandProcessorStats>,
    ) -> Result<(), Fault> {
        // The device is the parent of this component in the path.
        self.path = sim.path().rsplit_once('.').map_or("", |(device, _)| device).to_owned();
        self.has_authority = io.pages.is_some();
        loop {
            if let Some(event) = io.pages.as_mut().and_then(|pages| pages.rx.try_recv()) {
                self.take_page_event(event);
            }
            if let Some(message) = io.bus.rx.try_recv() {
                if let BusMessage::Command(command) = &message {
                    sim.debug(|| format!("takes command {} of stream {}", command.id.0, command.stream));
                }
                self.take_host_message(message, &sim.stats)?;
            }
            match io.copies.rx.try_recv() {
                Some(FromCopyEngine::Copied(id)) => {
                    sim.debug(|| format!("copy of command {} is done", id.0));
                    self.done(id, &sim.stats)?;
                }
                Some(FromCopyEngine::PageCopied(copy)) => self.page_copied(copy)?,
                Some(FromCopyEngine::Bus(message)) => self.to_host.push_back(message),
                None => {}
            }
            match io.launches.rx.try_recv() {
                Some(LaunchEvent::Capacity(capacity, sm)) => {
                    self.capacity = Some((capacity, sm));
                    self.advance(&sim.stats)?;
                }
                Some(LaunchEvent::Done(launch)) => {
                    sim.debug(|| format!("launch {} is done", launch.0));
                    self.launch_done(launch, None, &sim.stats)?;
                }
                Some(LaunchEvent::Counted(launch, counts)) => {
                    self.launch_done(launch, Some(counts), &sim.stats)?;
                }
                None => {}
            }
            io.bus.tx.send_front(&mut self.to_host, SimTime::ZERO);
            io.copies.tx.send_front(&mut self.to_copies, SimTime::ZERO);
            io.launches.tx.send_front(&mut self.to_scheduler, sim.span(self.params.launch_latency.get()));
            if let Some(pages) = &mut io.pages {
                pages.tx.send_front(&mut self.to_pages, SimTime::ZERO);
            }
            sim.set_busy(!self.under_way.is_empty());
            sim.wait_tried(SimTime::MAX, io).await;
        }
    }
}
