//! Three components that know nothing of hardware: the first users of the framework, and of its tests.

use crate::kernel::{Fault, In, Out};
use crate::model::{Component, Context, Counter, Invalid, Params, Ports, Registry, Stats};
use crate::time::Cycles;

/// Registers `toy/producer`, `toy/relay` and `toy/consumer`.
pub fn register(registry: &mut Registry) {
    registry.component::<Producer>().component::<Relay>().component::<Consumer>();
}

/// Amount to produce.
#[derive(Clone, Debug, Params)]
pub struct ProducerParams {
    /// Numbers to send.
    #[param(default = "10")]
    number: u64,
}

/// The ports of a producer.
#[derive(Ports)]
pub struct ProducerPorts {
    /// The numbers 0, 1, 2 and so on.
    out: Out<u64>,
}

/// Statistics of a producer.
#[derive(Default, Stats)]
pub struct ProducerStats {
    /// Numbers sent.
    sent: Counter,
}

/// Sends a number every cycle while it has credit.
pub struct Producer(ProducerParams);

impl Component for Producer {
    const KIND: &'static str = "toy/producer";
    const DOC: &'static str = "Sends a number every cycle, as long as there is credit.";
    type Params = ProducerParams;
    type Ports = ProducerPorts;
    type Stats = ProducerStats;

    fn new(params: ProducerParams) -> Result<Self, Invalid> {
        Ok(Producer(params))
    }

    async fn run(&mut self, io: &mut ProducerPorts, sim: &Context<ProducerStats>) -> Result<(), Fault> {
        for number in 0..self.0.number {
            io.out.send(number).await;
            sim.stats.sent.add(1);
            sim.tick().await;
        }
        Ok(())
    }
}

/// Time that a relay takes.
#[derive(Clone, Debug, Params)]
pub struct RelayParams {
    /// Cycles that each number occupies the relay.
    #[param(default = "1 cycle", min = "1 cycle")]
    work: Cycles,
}

/// The ports of a relay.
#[derive(Ports)]
pub struct RelayPorts {
    /// Numbers in.
    input: In<u64>,
    /// The same numbers out.
    out: Out<u64>,
}

/// Passes numbers on, one after another.
pub struct Relay(RelayParams);

impl Component for Relay {
    const KIND: &'static str = "toy/relay";
    const DOC: &'static str = "Passes numbers on, one after another.";
    const DAEMON: bool = true;
    type Params = RelayParams;
    type Ports = RelayPorts;
    type Stats = ();

    fn new(params: RelayParams) -> Result<Self, Invalid> {
        Ok(Relay(params))
    }

    async fn run(&mut self, io: &mut RelayPorts, sim: &Context<()>) -> Result<(), Fault> {
        loop {
            let number = io.input.recv().await;
            sim.cycles(self.0.work.get()).await;
            io.out.send(number).await;
        }
    }
}

/// Amount to consume.
#[derive(Clone, Debug, Params)]
pub struct ConsumerParams {
    /// Numbers to take.
    #[param(default = "10")]
    number: u64,
    /// Take numbers that come in order only, and fail otherwise.
    #[param(default = "on")]
    check: bool,
}

/// The ports of a consumer.
#[derive(Ports)]
pub struct ConsumerPorts {
    /// The numbers.
    input: In<u64>,
}

/// Statistics of a consumer.
#[derive(Default, Stats)]
pub struct ConsumerStats {
    /// Numbers taken.
    taken: Counter,
    /// Their sum.
    sum: Counter,
}

/// Takes numbers until it has enough.
pub struct Consumer(ConsumerParams);

impl Component for Consumer {
    const KIND: &'static str = "toy/consumer";
    const DOC: &'static str = "Takes numbers until it has enough.";
    type Params = ConsumerParams;
    type Ports = ConsumerPorts;
    type Stats = ConsumerStats;

    fn new(params: ConsumerParams) -> Result<Self, Invalid> {
        Ok(Consumer(params))
    }

    async fn run(&mut self, io: &mut ConsumerPorts, sim: &Context<ConsumerStats>) -> Result<(), Fault> {
        for expected in 0..self.0.number {
            let number = io.input.recv().await;
            if self.0.check && number != expected {
                return Err(Fault::new(format!("expected {expected}, found {number}")));
            }
            sim.stats.taken.add(1);
            sim.stats.sum.add(number);
        }
        Ok(())
    }
}
