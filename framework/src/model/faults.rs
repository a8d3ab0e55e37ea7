//! Faults on a link: their parameters, and the component that applies them to the messages that pass.
//!
//! An [`Injector`] sits in the middle of a link, between an output and an input that know nothing of it. It exists for
//! every type of message ([`MessageType::injector`](super::MessageType::injector) builds it), so no kind has to be
//! registered.
//!
//! A message that no fault meets arrives when it would have arrived without the injector. On a link of three cycles of
//! the sender or more that holds for every message, on one of two cycles for those that arrive at an edge of the sender's
//! clock (others are rounded up to one); a link of a single cycle takes a cycle more, because the injector takes a cycle.
//! A message sent with a delay of its own may be a picosecond off where a cycle is no whole number of them. The injector
//! has a buffer of the link's capacity too, so a sender is held back a little later than without it.

use std::future::pending;

use super::component::{Component, Environment, Invalid, process};
use super::context::Context;
use super::ports::{PortField, PortInfo, Ports};
use super::stats::Counter;
use super::{Choice, Params, Stats};
use crate::kernel::{Fault, In, Message, Out, ProcessSpec, Source, Wiring};
use crate::time::{Clock, Edge, Latency, SimTime};

/// The fault applied to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FaultKind {
    /// The message disappears.
    Drop,
    /// The message arrives later, and so do those behind it: their order is kept. `by` says how much.
    Delay,
    /// The message arrives twice.
    Duplicate,
    /// A bit of the message's values is flipped. A message without values passes as it is.
    Corrupt,
    /// The link takes no message from this one on: the buffer fills and the sender starves.
    WithholdCredit,
}

/// One fault of a link, and its condition. Without `nth`, `every` or `probability`, it applies to every message.
#[derive(Clone, Debug, PartialEq, Params)]
pub struct FaultParams {
    /// Port that sends the affected messages, such as `gpu.sm[0].memory`; `[*]` matches every index.
    pub(crate) from: Option<String>,
    /// Port that receives the affected messages. One of `from` and `to` is enough.
    pub(crate) to: Option<String>,
    /// The fault applied to a message.
    pub(crate) fault: FaultKind,
    /// Additional latency of a delayed message.
    pub(crate) by: Option<SimTime>,
    /// Number of the affected message, counted from 1.
    #[param(min = 1)]
    pub(crate) nth: Option<u64>,
    /// Period of the fault: it applies to every n-th message.
    #[param(min = 1)]
    pub(crate) every: Option<u64>,
    /// Messages that arrive before this time are not counted.
    pub(crate) after: Option<SimTime>,
    /// Probability of the fault for a message, from 0 to 1. The draws depend on the run's seed and the link's path.
    #[param(min = 0, max = 1)]
    pub(crate) probability: Option<f64>,
    /// Occurrences of the fault, at most.
    #[param(min = 1)]
    pub(crate) count: Option<u64>,
}

impl FaultParams {
    /// Settings given besides the link, as YAML writes them.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let FaultParams { from: _, to: _, fault, by, nth, every, after, probability, count } = self;
        let all = [
            ("fault", Some(fault.as_str().to_owned())),
            ("by", by.map(|by| by.to_string())),
            ("nth", nth.map(|nth| nth.to_string())),
            ("every", every.map(|every| every.to_string())),
            ("after", after.map(|after| after.to_string())),
            ("probability", probability.map(|probability| probability.to_string())),
            ("count", count.map(|count| count.to_string())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// A contradiction between the parameters, and its remedy.
    pub(crate) fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let conditions = [self.nth.is_some(), self.every.is_some(), self.probability.is_some()];
        match self {
            _ if self.from.is_none() && self.to.is_none() => {
                Some(("a fault without a link", "say `from: port` or `to: port`"))
            }
            _ if conditions.iter().filter(|given| **given).count() > 1 => {
                Some(("more than one of `nth`, `every` and `probability`", "give one, or write two faults"))
            }
            _ if self.fault == FaultKind::Delay && self.by.is_none() => {
                Some(("a delay without `by`", "say how much later the message arrives, as in `by: 100 ns`"))
            }
            _ if self.fault != FaultKind::Delay && self.by.is_some() => {
                Some(("only a delay has `by`", "remove it, or write `fault: delay`"))
            }
            _ => None,
        }
    }
}

/// The faults of one link.
#[derive(Clone, Debug, Params)]
pub struct InjectorParams {
    /// The faults that messages meet, in this order; a message that is dropped meets no further fault.
    pub(crate) faults: Vec<FaultParams>,
    /// The part of the link's latency that lies behind its first half.
    pub(crate) rest: Latency,
}

/// The site of an injector to be built.
pub struct InjectorSite {
    /// The injector's path.
    pub path: String,
    /// The sender's clock.
    pub clock: Clock,
    /// The environment shared by all components of the run.
    pub environment: Environment,
    /// Faults of the site.
    pub params: InjectorParams,
}

impl InjectorParams {
    /// Divides a link's latency between the parts before and behind an injector. The last cycle is the way
    /// from the injector to the receiver; if there is one more, the injector uses it to round to its clock.
    pub(crate) fn split(latency: Latency, clock: Clock, bandwidth: bool) -> (Latency, Latency) {
        match latency {
            Latency::Cycles(cycles) => {
                let rest = cycles.saturating_sub(1).clamp(1, 2);
                let first = cycles.saturating_sub(rest).max(1);
                if !bandwidth {
                    return (Latency::Cycles(first), Latency::Cycles(rest));
                }
                // A message leaves a wire between two edges: its latency is a time.
                let behind = clock.cycles(first + rest).floor() - clock.cycles(first).floor();
                (Latency::Cycles(first), Latency::Time(behind))
            }
            Latency::Time(time) => {
                let cycle = clock.cycles(1).floor().as_ps().max(1);
                let cycles = (time.as_ps() / cycle).saturating_sub(1).min(2);
                let rest = SimTime::from_ps(cycles * cycle);
                (Latency::Time(time - rest), Latency::Time(rest))
            }
        }
    }
}

pub(crate) struct InjectorPorts<M> {
    input: In<M>,
    out: Out<M>,
}

impl<M: Message> Ports for InjectorPorts<M> {
    fn info() -> Vec<PortInfo> {
        vec![
            <In<M> as PortField>::info(INPUT, "Messages of the sender."),
            <Out<M> as PortField>::info(OUTPUT, "What is left of them."),
        ]
    }

