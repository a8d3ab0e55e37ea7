//! Makes SMs available one after another.
use counterpoint::component::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint::kernel::{Fault, Message, Out};
use counterpoint::time::Cycles;

/// Message of the governor: the number of SMs that may have blocks.
#[derive(Clone, Debug, Hash)]
pub struct Limit(pub u32);

impl Message for Limit {}

/// How fast SMs become available.
#[derive(Clone, Debug, Params)]
pub struct GovernorParams {
    /// From one SM to the next, as long as there are more.
    #[param(default = "100 cycles", min = "1 cycle")]
    interval: Cycles,
    /// SMs in the end.
    #[param(default = "16", min = "1")]
    most: u32,
}

/// The ports of a governor.
#[derive(Ports)]
pub struct GovernorPorts {
    /// The CTA scheduler.
    limits: Out<Limit>,
}

/// Statistics of a governor.
#[derive(Default, Stats)]
pub struct GovernorStats {
    /// SMs that it has made available.
    available: Counter,
}

pub struct Governor(GovernorParams);

impl Component for Governor {
    const KIND: &'static str = "example/governor";
    const DOC: &'static str = "Makes SMs available one after another.";
    const DAEMON: bool = true;
    type Params = GovernorParams;
    type Ports = GovernorPorts;
    type Stats = GovernorStats;

    fn new(params: GovernorParams) -> Result<Self, Invalid> {
        Ok(Governor(params))
    }

    async fn run(&mut self, io: &mut GovernorPorts, sim: &Context<GovernorStats>) -> Result<(), Fault> {
        for sms in 1..=self.0.most {
            io.limits.send(Limit(sms)).await;
            sim.stats.available.add(1);
            sim.cycles(self.0.interval.get()).await;
        }
        Ok(())
    }
}
