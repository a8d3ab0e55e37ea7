//! Random machines as plain data: the input of the naive simulator and of the kernel, and the output of a
//! failing test.
//!
//! Every number that names something is taken modulo the number of parts, so that any part can be left out
//! while a failing machine shrinks and the rest keeps its meaning.

use std::fmt;

use proptest::prelude::*;

/// The act of a process at one step of its program. Ports are numbers among the process's inputs or outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Waits for a message.
    Recv(u8),
    /// Takes a message if there is one.
    TryRecv(u8),
    /// Looks at the message that would be taken.
    Peek(u8),
    /// Waits until there is a message.
    Ready(u8),
    /// Waits for a message for at most this many picoseconds.
    RecvWithin(u8, u64),
    /// Takes the oldest message of all inputs, waiting for at most this many picoseconds.
    AnyWithin(u64),
    /// Takes a message from the first of two inputs that has one.
    First(u8, u8),
    /// Takes the oldest message of all inputs.
    AnyOldest,
    /// Takes a message from the next input after this one that has one.
    AnyAfter(u8),
    /// Waits for a credit and sends.
    Send(u8),
    /// The same; the message leaves later.
    SendAfter(u8, u64),
    /// Waits for a credit for at most this many picoseconds and sends.
    SendWithin(u8, u64),
    TrySend(u8),
    /// Waits for a credit, keeps it for some cycles and sends.
    HoldAndSend(u8, u8),
    /// Waits for a credit, keeps it for some cycles and gives it back.
    HoldAndDrop(u8, u8),
    /// Takes a credit if there is one and gives it back at once.
    TouchCredit(u8),
    /// Counts the credits of an output.
    Credits(u8),
    /// Sends on an output and receives from an input, whichever can be done first.
    Both(u8, u8),
    /// Waits for the next edge.
    Tick,
    /// Waits for some edges.
    Cycles(u8),
    /// Waits for as many edges as the values seen so far say, modulo this number.
    Doze(u8),
    /// Waits for some picoseconds.
    Sleep(u64),
    /// Waits until a time in picoseconds.
    Until(u64),
    /// Waits for a deadline that many picoseconds from now, messages on inputs, or credits on outputs.
    Wait(Option<u64>, Vec<u8>, Vec<u8>),
    /// Ends with a fault.
    Fail,
}

/// A part of a program.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Op {
    Act(Act),
    /// The same again and again.
    Loop(u8, Vec<Op>),
    /// Only if the values seen so far add up to something odd.
    IfOdd(Vec<Op>),
}

/// A program without loops: the input of both simulators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanStep {
    Act(Act),
    /// Passes over some steps if the values seen so far add up to something even.
    SkipIfEven(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) hertz: u64,
    pub(crate) daemon: bool,
    pub(crate) program: Vec<Op>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    Cycles(u64),
    Ps(u64),
}

/// A link, from a new output of one process to an input of another, shared by all links that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) input: u8,
    pub(crate) delay: Delay,
    pub(crate) capacity: u32,
    pub(crate) bandwidth: Option<u64>,
}

/// A machine, and how long it runs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) actors: Vec<Actor>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) stop_at: Option<u64>,
}

/// A wire with everything resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joint {
    pub(crate) from: usize,
    pub(crate) output: usize,
    pub(crate) to: usize,
    pub(crate) input: usize,
    pub(crate) sender: u32,
    pub(crate) delay: Delay,
    pub(crate) capacity: u32,
    pub(crate) bandwidth: Option<u64>,
}

/// The message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Payload(pub(crate) u64);

impl Payload {
    /// Bytes on a link with a bandwidth: some of everything.
    pub(crate) fn bytes(self) -> u64 {
        1 + self.0 % 77
    }
}

/// One entry of a process's log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) ps: u64,
    pub(crate) cycle: u64,
    /// The step; the length of the program when it has ended.
    pub(crate) step: usize,
    pub(crate) value: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Finished(u64),
    Stopped(u64),
    /// The time, and the processes that count and have not returned.
    Deadlock(u64, Vec<usize>),
    Failed(u64, usize),
}