    fn wire(wiring: &mut Wiring<'_>) -> Self {
        InjectorPorts { input: wiring.input(INPUT, None), out: wiring.output(OUTPUT, None) }
    }
}

/// The name of an injector's input.
pub(crate) const INPUT: &str = "input";
/// The name of an injector's output.
pub(crate) const OUTPUT: &str = "out";

/// Statistics of an injector.
#[derive(Default, Stats)]
pub(crate) struct InjectorStats {
    /// Messages that were taken from the sender.
    messages: Counter,
    /// Messages that were handed to the receiver, copies included.
    passed: Counter,
    /// Messages that disappeared.
    dropped: Counter,
    /// Messages that were held up.
    delayed: Counter,
    /// Messages that were doubled.
    duplicated: Counter,
    /// Messages that were changed.
    corrupted: Counter,
    /// 1 after credit is withheld, otherwise 0.
    withheld: Counter,
}

/// A fault and how often it has happened.
struct Armed {
    fault: FaultParams,
    seen: u64,
    happened: u64,
}

impl Armed {
    /// Whether it happens to the message that arrived at this time.
    fn happens(&mut self, arrived: SimTime, random: impl FnOnce() -> u64) -> bool {
        let FaultParams { nth, every, after, probability, count, .. } = &self.fault;
        if after.is_some_and(|after| arrived < after) || count.is_some_and(|count| self.happened >= count) {
            return false;
        }
        self.seen += 1;
        let happens = match (nth, every, probability) {
            (Some(nth), ..) => self.seen == *nth,
            (_, Some(every), _) => self.seen.is_multiple_of(*every),
            // The upper 53 bits are a number from 0 up to, and without, 1.
            (.., Some(probability)) => ((random() >> 11) as f64) < probability * (1_u64 << 53) as f64,
            _ => true,
        };
        self.happened += u64::from(happens);
        happens
    }
}

/// The effect of a link's faults on one message.
#[derive(Default)]
struct Fate {
    dropped: bool,
    withheld: bool,
    duplicated: bool,
    /// Number of bit flips.
    corrupted: u64,
    delay: SimTime,
}

/// Injects faults into the messages of one link.
pub(crate) struct Injector<M> {
    faults: Vec<Armed>,
    rest: Latency,
    message: std::marker::PhantomData<fn(M)>,
}

impl<M: Message> Injector<M> {
    fn fate(&mut self, arrived: SimTime, sim: &Context<InjectorStats>) -> Fate {
        let mut fate = Fate::default();
        for armed in &mut self.faults {
            if !armed.happens(arrived, || sim.random()) {
                continue;
            }
            match armed.fault.fault {
                FaultKind::Drop => fate.dropped = true,
                FaultKind::WithholdCredit => fate.withheld = true,
                FaultKind::Duplicate => fate.duplicated = true,
                FaultKind::Corrupt => fate.corrupted += 1,
                FaultKind::Delay => {
                    fate.delay = fate.delay.saturating_add(armed.fault.by.unwrap_or(SimTime::ZERO));
                }
            }
            if fate.dropped || fate.withheld {
                break;
            }
        }
        fate
    }

