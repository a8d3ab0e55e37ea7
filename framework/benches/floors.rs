//! The cost that no general kernel can go below: the four workloads as hand-written loops over one event enum.
//!
//! Each loop exists over a [`Heap`] (the standard library's) and over a [`Wheel`] with a bucket per tick.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use super::graph::{
    BUFFER, FLIGHT, OUTPUTS, PROCESSES, RING, STAGES, TOKENS_EACH, Work, draw, graph, hold, last_tick,
    output, xorshift,
};

/// Everything that can happen in one of the workloads.
#[derive(Clone, Copy)]
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

/// Events in the order of (time, insertion).
trait Queue {
    /// Adds an event `delay` ticks from now.
    fn push(&mut self, delay: u64, event: Event);
    /// Takes the next event, with its time, which becomes now.
    fn pop(&mut self) -> Option<(u64, Event)>;
}

/// The standard library's heap, with a sequence number for ties.
#[derive(Default)]
struct Heap {
    now: u64,
    sequence: u64,
    events: BinaryHeap<Entry>,
}

/// An event in the heap: the largest entry is the next event.
struct Entry {
    time: u64,
    sequence: u64,
    event: Event,
}

impl Entry {
    /// One number is cheaper to compare than two.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.sequence)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl Queue for Heap {
    #[inline]
    fn push(&mut self, delay: u64, event: Event) {
        self.events.push(Entry { time: self.now + delay, sequence: self.sequence, event });
        self.sequence += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, Event)> {
        let Entry { time, event, .. } = self.events.pop()?;
        self.now = time;
        Some((time, event))
    }
}

/// A ring of buckets, one a tick, each first in, first out.
struct Wheel {
    now: u64,
    /// Events of this tick that have been taken.
    taken: usize,
    waiting: usize,
    buckets: Vec<Vec<Event>>,
}

impl Wheel {
    /// A wheel for delays below `ticks`, a power of two.
    fn new(ticks: usize) -> Self {
        Wheel { now: 0, taken: 0, waiting: 0, buckets: vec![Vec::new(); ticks] }
    }

    #[inline]
    fn bucket(&mut self, time: u64) -> &mut Vec<Event> {
        let index = time as usize & (self.buckets.len() - 1);
        &mut self.buckets[index]
    }
}

impl Queue for Wheel {
    #[inline]
    fn push(&mut self, delay: u64, event: Event) {
        debug_assert!(delay > 0 && delay < self.buckets.len() as u64, "the wheel is too small");
        self.bucket(self.now + delay).push(event);
        self.waiting += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, Event)> {
        if self.waiting == 0 {
            return None;
        }
        loop {
            let (now, taken) = (self.now, self.taken);
            let bucket = self.bucket(now);
            if let Some(&event) = bucket.get(taken) {
                self.taken += 1;
                self.waiting -= 1;
                return Some((now, event));
            }
            bucket.clear();
            self.now += 1;
            self.taken = 0;
        }
    }
}

/// A wheel that holds one unit of delay.
fn small_wheel() -> Wheel {
    Wheel::new(4)
}

/// A wheel that holds the longest possible hold.
fn large_wheel() -> Wheel {
    Wheel::new(1 << 16)
}

/// The ring for `hops` hops, a multiple of the square of its size, over a heap.
pub(crate) fn ring_heap(hops: u64) -> Work {
    ring(Heap::default(), hops)
}

pub(crate) fn ring_wheel(hops: u64) -> Work {
    ring(small_wheel(), hops)
}

fn ring(mut queue: impl Queue, hops: u64) -> Work {
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

pub(crate) fn pipeline_heap(items: u64) -> Work {
    pipeline(Heap::default(), items)
}

pub(crate) fn pipeline_wheel(items: u64) -> Work {
    pipeline(small_wheel(), items)
}

fn pipeline(mut queue: impl Queue, items: u64) -> Work {
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
    /// What each stage works on, or cannot hand over.
    held: [Option<u64>; STAGES],
    /// Which stages have finished and cannot hand over.
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

    /// What has passed: every item counts at every stage, its number at the sink.
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
pub(crate) fn phold_heap(events: u64) -> Work {
    phold(Heap::default(), events)
}

pub(crate) fn phold_wheel(events: u64) -> Work {
    phold(large_wheel(), events)
}

fn phold(mut queue: impl Queue, events: u64) -> Work {
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

pub(crate) fn clocked_heap(components: usize, cycles: u64) -> Work {
    clocked(Heap::default(), components, cycles)
}

pub(crate) fn clocked_wheel(components: usize, cycles: u64) -> Work {
    clocked(small_wheel(), components, cycles)
}

fn clocked(mut queue: impl Queue, components: usize, cycles: u64) -> Work {
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
