//! The naive simulator: one loop over time, plain vectors, no windows, no queue, no code of the kernel.
//!
//! Whenever something happened it asks every process anew when it can go on, goes to the earliest answer, and lets all
//! processes go on that can by then. The meaning of "can go on" is written out per operation, as the kernel's
//! documentation has it.

use super::plan::{Act, Delay, End, Entry, Joint, Payload, Plan, PlanStep, mix};

const SECOND: u128 = 1_000_000_000_000;

/// Time of edge `n` of a clock.
fn edge(hertz: u64, n: u64) -> u64 {
    (u128::from(n) * SECOND / u128::from(hertz)) as u64
}

/// Number of the first edge at or after a time: the smallest n with n·10¹²/f ≥ t.
fn edge_at_or_after(hertz: u64, time: u64) -> u64 {
    (u128::from(time) * u128::from(hertz)).div_ceil(SECOND) as u64
}

/// A message on its way or waiting, with its order.
struct Letter {
    arrival: u64,
    sender: u32,
    sequence: u64,
    joint: usize,
    payload: Payload,
}

struct Link {
    joint: Joint,
    /// The least latency of a message, and the latency of a credit.
    latency: u64,
    total: u64,
    taken: u64,
    /// Times at which credits come or came back, all of them.
    back: Vec<u64>,
    sent: u64,
    /// Since when the wire has been busy without a gap, and the bytes that it has passed since.
    busy_since: u64,
    busy_bytes: u64,
}

impl Link {
    fn new(joint: Joint, hertz: u64) -> Link {
        let period = edge(hertz, 1);
        let (latency, round_trip) = match joint.delay {
            Delay::Cycles(cycles) => (edge(hertz, cycles), 2 * cycles),
            Delay::Ps(time) => (time, (2 * time).div_ceil(period)),
        };
        let total = round_trip + u64::from(joint.capacity);
        Link { joint, latency, total, taken: 0, back: Vec::new(), sent: 0, busy_since: 0, busy_bytes: 0 }
    }

    fn credits(&self, now: u64) -> u64 {
        let back = self.back.iter().filter(|&&time| time <= now).count() as u64;
        self.total + back - self.taken
    }

    /// The time at which there is a credit, if nothing else is known.
    fn credit_due(&self, now: u64) -> u64 {
        if self.credits(now) > 0 {
            return now;
        }
        self.back.iter().copied().filter(|&time| time > now).min().unwrap_or(u64::MAX)
    }
}

/// The state of a process.
struct Worker {
    hertz: u64,
    daemon: bool,
    steps: Vec<PlanStep>,
    at: usize,
    /// The edge at which it runs or last ran.
    cycle: u64,
    /// The edge at which it came to the current step.
    since: u64,
    /// Within a step of two parts: the finished part of the first and the second.
    sent: Option<u64>,
    received: Option<u64>,
    seen: u64,
    done: bool,
    /// Inputs by number: the letters that are under way or wait.
    inputs: Vec<Vec<Letter>>,
    /// Outputs by number: positions among the links.
    outputs: Vec<usize>,
    log: Vec<Entry>,
}

/// Result of a run of the naive simulator.
pub(crate) struct Naive {
    pub(crate) end: End,
    pub(crate) logs: Vec<Vec<Entry>>,
}

/// Whether a step is done now: with a result, or not before a time.
enum Answer {
    Done(u64),
    NotBefore(u64),
}

use Answer::{Done, NotBefore};

struct World {
    workers: Vec<Worker>,
    links: Vec<Link>,
    now: u64,
}

