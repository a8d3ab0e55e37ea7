//! A program that runs beside the simulation: its steps come while the run goes on, and copies and kernels overlap as its streams allow.

use std::collections::BTreeMap;

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Variant;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{self, CommandId, Direction, RowSource};

use super::Runtime;
use super::steps::Sender;
use crate::driver::Driver;
use crate::live::{LiveReply, LiveRows, LiveStep};
use crate::program::{Argument, Awaited, BufferId, LaunchStep};

/// Time that the program takes to look whether something is done: a call of the driver, so that a loop of looks comes to an end.
const LOOK: SimTime = SimTime::from_ns(500);

/// Time that a reading of the clock takes, so that a loop which waits for a time comes to an end.
const READING: SimTime = SimTime::from_ns(25);

/// The runtime `live`.
pub(super) struct Live;

impl Variant<dyn Runtime> for Live {
    const NAME: &'static str = "live";
    const DOC: &'static str =
        "Steps come from a program that runs beside the simulation (`counterpoint cuda --machine`).";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Live))
    }
}

#[async_trait(?Send)]
impl Runtime for Live {
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let feed = driver.feed()?;
        let device = driver.begin(Some(run), Level::Phases, "device");
        let description = driver.devices().get(&0).cloned();
        feed.reply(LiveReply { device: description, ..LiveReply::default() });
        let mut host = Host {
            sender: Sender::in_streams(device),
            span: device,
            buffers: BTreeMap::new(),
            events: BTreeMap::new(),
        };
        loop {
            let step = feed.next();
            if matches!(step, LiveStep::End) {
                break;
            }
            let reply = host.step(driver, step).await?;
            feed.reply(LiveReply { now: driver.now(), ..reply });
        }
        driver.drain().await?;
        driver.end(device);
        Ok(())
    }
}

/// The host of the program.
struct Host {
    sender: Sender,
    span: SpanId,
    /// Buffers that are there, by address.
    buffers: BTreeMap<u64, BufferId>,
    /// By event the command that recorded it last.
    events: BTreeMap<u32, CommandId>,
}

impl Host {
    async fn step(&mut self, driver: &mut Driver<'_>, step: LiveStep) -> Result<LiveReply, Fault> {
        let mut reply = LiveReply::default();
        let parent = Some(self.span);
        match step {
            LiveStep::Module { name, kernels, places, contents } => {
                driver.live_module(&name, &kernels, places, contents);
            }
            LiveStep::Allocate { address, bytes, contents } => {
                self.buffers.insert(address, driver.live_buffer(address, bytes, contents));
            }
            LiveStep::Free(address) => {
                if let Some(buffer) = self.buffers.remove(&address) {
                    driver.drain().await?;
                    driver.free(buffer)?;
                }
            }
            LiveStep::NonBlocking(stream) => driver.live_stream(stream),
            LiveStep::Look(rows) => reply.bytes = Some(driver.live_read(rows).await?),
            LiveStep::Copy { direction, rows, bytes, stream, waits, reads } => {
                if direction == Direction::HostToDevice {
                    driver.live_bytes(rows, &bytes).await?;
                }
                let stream = self.sender.enter(driver, 0, stream).await;
                let id = driver.live_copy(direction, rows, stream, parent).await;
                self.sender.sent(driver, 0, stream, id);
                if waits {
                    driver.wait(id).await?;
                    if reads {
                        reply.bytes = Some(driver.live_read(rows).await?);
                    }
                }
            }
            LiveStep::Within { from, to, stream } => {
                let LiveRows { address, pitch, .. } = from;
                let from = RowSource::Device(bus::Rows { first: address, pitch });
                self.moves(driver, from, to, stream).await;
            }
            LiveStep::Fill { rows, value, stream } => {
                let mut bytes = [0; 8];
                bytes.iter_mut().zip(value.iter().cycle()).for_each(|(byte, value)| *byte = *value);
                self.moves(driver, RowSource::Value(bytes), rows, stream).await;
            }
            LiveStep::Library(sizes) => driver.live_library(sizes),
            LiveStep::Launch { module, kernel, grid, block, shared, parameters, textures, stream } => {
                driver.live_kernel(module, &kernel);
                driver.live_textures(textures);
                let values = kernel.params().iter().map(|param| {
                    let place = param.offset as usize..(param.offset + param.size) as usize;
                    Argument::Value(parameters.get(place).unwrap_or_default().into())
                });
                let launch = LaunchStep {
                    arguments: values.collect(),
                    code: driver.application().modules[module].name.clone(),
                    registers: kernel.registers_per_thread(),
                    kernel,
                    grid,
                    block,
                    shared,
                    device: 0,
                    stream,
                };
                self.sender.launch_as(driver, &launch, stream, parent).await?;
            }
            LiveStep::Record(event, stream) => {
                let stream = self.sender.enter(driver, 0, stream).await;
                let id = driver.record(0, stream).await;
                driver.note_end(id);
                self.sender.sent(driver, 0, stream, id);
                self.events.insert(event, id);
            }
            LiveStep::Wait(event, stream) => {
                if let Some(&event) = self.events.get(&event) {
                    let stream = self.sender.enter(driver, 0, stream).await;
                    let id = driver.hold(0, stream, event).await;
                    self.sender.sent(driver, 0, stream, id);
                }
            }
            LiveStep::Synchronize(None) => driver.drain().await?,
            LiveStep::Synchronize(Some(stream)) => {
                self.sender.synchronize(driver, Awaited::Stream(stream)).await?;
            }
            LiveStep::Await(event) => {
                if let Some(&id) = self.events.get(&event) {
                    driver.wait(id).await?;
                }
            }
            LiveStep::Busy(time) => self.busy(driver, time).await?,
            LiveStep::Query { stream, event } => {
                self.busy(driver, LOOK).await?;
                reply.is_done = match (stream, event) {
                    (_, Some(event)) => self.events.get(&event).is_none_or(|id| !driver.is_under_way(*id)),
                    (Some(stream), _) => self.sender.last(stream).is_none_or(|id| !driver.is_under_way(id)),
                    (None, None) => !driver.is_busy(),
                };
            }
            LiveStep::Elapsed(first, second) => {
                let time = |event: u32| driver.end_of(*self.events.get(&event)?);
                reply.times = time(first).zip(time(second)).map(|(first, second)| [first, second]);
            }
            LiveStep::Now => self.busy(driver, READING).await?,
            LiveStep::End => {}
        }
        Ok(reply)
    }

    async fn moves(&mut self, driver: &mut Driver<'_>, from: RowSource, to: LiveRows, stream: u32) {
        let stream = self.sender.enter(driver, 0, stream).await;
        let id = driver.live_move(from, to, stream, Some(self.span)).await;
        self.sender.sent(driver, 0, stream, id);
    }

    /// Is busy for a time, and takes messages meanwhile.
    async fn busy(&self, driver: &mut Driver<'_>, time: SimTime) -> Result<(), Fault> {
        let end = driver.now() + time;
        while driver.now() < end {
            driver.event_until(end).await?;
        }
        Ok(())
    }
}
