//! Runs the queue: admits arrivals, requests the next decision, and sends its kernels slice by slice.
//!
//! A decision holds until one of its kernels has no blocks left to send, and arrivals meanwhile wait for the next one. Each kernel keeps
//! its share of the SMs filled by several slices in flight ([`Cut`]). The slices of the next decision follow directly: that decision is made
//! when the last slices of this one have been sent, and not earlier.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint::host::program::{Application, DEFAULT_STREAM};
use counterpoint::host::{Driver, postlude, prelude};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::{CommandId, Direction};
use counterpoint::ptx::slice::Slice;
use counterpoint::telemetry::{Attribute, Attributes, Level, SpanId};
use counterpoint::time::SimTime;

use super::flight::Flight;
use super::program::{Program, programs};
use super::queue::{Instance, Queue, QueueParams};
use super::queued::Policy;
use crate::schedule::cut::Cut;

/// The span of the queue: from its beginning to the end of the last kernel.
pub(crate) const QUEUE: &str = "queue";
/// The prefix of spans of decisions.
pub(crate) const CO_SCHEDULE: &str = "co-schedule ";

/// A kernel's part of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// The place of its instance among those that are pending.
    pub(super) place: usize,
    pub(super) cut: Cut,
}

/// The next to run.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    /// The kernels that run together: one or two.
    pub(super) shares: Vec<Share>,
    /// Whether the next decision waits until all slices of this decision have ended.
    pub(super) waits: bool,
    pub(super) attributes: Attributes,
}

impl Decision {
    /// A decision that sends all remaining blocks of an instance in one launch.
    pub(super) fn whole(place: usize, instance: &Instance) -> Self {
        let share = Share { place, cut: Cut::whole(instance.left) };
        Decision { shares: vec![share], waits: true, attributes: Attributes::new() }
    }

    /// Two instances, each with a share of the SMs of so many blocks, which is cut so; the span shows the shares.
    pub(super) fn together(places: [usize; 2], shares: [u32; 2], cuts: [Cut; 2]) -> Self {
        let share = |at: usize| Share { place: places[at], cut: cuts[at] };
        let attributes = vec![
            ("slice_1", Attribute::Number(shares[0].into())),
            ("slice_2", Attribute::Number(shares[1].into())),
        ];
        Decision { shares: vec![share(0), share(1)], waits: false, attributes }
    }
}

/// Decides which runs next.
pub(super) trait Scheduler {
    /// The next of these to run, in the order of their arrival; there is at least one.
    fn decide(&mut self, pending: &[Instance], random: &mut dyn FnMut() -> u64) -> Result<Decision, Fault>;
}

/// An instance with blocks in flight.
struct Started {
    span: SpanId,
    kernel: usize,
    number: u32,
    commands: Vec<CommandId>,
    sent: bool,
}

struct Executor<'d, 'a> {
    driver: &'d mut Driver<'a>,
    programs: Vec<Program>,
    started: Vec<Started>,
    /// Slices in flight of each kernel on each side.
    flights: BTreeMap<(usize, usize), Flight>,
}

/// A kernel's part of a decision as it is sent.
struct Side {
    share: Share,
    /// Its kernel, and whether it is the first or the second of the decision.
    own: (usize, usize),
    /// The first slice of this kernel has been sent.
    has_begun: bool,
}

impl<'d, 'a> Executor<'d, 'a> {
    fn new(driver: &'d mut Driver<'a>) -> Result<Self, Fault> {
        let programs = programs(&driver.application())?;
        Ok(Executor { driver, programs, started: Vec::new(), flights: BTreeMap::new() })
    }

    /// Copies in or out on the default stream.
    async fn copies(&mut self, direction: Direction, run: SpanId) -> Result<(), Fault> {
        let application: Arc<Application> = self.driver.application();
        let (title, own) = match direction {
            Direction::HostToDevice => ("h2d", &application.copy_in),
            Direction::DeviceToHost => ("d2h", &application.copy_out),
        };
        let phase = self.driver.begin(Some(run), Level::Phases, title);
        let results = self.programs.iter().flat_map(|program| &program.copy_out).copied();
        let results: Vec<_> = results.filter(|_| direction == Direction::DeviceToHost).collect();
        for part in own.iter().map(|&buffer| application.whole(buffer)).chain(results) {
            let copy = self.driver.copy_part(direction, part, DEFAULT_STREAM, Some(phase)).await?;
            self.driver.wait(copy).await?;
        }
        self.driver.end(phase);
        Ok(())
    }

    /// Runs all of a queue.
    async fn run(
        &mut self,
        params: &QueueParams,
        scheduler: &mut dyn Scheduler,
        run: SpanId,
    ) -> Result<(), Fault> {
        let span = self.driver.begin(Some(run), Level::Phases, QUEUE);
        let blocks: Vec<u64> = self.programs.iter().map(Program::blocks).collect();
        let mut queue = Queue::new(params, &blocks);
        let begin = self.driver.now();
        loop {
            let now = self.driver.now().saturating_sub(begin);
            self.admit(&mut queue, now, span);
            if queue.pending.is_empty() {
                let Some(next) = queue.next_arrival() else { break };
                while self.driver.now() < begin + next {
                    self.driver.event_until(begin + next).await?;
                    self.end_instances();
                }
                continue;
            }
            let decision = scheduler.decide(&queue.pending, &mut || self.driver.random())?;
            self.execute(&mut queue, decision, span).await?;
        }
        while !self.started.is_empty() {
            self.driver.event_until(SimTime::MAX).await?;
            self.end_instances();
        }
        self.driver.end(span);
        Ok(())
    }