pub(crate) fn simulate(plan: &Plan) -> Naive {
    let joints = plan.joints();
    let links: Vec<Link> =
        joints.iter().map(|&joint| Link::new(joint, plan.actors[joint.from].hertz)).collect();
    let workers = plan.actors.iter().enumerate().map(|(number, actor)| Worker {
        hertz: actor.hertz,
        daemon: actor.daemon,
        steps: plan.steps(number),
        at: 0,
        cycle: 0,
        since: 0,
        sent: None,
        received: None,
        seen: number as u64,
        done: false,
        inputs: {
            let inputs = joints.iter().filter(|joint| joint.to == number).map(|joint| joint.input + 1);
            (0..inputs.max().unwrap_or(0)).map(|_| Vec::new()).collect()
        },
        outputs: (0..joints.len()).filter(|&link| joints[link].from == number).collect(),
        log: Vec::new(),
    });
    let workers = workers.collect();
    // The longest latency, and at least a microsecond in units of 2^20 ps.
    let grace = links.iter().map(|link| link.latency).max().unwrap_or(1).max(1 << 20);
    let mut world = World { workers, links, now: 0 };
    let stop_at = plan.stop_at.unwrap_or(u64::MAX);
    let waited_for = |world: &World| -> Vec<usize> {
        let open = |&number: &usize| !world.workers[number].daemon && !world.workers[number].done;
        (0..world.workers.len()).filter(open).collect()
    };
    let mut failed: Option<(u64, usize)> = None;
    let mut ended = waited_for(&world).is_empty().then_some(0);
    let mut last = 0;
    loop {
        let horizon = ended.map_or(u64::MAX, |ended: u64| ended + grace).min(stop_at);
        let Some((time, wake)) = world.next().filter(|&(time, _)| time < horizon) else {
            break;
        };
        (world.now, last) = (time, time);
        for (number, cycle) in wake {
            if world.run(number, cycle) {
                failed = failed.or(Some((time, number)));
            }
        }
        if ended.is_none() && (failed.is_some() || waited_for(&world).is_empty()) {
            ended = Some(time);
        }
    }
    let end = match (failed, ended) {
        (Some((time, number)), _) => End::Failed(time, number),
        (None, Some(time)) => End::Finished(time),
        // At the stop there is still something to do.
        (None, None) if world.next().is_some() => End::Stopped(stop_at),
        (None, None) => End::Deadlock(last, waited_for(&world)),
    };
    Naive { end, logs: world.workers.into_iter().map(|worker| worker.log).collect() }
}

impl World {
    /// The next time at which a process can go on, and all that can then, each with its edge.
    fn next(&mut self) -> Option<(u64, Vec<(usize, u64)>)> {
        let mut best: Option<(u64, Vec<(usize, u64)>)> = None;
        for number in 0..self.workers.len() {
            let Some(cycle) = self.wake(number) else { continue };
            let time = edge(self.workers[number].hertz, cycle);
            match &mut best {
                Some((earliest, wake)) if *earliest == time => wake.push((number, cycle)),
                Some((earliest, _)) if *earliest < time => {}
                _ => best = Some((time, vec![(number, cycle)])),
            }
        }
        best
    }

    /// The edge at which a process can go on, as far as is known now.
    fn wake(&self, number: usize) -> Option<u64> {
        let worker = &self.workers[number];
        if worker.done {
            return None;
        }
        let due = match worker.steps.get(worker.at) {
            Some(PlanStep::Act(act)) => self.due(worker, act),
            _ => self.now,
        };
        (due != u64::MAX).then(|| edge_at_or_after(worker.hertz, due.max(self.now)).max(worker.cycle))
    }

    /// The arrival of the first message of an input.
    fn arrival(&self, worker: &Worker, input: usize) -> u64 {
        worker.inputs[input].iter().map(|letter| letter.arrival).min().unwrap_or(u64::MAX)
    }

    fn credit(&self, worker: &Worker, output: usize) -> u64 {
        self.links[worker.outputs[output]].credit_due(self.now)
    }

    /// The time at which an act that has begun can be done, or a part of it.
    fn due(&self, worker: &Worker, act: &Act) -> u64 {
        let (inputs, outputs) = (worker.inputs.len(), worker.outputs.len());
        let began = edge(worker.hertz, worker.since);
        let input = |port: u8| (inputs > 0).then(|| usize::from(port) % inputs);
        let output = |port: u8| (outputs > 0).then(|| usize::from(port) % outputs);
        let after = |cycles: u64| edge(worker.hertz, worker.since + cycles);
        match act {
            Act::Recv(port) | Act::Ready(port) => {
                input(*port).map_or(self.now, |port| self.arrival(worker, port))
            }
            Act::RecvWithin(port, time) => {
                input(*port).map_or(self.now, |port| self.arrival(worker, port).min(began + time))
            }
            Act::First(left, right) => match (input(*left), input(*right)) {
                (Some(left), Some(right)) if left != right => {
                    self.arrival(worker, left).min(self.arrival(worker, right))
                }
                _ => self.now,
            },
            Act::AnyOldest | Act::AnyAfter(_) | Act::AnyWithin(_) if inputs > 0 => {
                let first = (0..inputs).map(|port| self.arrival(worker, port)).min().unwrap_or(u64::MAX);
                if let Act::AnyWithin(time) = act { first.min(began + time) } else { first }
            }
            Act::SendWithin(port, time) => {
                output(*port).map_or(self.now, |port| self.credit(worker, port).min(began + time))
            }
            Act::Send(port) | Act::SendAfter(port, _) => {
                output(*port).map_or(self.now, |port| self.credit(worker, port))
            }
            Act::HoldAndSend(port, cycles) | Act::HoldAndDrop(port, cycles) => {
                match (output(*port), worker.sent) {
                    (None, _) => self.now,
                    (Some(port), None) => self.credit(worker, port),
                    (Some(_), Some(got)) => edge(worker.hertz, got + u64::from(*cycles)),
                }
            }
            Act::Both(out, from) => match (output(*out), input(*from)) {
                (Some(out), Some(from)) => {
                    let send = if worker.sent.is_none() { self.credit(worker, out) } else { u64::MAX };
                    let recv = if worker.received.is_none() { self.arrival(worker, from) } else { u64::MAX };
                    send.min(recv)
                }
                _ => self.now,
            },
            Act::Tick => after(1),
            Act::Cycles(cycles) => after(u64::from(*cycles)),
            Act::Doze(modulus) => after(worker.seen % u64::from(*modulus)),
            Act::Sleep(time) => began + time,
            Act::Until(time) => *time,
            Act::Wait(deadline, ins, outs) => {
                let ins = ins.iter().filter_map(|&port| input(port)).map(|port| self.arrival(worker, port));
                let outs = outs.iter().filter_map(|&port| output(port)).map(|port| self.credit(worker, port));
                let deadline = deadline.map_or(u64::MAX, |time| began + time);
                // At least one cycle passes.
                ins.chain(outs).fold(deadline, u64::min).max(after(1))
            }
            Act::TryRecv(_)
            | Act::Peek(_)
            | Act::TrySend(_)
            | Act::TouchCredit(_)
            | Act::Credits(_)
            | Act::AnyOldest
            | Act::AnyAfter(_)
            | Act::AnyWithin(_)
            | Act::Fail => self.now,
        }
    }

