//! odem-rs: agents as futures over a calendar, channels, and jobs inside an agent for its concurrent work.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::pin;

use odem_rs::prelude::*;
use odem_rs::sync::channel::shared::{Receiver, Sender};
use odem_rs::sync::channel::{ArrayBuf, channel};

use crate::graph::{
    BUFFER, FLIGHT, OUTPUTS, PROCESSES, RING, STAGES, TOKENS_EACH, Work, draw, graph, hold, last_tick,
    output, xorshift,
};
use crate::measure::{COMPONENTS, Run, Workload};

/// Ticks as model time, and the sum of the agents' work.
#[derive(Config, Default)]
#[time(u64)]
struct Model {
    work: Cell<Work>,
}

pub(crate) fn run(workload: Workload, size: u64) -> Run {
    Run::time(|| {
        let model = match workload {
            Workload::Ring => simulation(async |sim: &Sim<Model>| ring(sim, size).await),
            Workload::Pipeline => simulation(async |sim: &Sim<Model>| pipeline(sim, size).await),
            Workload::Phold => simulation(async |sim: &Sim<Model>| phold(sim, size).await),
            Workload::Clocked => simulation(async |sim: &Sim<Model>| clocked(sim, size).await),
        };
        model.expect("somebody can always go on").work.get()
    })
}

fn done(sim: &Sim<Model>, work: Work) {
    let sum = &sim.global().work;
    sum.set(sum.get().and(work));
}

struct PeerNode {
    number: u64,
    input: Receiver<u64>,
    out: Sender<u64>,
    hops: u64,
}

impl Behavior<Model> for PeerNode {
    type Output = ();

    async fn actions(&self, sim: &Sim<Model>) {
        let mut work = Work::default();
        let mut token = self.number;
        for _ in 0..self.hops {
            sim.advance(1_u64).await;
            let _ = self.out.send(token).await;
            let Ok(next) = self.input.recv().await else { break };
            token = next;
            work.add(token);
        }
        done(sim, work);
    }
}

async fn ring(sim: &Sim<Model>, hops: u64) {
    let (outs, mut inputs): (Vec<_>, Vec<_>) =
        (0..RING).map(|_| channel(ArrayBuf::<BUFFER, u64>::new())).unzip();
    inputs.rotate_right(1);
    let mut agents = Vec::new();
    for (number, (out, input)) in outs.into_iter().zip(inputs).enumerate() {
        agents.push(sim.spawn(PeerNode { number: number as u64, input, out, hops: hops / RING as u64 }));
    }
    for agent in agents {
        agent.await;
    }
}

struct Source {
    out: Sender<u64>,
    items: u64,
}

impl Behavior<Model> for Source {
    type Output = ();

    async fn actions(&self, _: &Sim<Model>) {
        for item in 0..self.items {
            let _ = self.out.send(item).await;
        }
    }
}

struct Stage {
    input: Receiver<u64>,
    /// Sender to the next stage; `None` at the sink.
    out: Option<Sender<u64>>,
    items: u64,
}

impl Behavior<Model> for Stage {
    type Output = ();

    async fn actions(&self, sim: &Sim<Model>) {
        let mut work = Work::default();
        for _ in 0..self.items {
            let Ok(item) = self.input.recv().await else { break };
            sim.advance(1_u64).await;
            match &self.out {
                Some(out) => {
                    let _ = out.send(item).await;
                    work.add(0);
                }
                None => work.add(item),
            }
        }
        done(sim, work);
    }
}

async fn pipeline(sim: &Sim<Model>, items: u64) {
    let (out, mut input) = channel(ArrayBuf::<BUFFER, u64>::new());
    sim.spawn(Source { out, items });
    for _ in 1..STAGES {
        let (out, next) = channel(ArrayBuf::<BUFFER, u64>::new());
        sim.spawn(Stage { input: std::mem::replace(&mut input, next), out: Some(out), items });
    }
    sim.spawn(Stage { input, out: None, items }).await;
    // The other stages have ended at this instant, but have yet to say so.
    sim.advance(1_u64).await;
}

struct Holder {
    process: usize,
    input: Receiver<u32>,
    outs: [Sender<u32>; OUTPUTS],
    end: u64,
}

impl Behavior<Model> for Holder {
    type Output = ();

    async fn actions(&self, sim: &Sim<Model>) {
        let tokens = pin!(Pool::dynamic().with(Job::new));
        let first = (self.process * TOKENS_EACH) as u32;
        for token in first..first + TOKENS_EACH as u32 {
            sim.schedule(tokens.alloc(self.pass(sim, token)), hold(draw(token, 0)));
        }
        let mut work = Work::default();
        while let Ok(token) = self.input.recv().await {
            if sim.now() >= self.end {
                break;
            }
            let draw = draw(token, sim.now());
            work.add(draw);
            sim.schedule(tokens.alloc(self.pass(sim, token)), hold(draw));
        }
        done(sim, work);
    }
}

impl Holder {
    /// Begins when a token has been held for long enough, and lets it fly to one of the outputs.
    async fn pass(&self, sim: &Sim<Model>, token: u32) {
        let out = &self.outs[output(draw(token, sim.now()))];
        sim.advance(FLIGHT).await;
        let _ = out.send(token).await;
    }
}

async fn phold(sim: &Sim<Model>, events: u64) {
    let (senders, inputs): (Vec<_>, Vec<_>) = (0..PROCESSES).map(|_| channel(VecDeque::new())).unzip();
    let end = last_tick(events);
    for (process, (input, receivers)) in inputs.into_iter().zip(graph()).enumerate() {
        let outs = receivers.map(|receiver| senders[receiver as usize].clone());
        sim.spawn(Holder { process, input, outs, end });
    }
    sim.advance(end).await;
    // Every process looks up once more, sees the end and reports its work.
    for sender in &senders {
        let _ = sender.send(0).await;
    }
    sim.advance(1_u64).await;
}

struct Component {
    number: u64,
    cycles: u64,
}

impl Behavior<Model> for Component {
    type Output = ();

    async fn actions(&self, sim: &Sim<Model>) {
        let mut state = self.number + 1;
        for _ in 0..self.cycles {
            sim.advance(1_u64).await;
            state = xorshift(state);
        }
        done(sim, Work { operations: self.cycles, check: state });
    }
}

async fn clocked(sim: &Sim<Model>, cycles: u64) {
    for number in 0..COMPONENTS as u64 {
        sim.spawn(Component { number, cycles });
    }
    sim.advance(cycles + 1).await;
}
