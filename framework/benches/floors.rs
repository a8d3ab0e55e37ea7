//! The cost that no general kernel can go below: the four workloads as hand-written loops over one event enum.
//!
//! The queue is the standard library's heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::graph::{
    BUFFER, FLIGHT, OUTPUTS, PROCESSES, RING, STAGES, TOKENS_EACH, Work, draw, graph, hold, last_tick,
    output, xorshift,
};

/// Everything that can happen in one of the workloads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A token arrives at a component of the ring.
    Hop {
        node: u32,
        token: u32,
    },
    /// A stage of the pipeline has finished its item.
    Done {
        stage: u32,
    },
    Arrive {
        process: u32,
        token: u32,
    },
    /// A process of PHOLD lets a token go.
    Leave {
        process: u32,
        token: u32,
    },
    /// A clocked component's next cycle.
    Wake {
        component: u32,
    },
}

/// Events in the order of time and insertion.
#[derive(Default)]
struct Queue {
    now: u64,
    sequence: u64,
    /// The time is in the upper half of the key, as one number is cheaper to compare than two.
    events: BinaryHeap<Reverse<(u128, Event)>>,
}

impl Queue {
    /// Adds an event `delay` ticks from now.
    #[inline]
    fn push(&mut self, delay: u64, event: Event) {
        let key = u128::from(self.now + delay) << 64 | u128::from(self.sequence);
        self.events.push(Reverse((key, event)));
        self.sequence += 1;
    }

    /// Takes the next event, with its time, which becomes now.
    #[inline]
    fn pop(&mut self) -> Option<(u64, Event)> {
        let Reverse((key, event)) = self.events.pop()?;
        self.now = (key >> 64) as u64;
        Some((self.now, event))
    }
}

pub(crate) fn ring(hops: u64) -> Work {
    let mut queue = Queue::default();
    let mut work = Work::default();
    for node in 0..RING as u32 {
        queue.push(1, Event::Hop { node: (node + 1) % RING as u32, token: node });
    }
    while let Some((_, event)) = queue.pop() {
        if let Event::Hop { node, token } = event {
            work.add(u64::from(token));
            if work.operations == hops {
                break;
            }
            queue.push(1, Event::Hop { node: (node + 1) % RING as u32, token });
        }
    }
    work
}

pub(crate) fn pipeline(items: u64) -> Work {
    let mut queue = Queue::default();
    let mut line = Line::new(items);
    line.start(|stage| queue.push(1, Event::Done { stage }));
    while let Some((_, event)) = queue.pop() {
        if let Event::Done { stage } = event {
            line.done(stage, |stage| queue.push(1, Event::Done { stage }));
        }
    }
    line.work()
}

/// The pipeline's state, for kernels whose events act on shared state.
#[derive(Debug)]
pub(crate) struct Line {
    buffers: [VecDeque<u64>; STAGES],
    /// Item that each stage processes, or cannot hand over.
    held: [Option<u64>; STAGES],
    /// Whether each stage has finished and cannot hand over its item.
    blocked: [bool; STAGES],
    /// The source's next item.
    next: u64,
    items: u64,
    work: Work,
}

impl Line {
    /// A pipeline whose source has `items` items.
    pub(crate) fn new(items: u64) -> Self {
        Line {
            buffers: std::array::from_fn(|_| VecDeque::with_capacity(BUFFER)),
            held: [None; STAGES],
            blocked: [false; STAGES],
            next: 0,
            items,
            work: Work::default(),
        }
    }

    /// Work done: every item counts at every stage, its number at the sink.
    pub(crate) fn work(&self) -> Work {
        Work { operations: self.work.operations * STAGES as u64, check: self.work.check }
    }

    /// Fills the first buffer. `begin` is called for every stage that begins an item.
    pub(crate) fn start(&mut self, mut begin: impl FnMut(u32)) {
        self.fill();
        self.begin(0, &mut begin);
    }

    /// Stage `stage` has finished its item.
    #[inline]
    pub(crate) fn done(&mut self, stage: u32, mut begin: impl FnMut(u32)) {
        let stage = stage as usize;
        if stage + 1 == STAGES {
            if let Some(item) = self.held[stage].take() {
                self.work.add(item);
            }
            self.begin(stage, &mut begin);
        } else if self.buffers[stage + 1].len() == BUFFER {
            self.blocked[stage] = true;
        } else {
            self.hand_over(stage, &mut begin);
        }
    }

    fn fill(&mut self) {
        while self.buffers[0].len() < BUFFER && self.next < self.items {
            self.buffers[0].push_back(self.next);
            self.next += 1;
        }
    }

    #[inline]
    fn hand_over(&mut self, stage: usize, begin: &mut impl FnMut(u32)) {
        if let Some(item) = self.held[stage].take() {
            self.buffers[stage + 1].push_back(item);
        }
        if self.held[stage + 1].is_none() {
            self.begin(stage + 1, begin);
        }
        self.begin(stage, begin);
    }

    /// Takes the next item, whose place the stage before may fill.
    #[inline]
    fn begin(&mut self, stage: usize, begin: &mut impl FnMut(u32)) {
        let Some(item) = self.buffers[stage].pop_front() else { return };
        self.held[stage] = Some(item);
        begin(stage as u32);
        if stage == 0 {
            self.fill();
        } else if std::mem::take(&mut self.blocked[stage - 1]) {
            self.hand_over(stage - 1, begin);
        }
    }
}

/// PHOLD for about `events` hops over a heap.
pub(crate) fn phold(events: u64) -> Work {
    let mut queue = Queue::default();
    let receivers: Vec<[u32; OUTPUTS]> = graph();
    let end = last_tick(events);
    let mut work = Work::default();
    for token in 0..(PROCESSES * TOKENS_EACH) as u32 {
        queue.push(hold(draw(token, 0)), Event::Leave { process: token / TOKENS_EACH as u32, token });
    }
    while let Some((now, event)) = queue.pop() {
        if now >= end {
            break;
        }
        match event {
            Event::Arrive { process, token } => {
                let draw = draw(token, now);
                work.add(draw);
                queue.push(hold(draw), Event::Leave { process, token });
            }
            Event::Leave { process, token } => {
                let process = receivers[process as usize][output(draw(token, now))];
                queue.push(FLIGHT, Event::Arrive { process, token });
            }
            _ => {}
        }
    }
    work
}

pub(crate) fn clocked(components: usize, cycles: u64) -> Work {
    let mut queue = Queue::default();
    let mut states: Vec<u64> = (1..=components as u64).collect();
    for component in 0..components as u32 {
        queue.push(1, Event::Wake { component });
    }
    let mut operations = 0;
    while let Some((now, event)) = queue.pop() {
        if let Event::Wake { component } = event {
            let state = &mut states[component as usize];
            *state = xorshift(*state);
            operations += 1;
            if now < cycles {
                queue.push(1, Event::Wake { component });
            }
        }
    }
    Work { operations, check: states.into_iter().fold(0, u64::wrapping_add) }
}