    /// Lets a process go on at an edge until it must wait; whether it failed.
    fn run(&mut self, number: usize, cycle: u64) -> bool {
        self.workers[number].cycle = cycle;
        loop {
            let worker = &mut self.workers[number];
            let at = worker.at;
            let Some(step) = worker.steps.get(at).cloned() else {
                worker.done = true;
                worker.log.push(Entry { ps: self.now, cycle, step: at, value: worker.seen });
                return false;
            };
            let act = match step {
                PlanStep::SkipIfEven(count) => {
                    worker.at += 1 + if worker.seen.is_multiple_of(2) { count } else { 0 };
                    continue;
                }
                PlanStep::Act(Act::Fail) => {
                    worker.done = true;
                    return true;
                }
                PlanStep::Act(act) => act,
            };
            match self.attempt(number, &act) {
                NotBefore(time) => {
                    assert!(time > self.now, "what is due now can be done now");
                    return false;
                }
                Done(value) => {
                    let worker = &mut self.workers[number];
                    worker.seen = mix(worker.seen, value);
                    worker.log.push(Entry { ps: self.now, cycle, step: at, value });
                    worker.at += 1;
                    worker.since = cycle;
                    (worker.sent, worker.received) = (None, None);
                }
            }
        }
    }

    /// Does an act, or as much of it as can be done now.
    fn attempt(&mut self, number: usize, act: &Act) -> Answer {
        let now = self.now;
        let worker = &self.workers[number];
        let due = self.due(worker, act);
        if due > now {
            return NotBefore(due);
        }
        let (inputs, outputs) = (worker.inputs.len(), worker.outputs.len());
        let input = |port: u8| (inputs > 0).then(|| usize::from(port) % inputs);
        let output = |port: u8| (outputs > 0).then(|| usize::from(port) % outputs);
        let arrived = |port: usize| self.arrival(worker, port) <= now;
        match act {
            Act::Recv(port) | Act::RecvWithin(port, _) => {
                Done(input(*port).map_or(0, |port| self.take(number, port)))
            }
            Act::TryRecv(port) => Done(
                input(*port)
                    .and_then(|port| self.take_from(number, port))
                    .map_or(0, |(value, sender)| mix(value, u64::from(sender))),
            ),
            Act::Peek(port) => Done(input(*port).map_or(0, |port| {
                self.first_letter(number, port).map_or(0, |letter| worker.inputs[port][letter].payload.0)
            })),
            Act::First(left, right) => match (input(*left), input(*right)) {
                (Some(left), Some(right)) if left != right => {
                    let port = if arrived(left) { left } else { right };
                    Done(self.take(number, port))
                }
                _ => Done(0),
            },
            Act::AnyWithin(_) if !(0..inputs).any(arrived) => Done(0),
            Act::AnyOldest | Act::AnyWithin(_) if inputs > 0 => {
                let port =
                    (0..inputs).min_by_key(|&port| (self.arrival(worker, port), port)).expect("there is one");
                Done(mix(port as u64, self.take(number, port)))
            }
            Act::AnyAfter(last) if inputs > 0 => {
                let last = usize::from(*last) % inputs;
                let mut turn = (last + 1..inputs).chain(0..=last);
                let port = turn.find(|&port| arrived(port)).expect("one is due");
                Done(mix(port as u64, self.take(number, port)))
            }
            Act::Send(port) => Done(output(*port).map_or(0, |port| self.send(number, port, 0))),
            Act::SendAfter(port, delay) => {
                Done(output(*port).map_or(0, |port| self.send(number, port, *delay)))
            }
            Act::TrySend(port) | Act::SendWithin(port, _) => Done(match output(*port) {
                Some(port) if self.credit(worker, port) <= now => self.send(number, port, 0),
                _ => 0,
            }),
            Act::HoldAndSend(port, cycles) | Act::HoldAndDrop(port, cycles) => {
                let Some(port) = output(*port) else { return Done(0) };
                let link = worker.outputs[port];
                if worker.sent.is_none() {
                    self.links[link].taken += 1;
                    self.workers[number].sent = Some(self.workers[number].cycle);
                    let worker = &self.workers[number];
                    let until = edge(worker.hertz, worker.cycle + u64::from(*cycles));
                    if until > now {
                        return NotBefore(until);
                    }
                }
                self.links[link].taken -= 1;
                Done(match act {
                    Act::HoldAndSend(..) => self.send(number, port, 0),
                    _ => self.links[link].credits(now),
                })
            }
            Act::TouchCredit(port) => {
                Done(output(*port).map_or(0, |port| u64::from(self.credit(worker, port) <= now)))
            }
            Act::Credits(port) => {
                Done(output(*port).map_or(0, |port| self.links[worker.outputs[port]].credits(now)))
            }
            Act::Both(out, from) => {
                let (Some(out), Some(from)) = (output(*out), input(*from)) else { return Done(0) };
                if worker.sent.is_none() && self.credit(worker, out) <= now {
                    self.workers[number].sent = Some(self.send(number, out, 0));
                }
                let worker = &self.workers[number];
                if worker.received.is_none() && self.arrival(worker, from) <= now {
                    self.workers[number].received = Some(self.take(number, from));
                }
                let worker = &self.workers[number];
                match (worker.sent, worker.received) {
                    (Some(sent), Some(received)) => Done(mix(sent, received)),
                    _ => NotBefore(self.due(worker, act)),
                }
            }
            _ => Done(0),
        }
    }