    fn admit(&mut self, queue: &mut Queue, now: SimTime, parent: SpanId) {
        for instance in queue.admit(now) {
            let name = format!("{} {}", self.programs[instance.kernel].name, instance.number);
            let span = self.driver.begin(Some(parent), Level::Kernels, name);
            let &Instance { kernel, number, .. } = instance;
            self.started.push(Started { span, kernel, number, commands: Vec::new(), sent: false });
        }
    }

    /// Ends the spans of instances whose last slice has ended.
    fn end_instances(&mut self) {
        let driver = &*self.driver;
        self.started.retain_mut(|one| {
            one.commands.retain(|id| driver.is_under_way(*id));
            let is_done = one.sent && one.commands.is_empty();
            if is_done {
                driver.end(one.span);
            }
            !is_done
        });
    }

    /// Sends slices until one kernel of the decision has none left; of each at least one.
    async fn execute(&mut self, queue: &mut Queue, decision: Decision, parent: SpanId) -> Result<(), Fault> {
        let Decision { shares, waits, attributes } = decision;
        let name = |share: &Share| &*self.programs[queue.pending[share.place].kernel].name;
        let title = format!("{CO_SCHEDULE}{}", shares.iter().map(name).collect::<Vec<_>>().join(" and "));
        let span = self.driver.begin(Some(parent), Level::Phases, title);
        let side = |(at, &share): (usize, &Share)| {
            let own = (queue.pending[share.place].kernel, at);
            Side { share, own, has_begun: false }
        };
        let mut sides: Vec<Side> = shares.iter().enumerate().map(side).collect();
        loop {
            let mut sent = false;
            for side in &mut sides {
                sent |= self.send(queue, side, span).await?;
            }
            let is_over = |side: &Side| queue.pending[side.share.place].left == 0;
            if sides.iter().all(|side| side.has_begun) && sides.iter().any(is_over) {
                break;
            }
            if !sent {
                self.driver.event_until(SimTime::MAX).await?;
                self.end_instances();
            }
        }
        queue.pending.retain(|instance| instance.left > 0);
        if waits {
            let flights = sides.iter().filter_map(|side| self.flights.get(&side.own));
            for command in flights.flat_map(Flight::commands) {
                self.driver.wait(command).await?;
            }
            self.end_instances();
        }
        self.driver.end_with(span, attributes);
        Ok(())
    }

    /// Sends the next slice of a side, if there is one and its window has room.
    async fn send(&mut self, queue: &mut Queue, side: &mut Side, parent: SpanId) -> Result<bool, Fault> {
        let instance = &mut queue.pending[side.share.place];
        let flight = self.flights.entry(side.own).or_default();
        let lane = flight.lane(side.share.cut, |command| self.driver.is_under_way(command));
        let Some(lane) = lane.filter(|_| instance.left > 0) else { return Ok(false) };
        let program = &self.programs[instance.kernel];
        let blocks = side.share.cut.slice.min(instance.left) as u32;
        let slice = Slice { first: program.blocks() - instance.left, blocks };
        let (kernel, at) = side.own;
        let stream = stream(lane, kernel as u32, self.programs.len() as u32, at as u32);
        let command = self.driver.launch(&program.launch(slice), stream, Some(parent)).await?;
        flight.sent(lane, command, blocks.into());
        instance.left -= u64::from(blocks);
        side.has_begun = true;
        let is_own = |one: &&mut Started| (one.kernel, one.number) == (instance.kernel, instance.number);
        if let Some(started) = self.started.iter_mut().find(is_own) {
            started.commands.push(command);
            started.sent = instance.left == 0;
        }
        Ok(true)
    }
}

/// Kernels that run together at most.
const SIDES: u32 = 2;

/// The stream of a lane of a kernel on a side: each lane has its own, behind the default stream.
fn stream(lane: u32, kernel: u32, kernels: u32, side: u32) -> u32 {
    1 + (lane * kernels + kernel) * SIDES + side
}

/// The side that a stream is of.
pub(crate) fn side_of(stream: u64) -> u64 {
    stream.saturating_sub(1) % u64::from(SIDES)
}

/// Does everything from prelude to postlude.
pub(super) async fn run<P: Policy>(driver: &mut Driver<'_>, policy: &P, run: SpanId) -> Result<(), Fault> {
    prelude(driver, run).await?;
    let mut executor = Executor::new(driver)?;
    executor.copies(Direction::HostToDevice, run).await?;
    let mut scheduler = policy.scheduler(executor.driver, &executor.programs, run).await?;
    executor.run(policy.queue(), &mut *scheduler, run).await?;
    executor.copies(Direction::DeviceToHost, run).await?;
    postlude(driver, run).await
}

/// A floating-point number as an attribute of a span.
pub(crate) fn real(value: f64) -> Attribute {
    Attribute::Text(format!("{value:.9}").into())
}
