//! The same plans as processes of the kernel.

use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use counterpoint_framework::kernel::*;
use counterpoint_framework::time::{BytesPerSecond, Clock, Hertz, Latency, SimTime};
use futures::future::{Either as Which, join, select};

use super::plan::{Act, Delay, End, Entry, Joint, Payload, Plan, PlanStep, mix};

impl Message for Payload {
    fn wire_bytes(&self) -> u64 {
        self.bytes()
    }
}

/// In which order a plan's processes and links are handed to the kernel.
pub(crate) struct Order {
    /// Per place in the machine, the actor there.
    pub(crate) actors: Vec<usize>,
    /// Per place in the list of links, the joint there.
    pub(crate) joints: Vec<usize>,
}

impl Order {
    pub(crate) fn plain(plan: &Plan) -> Order {
        Order { actors: (0..plan.actors.len()).collect(), joints: (0..plan.wires.len()).collect() }
    }
}

/// Result of a run of the kernel, in the plan's own order.
pub(crate) struct Ran {
    pub(crate) end: End,
    /// The same in words, with who waits for which process.
    pub(crate) report: String,
    pub(crate) logs: Vec<Vec<Entry>>,
    pub(crate) hash: Option<u64>,
    pub(crate) islands: usize,
}

type Log = Arc<Mutex<Vec<Entry>>>;

/// A plan as a machine whose processes write to these logs.
fn machine(plan: &Plan, order: &Order, logs: &[Log]) -> ProcessNetwork {
    let joints = plan.joints();
    let mut machine = ProcessNetwork::default();
    for &number in &order.actors {
        machine.processes.push(process(plan, number, &joints, &logs[number]));
    }
    let place =
        |actor: usize| order.actors.iter().position(|&number| number == actor).expect("a permutation");
    let end = |actor: usize, port: &str, index: usize| Endpoint {
        process: place(actor),
        port: port.into(),
        index: Some(index as u32),
    };
    for &number in &order.joints {
        let Joint { from, output, to, input, sender, delay, capacity, bandwidth } = joints[number];
        let latency = match delay {
            Delay::Cycles(cycles) => Latency::Cycles(cycles),
            Delay::Ps(time) => Latency::Time(SimTime::from_ps(time)),
        };
        let options = LinkOptions { latency, capacity, bandwidth: bandwidth.map(BytesPerSecond::new) };
        let (from, to) = (end(from, "out", output), end(to, "in", input));
        machine.links.push(LinkSpec { from, to, sender, options });
    }
    machine
}

/// Threads, and how the machine is cut for them.
pub(crate) type Cut = (usize, Islands);

const FINEST: Islands = Islands::AtLatency(SimTime::ZERO);

/// The simplest cut: none.
pub(crate) const WHOLE: Cut = (1, Islands::One);

/// Cuts of every kind.
pub(crate) const CUTS: [Cut; 6] =
    [WHOLE, (1, Islands::Auto), (1, FINEST), (2, Islands::Auto), (2, FINEST), (3, FINEST)];

pub(crate) fn options(plan: &Plan, (threads, islands): Cut) -> RunOptions {
    let stop_at = plan.stop_at.map(SimTime::from_ps);
    RunOptions { threads, sharing: Sharing::Always, islands, stop_at, hash: true, ..RunOptions::default() }
}

/// Runs a plan for the kernel's own report of it.
pub(crate) fn finish(plan: &Plan, options: &RunOptions) -> Finished {
    let logs: Vec<Log> = plan.actors.iter().map(|_| Log::default()).collect();
    machine(plan, &Order::plain(plan), &logs).run(options)
}

pub(crate) fn start(plan: &Plan, options: &RunOptions) -> Held {
    let logs: Vec<Log> = plan.actors.iter().map(|_| Log::default()).collect();
    machine(plan, &Order::plain(plan), &logs).start(options)
}

/// Runs a plan, cut in some way.
pub(crate) fn run(plan: &Plan, order: &Order, cut: Cut) -> Ran {
    let logs: Vec<Log> = plan.actors.iter().map(|_| Log::default()).collect();
    let finished = machine(plan, order, &logs).run(&options(plan, cut));
    let number = |path: &str| path[1..].parse::<usize>().expect("a number");
    let end = match &finished.outcome {
        Outcome::Finished(time) => End::Finished(time.as_ps()),
        Outcome::Stopped(time) => End::Stopped(time.as_ps()),
        Outcome::Deadlock(hang) => {
            let counting = hang.blocked.iter().filter(|process| !process.daemon);
            let mut blocked: Vec<usize> = counting.map(|process| number(&process.path)).collect();
            blocked.sort_unstable();
            End::Deadlock(hang.time.as_ps(), blocked)
        }
        Outcome::Failed { time, path, fault } => {
            assert!(!fault.panicked, "{path} panicked: {}", fault.message);
            End::Failed(time.as_ps(), number(path))
        }
        other => panic!("no plan ends so: {other}"),
    };
    let logs = logs.iter().map(|log| std::mem::take(&mut *log.lock().expect("no panic"))).collect();
    let report = finished.outcome.to_string();
    Ran { end, report, logs, hash: finished.hash, islands: finished.islands }
}