    /// The letter that would be taken from an input now.
    fn first_letter(&self, number: usize, port: usize) -> Option<usize> {
        let letters = &self.workers[number].inputs[port];
        let arrived = (0..letters.len()).filter(|&letter| letters[letter].arrival <= self.now);
        arrived.min_by_key(|&letter| {
            let letter = &letters[letter];
            (letter.arrival, letter.sender, letter.sequence)
        })
    }

    /// Takes a message if one has arrived: its value, 0 if there is none.
    fn take(&mut self, number: usize, port: usize) -> u64 {
        self.take_from(number, port).map_or(0, |(value, _)| value)
    }

    /// Takes a message if one has arrived: its value and its sender.
    fn take_from(&mut self, number: usize, port: usize) -> Option<(u64, u32)> {
        let letter = self.first_letter(number, port)?;
        let letter = self.workers[number].inputs[port].remove(letter);
        let link = &mut self.links[letter.joint];
        link.back.push(self.now + link.latency);
        Some((letter.payload.0, letter.sender))
    }

    /// Sends the process's observations so far; the value.
    fn send(&mut self, number: usize, port: usize, delay: u64) -> u64 {
        let (now, worker) = (self.now, &self.workers[number]);
        let joint = worker.outputs[port];
        let value = mix(worker.seen, worker.at as u64);
        let payload = Payload(value);
        let link = &mut self.links[joint];
        let start = now + delay;
        let arrival = match (link.joint.bandwidth, link.joint.delay) {
            (None, Delay::Cycles(cycles)) => edge(worker.hertz, worker.cycle + cycles) + delay,
            (None, Delay::Ps(time)) => start + time,
            (Some(rate), _) => {
                let passed = |link: &Link| {
                    let time = u128::from(link.busy_bytes) * SECOND / u128::from(rate);
                    link.busy_since + time as u64
                };
                if passed(link) < start {
                    (link.busy_since, link.busy_bytes) = (start, 0);
                }
                link.busy_bytes += payload.bytes();
                passed(link) + link.latency
            }
        };
        link.taken += 1;
        link.sent += 1;
        let letter = Letter { arrival, sender: link.joint.sender, sequence: link.sent, joint, payload };
        let (to, input) = (link.joint.to, link.joint.input);
        self.workers[to].inputs[input].push(letter);
        value
    }
}