    /// The time at which a message that arrived here is due at the receiver.
    fn target(&self, arrived: SimTime, clock: Clock) -> SimTime {
        match self.rest {
            Latency::Time(time) => arrived + time,
            Latency::Cycles(cycles) => {
                // Counted from the edge before it, so that edge n is followed by edge n + k and not by a rounded period.
                let before = clock.after(Edge::default(), clock.cycles(clock.index(arrived)));
                clock.after(before, clock.cycles(cycles)).time() + (arrived - before.time())
            }
        }
    }
}

impl<M: Message> Component for Injector<M> {
    const KIND: &'static str = "fault/injector";
    const DOC: &'static str = "Does faults to the messages of one link.";
    const DAEMON: bool = true;
    type Params = InjectorParams;
    type Ports = InjectorPorts<M>;
    type Stats = InjectorStats;

    fn new(params: InjectorParams) -> Result<Self, Invalid> {
        let armed = |fault| Armed { fault, seen: 0, happened: 0 };
        let faults = params.faults.into_iter().map(armed).collect();
        Ok(Injector { faults, rest: params.rest, message: std::marker::PhantomData })
    }

    async fn run(&mut self, io: &mut InjectorPorts<M>, sim: &Context<InjectorStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        // Earliest arrival at the receiver: a delayed message delays the messages behind it.
        let mut order = SimTime::ZERO;
        loop {
            io.input.ready().await;
            // The exact time; the clock edge is its rounding.
            let arrived = io.input.due().unwrap_or_else(|| sim.now());
            let fate = self.fate(arrived, sim);
            if fate.withheld {
                sim.stats.withheld.add(1);
                sim.debug(|| "withholds its credits from now on".into());
                // The report of a hang names it.
                sim.set_busy(true);
                pending::<()>().await;
            }
            let Some(mut message) = io.input.try_recv() else { continue };
            sim.stats.messages.add(1);
            if fate.dropped {
                sim.stats.dropped.add(1);
                sim.debug(|| "drops a message".into());
                continue;
            }
            for _ in 0..fate.corrupted {
                if M::CORRUPT.is_some_and(|corrupt| corrupt(&mut message, sim.random())) {
                    sim.stats.corrupted.add(1);
                    sim.debug(|| "corrupts a message".into());
                }
            }
            if fate.delay > SimTime::ZERO {
                sim.stats.delayed.add(1);
                sim.debug(|| format!("delays a message by {}", fate.delay));
                order = order.max(self.target(arrived, sim.clock()).saturating_add(fate.delay));
            }
            let twin = M::DUPLICATE.filter(|_| fate.duplicated).map(|duplicate| duplicate(&message));
            if twin.is_some() {
                sim.stats.duplicated.add(1);
                sim.debug(|| "duplicates a message".into());
            }
            let target = self.target(arrived, sim.clock()).max(order);
            for message in std::iter::once(message).chain(twin) {
                let permit = io.out.reserve().await;
                permit.send_after(target.saturating_sub(sim.cycles_from_now(1)), message);
                sim.stats.passed.add(1);
            }
        }
    }
}

/// The injector of a link whose messages are of type `M`.
pub(crate) fn injector<M: Message>(site: InjectorSite) -> ProcessSpec {
    let InjectorSite { path, clock, environment, params } = site;
    process::<Injector<M>>(path, clock, environment, move || match Injector::new(params) {
        Ok(injector) => injector,
        Err(invalid) => panic!("an injector takes what was checked: {}", invalid.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Hertz;

    #[test]
    fn both_parts_of_a_latency_make_the_whole() {
        let clock = Clock::new(Hertz::new(1_000_000_000));
        let split = |text: &str| {
            let (first, rest) = InjectorParams::split(text.parse().unwrap(), clock, false);
            format!("{first} + {rest}")
        };
        assert_eq!(split("1 cycle"), "1 cycle + 1 cycle");
        assert_eq!(split("2 cycles"), "1 cycle + 1 cycle");
        assert_eq!(split("3 cycles"), "1 cycle + 2 cycles");
        assert_eq!(split("8 cycles"), "6 cycles + 2 cycles");
        assert_eq!(split("10500 ps"), "8.5 ns + 2 ns");
        assert_eq!(split("2 ns"), "1 ns + 1 ns");
        assert_eq!(split("1500 ps"), "1.5 ns + 0 ps");
    }

    #[test]
    fn the_second_part_after_a_wire_is_a_time() {
        let clock = Clock::new(Hertz::new(700_000_000));
        let (first, rest) = InjectorParams::split(Latency::Cycles(8), clock, true);
        assert_eq!(first, Latency::Cycles(6));
        // 8 cycles are 11428.57 ps, 6 are 8571.43 ps.
        assert_eq!(rest, Latency::Time(SimTime::from_ps(11_428 - 8_571)));
    }
}
