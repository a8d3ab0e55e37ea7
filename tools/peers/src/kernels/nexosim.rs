//! NeXosim: models with ports and mailboxes on an asynchronous executor, here its single-threaded one. A message takes
//! no time; latency is an event that a model schedules for itself. A tick is a nanosecond.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit, Simulation};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use crate::graph::{
    BUFFER, FLIGHT, OUTPUTS, PROCESSES, RING, STAGES, TOKENS_EACH, Work, draw, graph, hold, last_tick,
    output, xorshift,
};
use crate::measure::{COMPONENTS, Run, Workload};

const TICK: Duration = Duration::from_nanos(1);
const LATER: &str = "an event is scheduled for later";

pub(crate) fn run(workload: Workload, size: u64) -> Run {
    match workload {
        Workload::Ring => ring(size),
        Workload::Pipeline => pipeline(size),
        Workload::Phold => phold(size),
        Workload::Clocked => clocked(size),
    }
}

/// The work of a model. Each model has its own and is its only writer: no atomic read-modify-write is needed.
#[derive(Default)]
struct Tally {
    operations: AtomicU64,
    check: AtomicU64,
}

impl Tally {
    fn add(&self, value: u64) {
        self.set(self.get().and(Work { operations: 1, check: value }));
    }

    fn set(&self, work: Work) {
        self.operations.store(work.operations, Ordering::Relaxed);
        self.check.store(work.check, Ordering::Relaxed);
    }

    fn get(&self) -> Work {
        Work {
            operations: self.operations.load(Ordering::Relaxed),
            check: self.check.load(Ordering::Relaxed),
        }
    }
}

fn simulate(init: SimInit, last: Option<Duration>, tallies: &[Arc<Tally>]) -> Run {
    let mut simulation: Simulation = init.init(MonotonicTime::EPOCH).expect("the models connect");
    Run::time(|| {
        let result = match last {
            Some(last) => simulation.step_until(last),
            None => simulation.run(),
        };
        result.expect("the simulation runs to its end");
        tallies.iter().fold(Work::default(), |sum, tally| sum.and(tally.get()))
    })
}

fn tallies(count: usize) -> Vec<Arc<Tally>> {
    (0..count).map(|_| Arc::default()).collect()
}

fn ticks(count: u64) -> Duration {
    Duration::from_nanos(count)
}

#[derive(Serialize, Deserialize)]
struct PeerNode {
    out: Output<u64>,
    number: u64,
    left: u64,
    #[serde(skip)]
    done: Arc<Tally>,
}

#[Model]
impl PeerNode {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        cx.schedule_event(TICK, schedulable!(Self::forward), self.number).expect(LATER);
    }

    async fn receive(&mut self, token: u64, cx: &Context<Self>) {
        self.done.add(token);
        self.left -= 1;
        if self.left > 0 {
            cx.schedule_event(TICK, schedulable!(Self::forward), token).expect(LATER);
        }
    }

    #[nexosim(schedulable)]
    async fn forward(&mut self, token: u64) {
        self.out.send(token).await;
    }
}

fn ring(hops: u64) -> Run {
    let mailboxes: Vec<Mailbox<PeerNode>> = (0..RING).map(|_| Mailbox::new()).collect();
    let addresses: Vec<_> = mailboxes.iter().map(Mailbox::address).collect();
    let tallies = tallies(RING);
    let mut init = SimInit::with_num_threads(1);
    for (number, mailbox) in mailboxes.into_iter().enumerate() {
        let done = Arc::clone(&tallies[number]);
        let mut node = PeerNode { out: Output::new(), number: number as u64, left: hops / RING as u64, done };
        node.out.connect(PeerNode::receive, &addresses[(number + 1) % RING]);
        init = init.add_model(node, mailbox, &format!("n{number}"));
    }
    simulate(init, None, &tallies)
}

/// A stage, or the source in front of the first one: it begins the next item when it is idle, and hands it over when
/// there is room behind it.
#[derive(Serialize, Deserialize)]
struct Stage {
    out: Output<u64>,
    room: Output<()>,
    /// Room in the next buffer; unlimited at the sink.
    credits: u64,
    buffer: VecDeque<u64>,
    held: Option<u64>,
    blocked: bool,
    #[serde(skip)]
    done: Arc<Tally>,
    sink: bool,
}

#[Model]
impl Stage {
    async fn item(&mut self, item: u64, cx: &Context<Self>) {
        self.buffer.push_back(item);
        if self.held.is_none() {
            self.begin(cx).await;
        }
    }

    async fn credit(&mut self, _: (), cx: &Context<Self>) {
        self.credits += 1;
        if self.blocked {
            self.blocked = false;
            self.hand_over(cx).await;
        }
    }

    #[nexosim(schedulable)]
    async fn finish(&mut self, _: (), cx: &Context<Self>) {
        if self.credits > 0 {
            self.hand_over(cx).await;
        } else {
            self.blocked = true;
        }
    }

    async fn hand_over(&mut self, cx: &Context<Self>) {
        if let Some(item) = self.held.take() {
            self.done.add(if self.sink { item } else { 0 });
            if !self.sink {
                self.credits -= 1;
                self.out.send(item).await;
            }
        }
        self.begin(cx).await;
    }

