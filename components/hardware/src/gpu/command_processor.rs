//! The command processor: the device's end of the bus.
//!
//! Commands of one stream are done one after another, streams are independent. Copies go to the copy engine, launches
//! to the CTA scheduler; what the copy engine and the host say to each other passes through.

use std::collections::{BTreeMap, VecDeque};

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::bus::{
    BusMessage, BusSocket, Command, CommandId, CopyClient, Description, FromCopyEngine, ToCopyEngine, Work,
};
use counterpoint_protocols::launch::{LaunchClient, LaunchId, Start};

/// What the device is and how fast commands are taken.
#[derive(Clone, Debug, Params)]
pub struct CommandProcessorParams {
    /// Bytes of device memory, as the host is told.
    #[param(default = "1 GiB", min = "4 KiB")]
    memory: Bytes,
    /// From a launch command's turn to its arrival at the CTA scheduler (GPGPU-Sim's kernel_launch_latency).
    #[param(default = "0 cycles")]
    launch_latency: Cycles,
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
}

/// What a command processor counts.
#[derive(Default, Stats)]
pub struct CommandProcessorStats {
    /// Commands taken.
    commands: Counter,
    /// Kernel launches among them.
    launches: Counter,
    /// Copies among them.
    copies: Counter,
}

/// The command processor.
pub struct CommandProcessor {
    params: CommandProcessorParams,
    description: Description,
    /// Per stream its commands; the first one is under way if `busy`.
    streams: BTreeMap<u32, Stream>,
    /// The commands that launched kernels.
    launched: BTreeMap<LaunchId, CommandId>,
    to_host: VecDeque<BusMessage>,
    to_copies: VecDeque<ToCopyEngine>,
    to_scheduler: VecDeque<Start>,
}

#[derive(Default)]
struct Stream {
    commands: VecDeque<Command>,
    busy: bool,
}

impl CommandProcessor {
    /// Begins the first command of the stream, if none is under way.
    fn advance(&mut self, number: u32, stats: &CommandProcessorStats) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        while !stream.busy
            && let Some(command) = stream.commands.front()
        {
            let id = command.id;
            match &command.work {
                Work::Describe => {
                    self.to_host.push_back(BusMessage::Description(id, self.description.clone()));
                    stream.commands.pop_front();
                }
                Work::Copy(copy) if copy.bytes == 0 => {
                    self.to_host.push_back(BusMessage::Done(id));
                    stream.commands.pop_front();
                }
                Work::Copy(copy) => {
                    stats.copies.add(1);
                    self.to_copies.push_back(ToCopyEngine::Copy(id, *copy));
                    stream.busy = true;
                }
                Work::Launch(launch) => {
                    stats.launches.add(1);
                    self.launched.insert(launch.id, id);
                    self.to_scheduler.push_back(Start(launch.clone()));
                    stream.busy = true;
                }
            }
        }
    }

    /// The command under way is done.
    fn done(&mut self, id: CommandId, stats: &CommandProcessorStats) -> Result<(), Fault> {
        let under_way =
            |stream: &Stream| stream.busy && stream.commands.front().is_some_and(|first| first.id == id);
        let found = self.streams.iter_mut().find(|(_, stream)| under_way(stream));
        let (&number, stream) =
            found.ok_or_else(|| Fault::new(format!("command {} is not under way", id.0)))?;
        stream.commands.pop_front();
        stream.busy = false;
        self.to_host.push_back(BusMessage::Done(id));
        self.advance(number, stats);
        Ok(())
    }

    fn take_host_message(&mut self, message: BusMessage, stats: &CommandProcessorStats) -> Result<(), Fault> {
        match message {
            BusMessage::Command(command) => {
                stats.commands.add(1);
                let number = command.stream;
                self.streams.entry(number).or_default().commands.push_back(command);
                self.advance(number, stats);
            }
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
            description: Description { memory: params.memory.get(), path: String::new() },
            params,
            streams: BTreeMap::new(),
            launched: BTreeMap::new(),
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
        // The device is what this is a part of.
        self.description.path = sim.path().rsplit_once('.').map_or("", |(device, _)| device).to_owned();
        loop {
            if let Some(message) = io.bus.rx.try_recv() {
                self.take_host_message(message, &sim.stats)?;
            }
            match io.copies.rx.try_recv() {
                Some(FromCopyEngine::Copied(id)) => self.done(id, &sim.stats)?,
                Some(FromCopyEngine::Bus(message)) => self.to_host.push_back(message),
                None => {}
            }
            if let Some(done) = io.launches.rx.try_recv() {
                let id = self.launched.remove(&done.0);
                let id = id.ok_or_else(|| Fault::new(format!("launch {} is not under way", done.0.0)))?;
                self.done(id, &sim.stats)?;
            }
            if !self.to_host.is_empty()
                && let Some(permit) = io.bus.tx.try_reserve()
                && let Some(message) = self.to_host.pop_front()
            {
                permit.send(message);
            }
            if !self.to_copies.is_empty()
                && let Some(permit) = io.copies.tx.try_reserve()
                && let Some(message) = self.to_copies.pop_front()
            {
                permit.send(message);
            }
            if !self.to_scheduler.is_empty()
                && let Some(permit) = io.launches.tx.try_reserve()
                && let Some(message) = self.to_scheduler.pop_front()
            {
                permit.send_after(sim.span(self.params.launch_latency.get()), message);
            }
            let sources = [
                io.bus.rx.when(true),
                io.copies.rx.when(true),
                io.launches.rx.when(true),
                io.bus.tx.when(!self.to_host.is_empty()),
                io.copies.tx.when(!self.to_copies.is_empty()),
                io.launches.tx.when(!self.to_scheduler.is_empty()),
            ];
            sim.set_busy(!self.launched.is_empty() || self.streams.values().any(|stream| stream.busy));
            sim.wait(SimTime::MAX, sources).await;
        }
    }
}
