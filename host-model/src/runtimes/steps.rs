//! Sends an application's steps to its devices, each in the stream that it names, or all in one.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_protocols::bus::{CommandId, Direction};

use super::co_run::co_run;
use super::walk::{Sends, Walks};
use crate::driver::Driver;
use crate::program::{
    Awaited, BufferId, Condition, DEFAULT_STREAM, Elementary, EventId, LaunchStep, Moved, Range, Step,
};

/// Commands sent to a device.
#[derive(Default)]
struct Device {
    /// By stream the last command.
    last: BTreeMap<u32, CommandId>,
    /// The streams for whose commands the default stream has not waited.
    ahead: BTreeSet<u32>,
    /// An event behind all that is on the default stream, if one has been recorded since.
    barrier: Option<CommandId>,
    /// The streams that have waited for that event.
    behind: BTreeSet<u32>,
}

/// The host as the sender of commands.
pub struct Sender {
    /// Commands that name a stream are sent on the default stream all the same, and the host waits for every
    /// copy.
    one_stream: bool,
    /// Applications that run together are repeated.
    pub(super) repeats: bool,
    /// Parent span of the commands.
    parent: Option<SpanId>,
    devices: BTreeMap<u32, Device>,
    /// By event the command that recorded it last.
    recorded: BTreeMap<EventId, CommandId>,
}

impl Sender {
    /// Sends everything in one stream.
    pub fn in_one_stream(parent: SpanId) -> Self {
        Sender { one_stream: true, ..Sender::in_streams(parent) }
    }

    /// Sends everything in the stream that it names.
    pub fn in_streams(parent: SpanId) -> Self {
        Sender {
            one_stream: false,
            repeats: true,
            parent: Some(parent),
            devices: BTreeMap::new(),
            recorded: BTreeMap::new(),
        }
    }

    /// Whether applications that run together are repeated while another one has not completed its first round.
    pub(super) fn repeating(self, repeats: bool) -> Self {
        Sender { repeats, ..self }
    }

    /// Sends copies on the default stream.
    pub(super) async fn copies(
        &mut self,
        driver: &mut Driver<'_>,
        direction: Direction,
        buffers: &[BufferId],
    ) -> Result<(), Fault> {
        for &buffer in buffers {
            let part = driver.application().whole(buffer);
            self.send(driver, Elementary::Copy { direction, part, stream: DEFAULT_STREAM }).await?;
        }
        Ok(())
    }

    /// Waits on the host.
    pub(super) async fn synchronize(&self, driver: &mut Driver<'_>, awaited: Awaited) -> Result<(), Fault> {
        let last = match awaited {
            Awaited::Event(event) => self.recorded.get(&event),
            Awaited::Stream(stream) if !self.one_stream => {
                let device = self.devices.get(&driver.application().device_of(stream));
                device.and_then(|device| device.last.get(&stream))
            }
            Awaited::All | Awaited::Stream(_) => return driver.drain().await,
        };
        match last {
            Some(&last) => driver.wait(last).await,
            None => Ok(()),
        }
    }

    /// The stream of a command that names `stream`, after the waits that the default stream requires.
    pub(super) async fn enter(&mut self, driver: &mut Driver<'_>, device: u32, stream: u32) -> u32 {
        if self.one_stream {
            return DEFAULT_STREAM;
        }
        let state = self.devices.entry(device).or_default();
        if stream == DEFAULT_STREAM {
            for other in std::mem::take(&mut state.ahead) {
                let event = driver.record(device, other).await;
                driver.hold(device, DEFAULT_STREAM, event).await;
            }
        } else if driver.application().is_blocking(stream)
            && state.last.contains_key(&DEFAULT_STREAM)
            && state.behind.insert(stream)
        {
            let event = match state.barrier {
                Some(event) => event,
                None => driver.record(device, DEFAULT_STREAM).await,
            };
            state.barrier = Some(event);
            driver.hold(device, stream, event).await;
        }
        stream
    }

