//! desque: boxed events that act on shared state, a binary heap, no components.

use desque::SimState;
use desque::serial::{OkEvent, Simulation};

use crate::floors::Line;
use crate::graph::{
    FLIGHT, OUTPUTS, RING, TOKENS, TOKENS_EACH, Work, draw, graph, hold, last_tick, output, xorshift,
};
use crate::measure::{COMPONENTS, Run, Workload};

pub(crate) fn run(workload: Workload, size: u64) -> Run {
    match workload {
        Workload::Ring => ring(size),
        Workload::Pipeline => pipeline(size),
        Workload::Phold => phold(size),
        Workload::Clocked => clocked(size),
    }
}

const IN_ORDER: &str = "events are scheduled for later";

fn simulate<S: SimState<u64>>(mut simulation: Simulation<S, u64>, work: impl FnOnce(&S) -> Work) -> Run {
    Run::time(|| {
        simulation.run().expect("no event fails");
        work(simulation.state())
    })
}

struct Ring {
    work: Work,
    hops: u64,
}

impl SimState<u64> for Ring {
    fn is_complete(&self, _: &u64) -> bool {
        self.work.operations == self.hops
    }
}

#[derive(Debug)]
struct Hop {
    node: u32,
    token: u32,
}

impl OkEvent<Ring, u64> for Hop {
    fn execute(&mut self, simulation: &mut Simulation<Ring, u64>) {
        simulation.state_mut().work.add(u64::from(self.token));
        let next = Hop { node: (self.node + 1) % RING as u32, token: self.token };
        simulation.schedule_with_delay(next, 1).expect(IN_ORDER);
    }
}

fn ring(hops: u64) -> Run {
    let mut simulation = Simulation::new(Ring { work: Work::default(), hops }, 0);
    for node in 0..RING as u32 {
        simulation.schedule(Hop { node: (node + 1) % RING as u32, token: node }, 1).expect(IN_ORDER);
    }
    simulate(simulation, |ring| ring.work)
}

impl SimState<u64> for Line {}

#[derive(Debug)]
struct Done {
    stage: u32,
}

/// Stages that begin at an instant: at most all of them.
#[derive(Default)]
struct Begun {
    stages: [u32; 16],
    count: usize,
}

impl Begun {
    fn push(&mut self, stage: u32) {
        self.stages[self.count] = stage;
        self.count += 1;
    }

    fn schedule(&self, simulation: &mut Simulation<Line, u64>) {
        for &stage in &self.stages[..self.count] {
            simulation.schedule_with_delay(Done { stage }, 1).expect(IN_ORDER);
        }
    }
}

impl OkEvent<Line, u64> for Done {
    fn execute(&mut self, simulation: &mut Simulation<Line, u64>) {
        let mut begun = Begun::default();
        simulation.state_mut().done(self.stage, |stage| begun.push(stage));
        begun.schedule(simulation);
    }
}

fn pipeline(items: u64) -> Run {
    let mut simulation = Simulation::new(Line::new(items), 0);
    let mut begun = Begun::default();
    simulation.state_mut().start(|stage| begun.push(stage));
    begun.schedule(&mut simulation);
    simulate(simulation, Line::work)
}

struct Phold {
    receivers: Vec<[u32; OUTPUTS]>,
    work: Work,
    end: u64,
}

impl SimState<u64> for Phold {
    fn is_complete(&self, now: &u64) -> bool {
        *now >= self.end
    }
}

#[derive(Debug)]
struct Arrive {
    process: u32,
    token: u32,
}

#[derive(Debug)]
struct Leave {
    process: u32,
    token: u32,
}

impl OkEvent<Phold, u64> for Arrive {
    fn execute(&mut self, simulation: &mut Simulation<Phold, u64>) {
        let draw = draw(self.token, *simulation.current_time());
        // The state is asked before an event is taken, so the first event after the end is executed.
        if *simulation.current_time() < simulation.state().end {
            simulation.state_mut().work.add(draw);
        }
        let leave = Leave { process: self.process, token: self.token };
        simulation.schedule_with_delay(leave, hold(draw)).expect(IN_ORDER);
    }
}

impl OkEvent<Phold, u64> for Leave {
    fn execute(&mut self, simulation: &mut Simulation<Phold, u64>) {
        let out = output(draw(self.token, *simulation.current_time()));
        let process = simulation.state().receivers[self.process as usize][out];
        simulation.schedule_with_delay(Arrive { process, token: self.token }, FLIGHT).expect(IN_ORDER);
    }
}

fn phold(events: u64) -> Run {
    let state = Phold { receivers: graph(), work: Work::default(), end: last_tick(events) };
    let mut simulation = Simulation::new(state, 0);
    for token in 0..TOKENS as u32 {
        let leave = Leave { process: token / TOKENS_EACH as u32, token };
        simulation.schedule(leave, hold(draw(token, 0))).expect(IN_ORDER);
    }
    simulate(simulation, |phold| phold.work)
}

struct Clocked {
    states: Vec<u64>,
    operations: u64,
    cycles: u64,
}

impl SimState<u64> for Clocked {}

#[derive(Debug)]
struct Wake {
    component: u32,
}

impl OkEvent<Clocked, u64> for Wake {
    fn execute(&mut self, simulation: &mut Simulation<Clocked, u64>) {
        let now = *simulation.current_time();
        let clocked = simulation.state_mut();
        let state = &mut clocked.states[self.component as usize];
        *state = xorshift(*state);
        clocked.operations += 1;
        if now < clocked.cycles {
            simulation.schedule_with_delay(Wake { component: self.component }, 1).expect(IN_ORDER);
        }
    }
}

fn clocked(cycles: u64) -> Run {
    let states = (1..=COMPONENTS as u64).collect();
    let mut simulation = Simulation::new(Clocked { states, operations: 0, cycles }, 0);
    for component in 0..COMPONENTS as u32 {
        simulation.schedule(Wake { component }, 1).expect(IN_ORDER);
    }
    simulate(simulation, |clocked| Work {
        operations: clocked.operations,
        check: clocked.states.iter().copied().fold(0, u64::wrapping_add),
    })
}