    async fn begin(&mut self, cx: &Context<Self>) {
        self.held = self.buffer.pop_front();
        if self.held.is_some() {
            cx.schedule_event(TICK, schedulable!(Self::finish), ()).expect(LATER);
            self.room.send(()).await;
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Source {
    out: Output<u64>,
    next: u64,
    items: u64,
}

#[Model]
impl Source {
    #[nexosim(init)]
    async fn init(&mut self) {
        for _ in 0..BUFFER {
            self.credit().await;
        }
    }

    async fn credit(&mut self) {
        if self.next < self.items {
            self.next += 1;
            self.out.send(self.next - 1).await;
        }
    }
}

fn pipeline(items: u64) -> Run {
    let tallies = tallies(STAGES);
    let mailboxes: Vec<Mailbox<Stage>> = (0..STAGES).map(|_| Mailbox::new()).collect();
    let addresses: Vec<_> = mailboxes.iter().map(Mailbox::address).collect();
    let mut source = Source { out: Output::new(), next: 0, items };
    source.out.connect(Stage::item, &addresses[0]);
    let source_box = Mailbox::new();
    let source_address = source_box.address();
    let mut init = SimInit::with_num_threads(1).add_model(source, source_box, "source");
    for (number, mailbox) in mailboxes.into_iter().enumerate() {
        let sink = number + 1 == STAGES;
        let mut stage = Stage {
            out: Output::new(),
            room: Output::new(),
            credits: BUFFER as u64,
            buffer: VecDeque::new(),
            held: None,
            blocked: false,
            done: Arc::clone(&tallies[number]),
            sink,
        };
        if !sink {
            stage.out.connect(Stage::item, &addresses[number + 1]);
        }
        if number == 0 {
            stage.room.connect(Source::credit, &source_address);
        } else {
            stage.room.connect(Stage::credit, &addresses[number - 1]);
        }
        init = init.add_model(stage, mailbox, &format!("s{number}"));
    }
    simulate(init, None, &tallies)
}

#[derive(Serialize, Deserialize)]
struct Holder {
    outs: [Output<u32>; OUTPUTS],
    number: u32,
    #[serde(skip)]
    done: Arc<Tally>,
}

#[Model]
impl Holder {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        let first = self.number * TOKENS_EACH as u32;
        for token in first..first + TOKENS_EACH as u32 {
            self.keep(token, draw(token, 0), cx);
        }
    }

    async fn receive(&mut self, token: u32, cx: &Context<Self>) {
        let draw = draw(token, now(cx));
        self.done.add(draw);
        self.keep(token, draw, cx);
    }

    fn keep(&mut self, token: u32, draw: u64, cx: &Context<Self>) {
        cx.schedule_event(ticks(hold(draw)), schedulable!(Self::leave), token).expect(LATER);
    }

    #[nexosim(schedulable)]
    async fn leave(&mut self, token: u32, cx: &Context<Self>) {
        let out = output(draw(token, now(cx)));
        cx.schedule_event(ticks(FLIGHT), schedulable!(Self::deliver), (out, token)).expect(LATER);
    }

    #[nexosim(schedulable)]
    async fn deliver(&mut self, (out, token): (usize, u32)) {
        self.outs[out].send(token).await;
    }
}

fn now(cx: &Context<Holder>) -> u64 {
    cx.time().duration_since(MonotonicTime::EPOCH).as_nanos() as u64
}

fn phold(events: u64) -> Run {
    let mailboxes: Vec<Mailbox<Holder>> = (0..PROCESSES).map(|_| Mailbox::new()).collect();
    let addresses: Vec<_> = mailboxes.iter().map(Mailbox::address).collect();
    let tallies = tallies(PROCESSES);
    let mut init = SimInit::with_num_threads(1);
    for ((number, mailbox), receivers) in mailboxes.into_iter().enumerate().zip(graph()) {
        let outs = receivers.map(|receiver| {
            let mut out = Output::new();
            out.connect(Holder::receive, &addresses[receiver as usize]);
            out
        });
        let holder = Holder { outs, number: number as u32, done: Arc::clone(&tallies[number]) };
        init = init.add_model(holder, mailbox, &format!("h{number}"));
    }
    simulate(init, Some(ticks(last_tick(events) - 1)), &tallies)
}

#[derive(Serialize, Deserialize)]
struct Component {
    operations: u64,
    state: u64,
    #[serde(skip)]
    done: Arc<Tally>,
}

#[Model]
impl Component {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        cx.schedule_periodic_event(TICK, TICK, schedulable!(Self::wake), ()).expect(LATER);
    }

    #[nexosim(schedulable)]
    fn wake(&mut self) {
        self.state = xorshift(self.state);
        self.operations += 1;
        self.done.set(Work { operations: self.operations, check: self.state });
    }
}

fn clocked(cycles: u64) -> Run {
    let tallies = tallies(COMPONENTS);
    let mut init = SimInit::with_num_threads(1);
    for (number, done) in tallies.iter().enumerate() {
        let component = Component { operations: 0, state: number as u64 + 1, done: Arc::clone(done) };
        init = init.add_model(component, Mailbox::new(), &format!("c{number}"));
    }
    simulate(init, Some(ticks(cycles)), &tallies)
}