    /// Launches a kernel on a stream; the result names it.
    pub(super) async fn launch_as(
        &mut self,
        driver: &mut Driver<'_>,
        launch: &LaunchStep,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        let stream = self.enter(driver, launch.device, stream).await;
        let id = driver.launch(launch, stream, parent).await?;
        self.sent(driver, launch.device, stream, id);
        Ok(id)
    }

    /// Copies a part of a buffer on a stream; the result names the copy.
    pub(super) async fn copy_as(
        &mut self,
        driver: &mut Driver<'_>,
        direction: Direction,
        part: Range,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        let device = driver.device_of(part.buffer);
        let stream = self.enter(driver, device, stream).await;
        let id = driver.copy_part(direction, part, stream, parent).await?;
        self.sent(driver, device, stream, id);
        Ok(id)
    }

    /// Fills or copies rows on a stream; the result names the command.
    pub(super) async fn move_as(
        &mut self,
        driver: &mut Driver<'_>,
        moved: &Moved,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        let device = driver.device_of(moved.rows().buffer);
        let stream = self.enter(driver, device, stream).await;
        let id = driver.move_rows(moved, stream, parent).await?;
        self.sent(driver, device, stream, id);
        Ok(id)
    }

    /// The last command on a stream of the first device.
    pub(super) fn last(&self, stream: u32) -> Option<CommandId> {
        self.devices.get(&0)?.last.get(&stream).copied()
    }

    /// Notes a command that has been sent on a stream.
    pub(super) fn sent(&mut self, driver: &Driver<'_>, device: u32, stream: u32, id: CommandId) {
        let state = self.devices.entry(device).or_default();
        state.last.insert(stream, id);
        if stream == DEFAULT_STREAM {
            state.barrier = None;
            state.behind.clear();
        } else if driver.application().is_blocking(stream) {
            state.ahead.insert(stream);
        }
    }
}

/// The host blocks only where a step requires it.
#[async_trait(?Send)]
impl Sends for Sender {
    async fn send(&mut self, driver: &mut Driver<'_>, step: Elementary<'_>) -> Result<(), Fault> {
        let moved = match step {
            Elementary::Launch(launch) => {
                self.launch_as(driver, launch, launch.stream, self.parent).await?;
                None
            }
            Elementary::Copy { direction, part, stream } => {
                Some(self.copy_as(driver, direction, part, stream, self.parent).await?)
            }
            Elementary::Move { moved, stream } => {
                Some(self.move_as(driver, moved, stream, self.parent).await?)
            }
            Elementary::Host(step) => return driver.host(step, self.parent).await,
            Elementary::Record(event, stream) => {
                let device = driver.application().device_of(stream);
                let stream = self.enter(driver, device, stream).await;
                let id = driver.record(device, stream).await;
                self.sent(driver, device, stream, id);
                self.recorded.insert(event, id);
                None
            }
            Elementary::Wait(event, stream) => {
                if let Some(&event) = self.recorded.get(&event) {
                    let device = driver.application().device_of(stream);
                    let stream = self.enter(driver, device, stream).await;
                    let id = driver.hold(device, stream, event).await;
                    self.sent(driver, device, stream, id);
                }
                None
            }
            Elementary::Synchronize(awaited) => return self.synchronize(driver, awaited).await,
            Elementary::Free(name) => return driver.free(name),
        };
        match moved {
            Some(id) if self.one_stream => driver.wait(id).await,
            _ => Ok(()),
        }
    }

    async fn inspect(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault> {
        let device = driver.device_of(until.buffer);
        let stream = self.enter(driver, device, DEFAULT_STREAM).await;
        driver.is_fulfilled(until, stream, self.parent).await
    }
}

#[async_trait(?Send)]
impl Walks for Sender {
    fn sends(&mut self) -> &mut dyn Sends {
        self
    }

    async fn group(&mut self, driver: &mut Driver<'_>, group: &Step) -> Result<bool, Fault> {
        match group {
            Step::CoRun { members, rounds } if !self.one_stream => {
                let parent = self.parent;
                co_run(self, driver, members, rounds, parent).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