/// Mixes a value into a process's observations.
pub(crate) fn mix(seen: u64, value: u64) -> u64 {
    (seen.rotate_left(17) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Plan {
    /// The links with ports and senders numbered: outputs and senders by the order of the wires.
    pub(crate) fn joints(&self) -> Vec<Joint> {
        let place = |actor: u8| usize::from(actor) % self.actors.len();
        let mut joints: Vec<Joint> = Vec::new();
        for wire in &self.wires {
            let (from, to) = (place(wire.from), place(wire.to));
            let mut names: Vec<u8> =
                self.wires.iter().filter(|other| place(other.to) == to).map(|other| other.input).collect();
            names.sort_unstable();
            names.dedup();
            let input = names.iter().position(|&name| name == wire.input).expect("its own name is there");
            joints.push(Joint {
                from,
                output: joints.iter().filter(|other| other.from == from).count(),
                to,
                input,
                sender: joints.iter().filter(|other| (other.to, other.input) == (to, input)).count() as u32,
                delay: wire.delay,
                capacity: wire.capacity,
                bandwidth: wire.bandwidth,
            });
        }
        joints
    }

    /// The program of an actor, without loops.
    pub(crate) fn steps(&self, actor: usize) -> Vec<PlanStep> {
        let mut steps = Vec::new();
        flatten(&self.actors[actor].program, &mut steps);
        steps
    }
}

fn flatten(program: &[Op], steps: &mut Vec<PlanStep>) {
    for op in program {
        match op {
            Op::Act(act) => steps.push(PlanStep::Act(act.clone())),
            Op::Loop(times, body) => (0..*times).for_each(|_| flatten(body, steps)),
            Op::IfOdd(body) => {
                let mut inner = Vec::new();
                flatten(body, &mut inner);
                steps.push(PlanStep::SkipIfEven(inner.len()));
                steps.append(&mut inner);
            }
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Act(act) => write!(f, "{act:?}"),
            Op::Loop(times, body) => write!(f, "Loop({times}, {body:?})"),
            Op::IfOdd(body) => write!(f, "IfOdd({body:?})"),
        }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine, stop at {:?}", self.stop_at)?;
        for (number, actor) in self.actors.iter().enumerate() {
            let daemon = if actor.daemon { ", daemon" } else { "" };
            writeln!(f, "  p{number}: {} Hz{daemon}", actor.hertz)?;
            for op in &actor.program {
                writeln!(f, "    {op:?}")?;
            }
        }
        for joint in self.joints() {
            let Joint { from, output, to, input, sender, delay, capacity, bandwidth } = joint;
            write!(f, "  p{from}.out[{output}] -> p{to}.in[{input}] as sender {sender}: {delay:?}, ")?;
            writeln!(f, "capacity {capacity}, bandwidth {bandwidth:?}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps (cycle {}) step {}: {:#x}", self.ps, self.cycle, self.step, self.value)
    }
}

fn act() -> impl Strategy<Value = Act> {
    let port = || 0..4_u8;
    let time = || prop_oneof![4 => 0..20_000_u64, 1 => 0..400_u64, 1 => 0..30_000_000_u64];
    let ports = || prop::collection::vec(0..4_u8, 0..3);
    prop_oneof![
        4 => port().prop_map(Act::Send),
        2 => (port(), time()).prop_map(|(out, delay)| Act::SendAfter(out, delay)),
        3 => port().prop_map(Act::TrySend),
        1 => (port(), time()).prop_map(|(out, time)| Act::SendWithin(out, time)),
        1 => time().prop_map(Act::AnyWithin),
        3 => (port(), time()).prop_map(|(input, time)| Act::RecvWithin(input, time)),
        3 => port().prop_map(Act::TryRecv),
        2 => port().prop_map(Act::Recv),
        1 => port().prop_map(Act::Ready),
        2 => port().prop_map(Act::Peek),
        1 => (port(), port()).prop_map(|(left, right)| Act::First(left, right)),
        1 => Just(Act::AnyOldest),
        1 => port().prop_map(Act::AnyAfter),
        1 => (port(), 0..5_u8).prop_map(|(out, cycles)| Act::HoldAndSend(out, cycles)),
        1 => (port(), 0..5_u8).prop_map(|(out, cycles)| Act::HoldAndDrop(out, cycles)),
        1 => port().prop_map(Act::TouchCredit),
        2 => port().prop_map(Act::Credits),
        1 => (port(), port()).prop_map(|(out, input)| Act::Both(out, input)),
        3 => Just(Act::Tick),
        2 => (0..40_u8).prop_map(Act::Cycles),
        2 => (1..60_u8).prop_map(Act::Doze),
        1 => time().prop_map(Act::Sleep),
        1 => time().prop_map(Act::Until),
        5 => (prop::option::weighted(0.8, time()), ports(), ports())
            .prop_map(|(deadline, ins, outs)| Act::Wait(deadline, ins, outs)),
    ]
}

/// Steps that wait for one thing, which is all that many processes do.
fn patient_act() -> impl Strategy<Value = Act> {
    let port = || 0..4_u8;
    prop_oneof![
        6 => port().prop_map(Act::Send),
        2 => (port(), 0..20_000_u64).prop_map(|(out, delay)| Act::SendAfter(out, delay)),
        8 => port().prop_map(Act::Recv),
        1 => port().prop_map(Act::Ready),
        1 => (port(), 0..5_u8).prop_map(|(out, cycles)| Act::HoldAndSend(out, cycles)),
        3 => Just(Act::Tick),
        2 => (0..9_u8).prop_map(Act::Cycles),
        1 => (0..20_000_u64).prop_map(Act::Sleep),
    ]
}

fn program(act: impl Strategy<Value = Act> + 'static) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![1000 => act, 1 => Just(Act::Fail)].prop_map(Op::Act);
    let op = op.prop_recursive(2, 16, 5, |inner| {
        let body = || prop::collection::vec(inner.clone(), 1..5);
        prop_oneof![
            3 => (1..9_u8, body()).prop_map(|(times, body)| Op::Loop(times, body)),
            1 => body().prop_map(Op::IfOdd),
        ]
    });
    prop::collection::vec(op, 0..12)
}

fn hertz() -> impl Strategy<Value = u64> {
    let awkward = [700, 924, 1_600, 1_000, 333, 1_417, 350].map(|mhz| mhz * 1_000_000);
    prop_oneof![
        12 => prop::sample::select(awkward.to_vec()),
        3 => 100_000_000..3_000_000_000_u64,
        1 => prop::sample::select(vec![37_000, 333_333_333, 7_777_777, 999_999_999_989, 1_000_000_000_000]),
    ]
}

fn actor() -> impl Strategy<Value = Actor> {
    let program = prop_oneof![program(act()), program(patient_act())];
    (hertz(), prop::bool::weighted(0.4), program).prop_map(|(hertz, daemon, program)| Actor {
        hertz,
        daemon,
        program,
    })
}

/// A wire among `actors` processes in groups of `group`: mostly short ones within a group, and long ones between groups.
fn wire(actors: u8, group: u8) -> impl Strategy<Value = Wire> {
    let delay = prop_oneof![
        3 => (1..=20_u64).prop_map(Delay::Cycles),
        1 => (1..30_000_u64).prop_map(Delay::Ps),
        1 => Just(Delay::Ps(5_000)),
    ];
    let bandwidth = prop::option::weighted(0.3, 1_000_000_000..40_000_000_000_u64);
    let ends = (0..actors, 0..actors, prop::bool::weighted(0.7));
    (ends, 0..2_u8, delay, 1..=6_u32, bandwidth).prop_map(
        move |((from, to, near), input, delay, capacity, bandwidth)| {
            let to = if near { from / group * group + to % group } else { to };
            let delay = match delay {
                Delay::Ps(time) if from / group != to / group => Delay::Ps(time + 40_000),
                Delay::Cycles(_) if from / group != to / group => Delay::Ps(45_000),
                short => short,
            };
            Wire { from, to, input, delay, capacity, bandwidth }
        },
    )
}

fn stop_at() -> impl Strategy<Value = Option<u64>> {
    prop::option::weighted(0.25, prop_oneof![1..100_000_u64, 1..10_000_000_u64])
}

/// Machines of 2 to 12 processes; some with one clock and short links, where much happens at the same time.
pub(crate) fn small() -> impl Strategy<Value = Plan> {
    let parts = (prop::collection::vec(actor(), 2..=12), prop::collection::vec(wire(12, 4), 1..=24));
    (parts, stop_at(), prop::bool::weighted(0.3)).prop_map(|((mut actors, mut wires), stop_at, alike)| {
        if alike {
            actors.iter_mut().for_each(|actor| actor.hertz = 1_000_000_000);
            for wire in &mut wires {
                if let Delay::Cycles(cycles) = &mut wire.delay {
                    *cycles = 1 + *cycles % 3;
                    wire.bandwidth = None;
                }
            }
        }
        Plan { actors, wires, stop_at }
    })
}

/// Machines of some dozens of processes, in groups large enough for a queue of the large kind.
pub(crate) fn large() -> impl Strategy<Value = Plan> {
    (prop::collection::vec(actor(), 40..=52), prop::collection::vec(wire(52, 10), 90..=140), stop_at())
        .prop_map(|(actors, wires, stop_at)| Plan { actors, wires, stop_at })
}