fn process(plan: &Plan, number: usize, joints: &[Joint], log: &Log) -> ProcessSpec {
    let actor = &plan.actors[number];
    let (steps, log) = (plan.steps(number), Arc::clone(log));
    let outputs = joints.iter().filter(|joint| joint.from == number).count();
    let inputs = joints.iter().filter(|joint| joint.to == number).map(|joint| joint.input + 1).max();
    let clock = Clock::new(Hertz::new(actor.hertz));
    ProcessSpec::new(format!("p{number}"), clock, actor.daemon, move |wiring| {
        let body = Actor {
            process: wiring.process(),
            outs: (0..outputs as u32).map(|index| wiring.output("out", Some(index))).collect(),
            ins: (0..inputs.unwrap_or(0) as u32).map(|index| wiring.input("in", Some(index))).collect(),
            seen: number as u64,
            at: 0,
        };
        body.run(steps, log)
    })
}

struct Actor {
    process: Rc<Process>,
    ins: Vec<In<Payload>>,
    outs: Vec<Out<Payload>>,
    seen: u64,
    at: usize,
}

impl Actor {
    async fn run(mut self, steps: Vec<PlanStep>, log: Log) -> Result<(), Fault> {
        while let Some(step) = steps.get(self.at) {
            match step {
                PlanStep::SkipIfEven(count) => {
                    self.at += 1 + if self.seen.is_multiple_of(2) { *count } else { 0 }
                }
                PlanStep::Act(Act::Fail) => return Err(Fault::new("as planned")),
                PlanStep::Act(act) => {
                    let value = self.act(act).await.unwrap_or(0);
                    self.note(&log, value);
                    self.seen = mix(self.seen, value);
                    self.at += 1;
                }
            }
        }
        self.note(&log, self.seen);
        Ok(())
    }

    fn note(&self, log: &Log, value: u64) {
        let (ps, cycle) = (self.process.now().as_ps(), self.process.cycle());
        assert_eq!(self.process.edge().time().as_ps(), ps, "a process runs at edges of its clock");
        log.lock().expect("no panic").push(Entry { ps, cycle, step: self.at, value });
    }

    fn input(&self, port: u8) -> Option<usize> {
        (!self.ins.is_empty()).then(|| usize::from(port) % self.ins.len())
    }

    fn output(&self, port: u8) -> Option<usize> {
        (!self.outs.is_empty()).then(|| usize::from(port) % self.outs.len())
    }

    /// Does an act: the value sent, taken or counted, if there is one.
    async fn act(&mut self, act: &Act) -> Option<u64> {
        let process = Rc::clone(&self.process);
        let value = mix(self.seen, self.at as u64);
        match act {
            Act::Recv(port) => {
                let port = self.input(*port)?;
                Some(self.ins[port].recv().await.0)
            }
            Act::TryRecv(port) => {
                let port = self.input(*port)?;
                let (sender, Payload(value)) = self.ins[port].try_recv_from()?;
                Some(mix(value, u64::from(sender)))
            }
            Act::Peek(port) => self.ins[self.input(*port)?].peek(|payload| payload.0),
            Act::RecvWithin(port, time) => {
                let port = self.input(*port)?;
                let (sleep, message) = (process.sleep(SimTime::from_ps(*time)), self.ins[port].recv());
                match process.concurrently(select(message, sleep)).await {
                    Which::Left((Payload(value), _)) => Some(value),
                    Which::Right(_) => None,
                }
            }
            Act::First(left, right) => {
                let (left, right) = (self.input(*left)?, self.input(*right)?);
                self.first(left, right).await
            }
            Act::AnyOldest => self.any(Fairness::Oldest).await,
            Act::AnyAfter(last) => {
                let last = self.input(*last)?;
                self.any(Fairness::After(last)).await
            }
            Act::Send(port) => {
                let port = self.output(*port)?;
                self.outs[port].send(Payload(value)).await;
                Some(value)
            }
            Act::SendAfter(port, delay) => {
                let port = self.output(*port)?;
                self.outs[port].send_after(SimTime::from_ps(*delay), Payload(value)).await;
                Some(value)
            }
            Act::TrySend(port) => {
                let port = self.output(*port)?;
                self.outs[port].try_send(Payload(value)).ok()?;
                Some(value)
            }
            Act::SendWithin(port, time) => {
                let port = self.output(*port)?;
                let (sleep, credit) = (process.sleep(SimTime::from_ps(*time)), self.outs[port].reserve());
                match process.concurrently(select(credit, sleep)).await {
                    Which::Left((permit, _)) => permit.send(Payload(value)),
                    Which::Right(_) => return None,
                }
                Some(value)
            }
            Act::AnyWithin(time) => {
                let (sleep, any) = (process.sleep(SimTime::from_ps(*time)), self.any(Fairness::Oldest));
                match process.concurrently(select(pin!(any), sleep)).await {
                    Which::Left((value, _)) => value,
                    Which::Right(_) => None,
                }
            }
            Act::HoldAndSend(port, cycles) => {
                let port = self.output(*port)?;
                let permit = self.outs[port].reserve().await;
                process.cycles(u64::from(*cycles)).await;
                permit.send(Payload(value));
                Some(value)
            }
            Act::HoldAndDrop(port, cycles) => {
                let port = self.output(*port)?;
                let permit = self.outs[port].reserve().await;
                process.cycles(u64::from(*cycles)).await;
                drop(permit);
                Some(u64::from(self.outs[port].credits()))
            }
            Act::TouchCredit(port) => {
                let port = self.output(*port)?;
                Some(u64::from(self.outs[port].try_reserve().is_some()))
            }
            Act::Credits(port) => Some(u64::from(self.outs[self.output(*port)?].credits())),
            Act::Both(out, from) => {
                let (out, from) = (self.output(*out)?, self.input(*from)?);
                let (outs, ins) = (&mut self.outs, &mut self.ins);
                let both = join(outs[out].send(Payload(value)), ins[from].recv());
                let ((), Payload(received)) = process.concurrently(both).await;
                Some(mix(value, received))
            }
            Act::Ready(_)
            | Act::Tick
            | Act::Cycles(_)
            | Act::Doze(_)
            | Act::Sleep(_)
            | Act::Until(_)
            | Act::Wait(..)
            | Act::Fail => {
                self.wait(act, &process).await;
                None
            }
        }
    }

    /// Does an act whose only effect is that time passes.
    async fn wait(&mut self, act: &Act, process: &Process) {
        match act {
            Act::Ready(port) => {
                if let Some(port) = self.input(*port) {
                    self.ins[port].ready().await;
                }
            }
            Act::Tick => process.tick().await,
            Act::Cycles(cycles) => process.cycles(u64::from(*cycles)).await,
            Act::Doze(modulus) => process.cycles(self.seen % u64::from(*modulus)).await,
            Act::Sleep(time) => process.sleep(SimTime::from_ps(*time)).await,
            Act::Until(time) => process.until(SimTime::from_ps(*time)).await,
            Act::Wait(deadline, ins, outs) => {
                let deadline = deadline.map_or(SimTime::MAX, |time| process.now() + SimTime::from_ps(time));
                let ins = ins.iter().filter_map(|&port| self.input(port));
                let outs = outs.iter().filter_map(|&port| self.output(port));
                let sources = ins.map(|port| &self.ins[port] as &dyn Source);
                let sources = sources.chain(outs.map(|port| &self.outs[port] as &dyn Source));
                process.wait(deadline, sources.map(Some)).await;
            }
            _ => unreachable!("{act:?} is more than waiting"),
        }
    }

    async fn any(&mut self, fairness: Fairness) -> Option<u64> {
        if self.ins.is_empty() {
            return None;
        }
        let (port, Payload(value)) = any(&mut self.ins, fairness).await;
        Some(mix(port as u64, value))
    }

    async fn first(&mut self, left: usize, right: usize) -> Option<u64> {
        let (low, high) = (left.min(right), left.max(right));
        if low == high {
            return None;
        }
        let (before, after) = self.ins.split_at_mut(high);
        let (low, high) = (&mut before[low], &mut after[0]);
        let (left, right) = if left < right { (low, high) } else { (high, low) };
        match first(left, right).await {
            Either::Left(Payload(value)) | Either::Right(Payload(value)) => Some(value),
        }
    }
}
