//! A PCI Express retimer: passes every message on, each direction for itself, a little later.

use counterpoint::component::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint::kernel::{Fault, In, Out};
use counterpoint::messages::bus::{BusMessage, BusSocket};
use counterpoint::time::SimTime;

/// Parameters of a retimer.
#[derive(Clone, Debug, Params)]
pub struct RetimerParams {
    /// From a message's arrival to its leaving.
    #[param(default = "50 ns", max = "1 us")]
    delay: SimTime,
}

/// How it is connected.
#[derive(Ports)]
pub struct RetimerPorts {
    /// Towards the host.
    host: BusSocket,
    /// Towards the device.
    device: BusSocket,
}

/// Statistics of a retimer.
#[derive(Default, Stats)]
pub struct RetimerStats {
    /// Messages passed on, both ways.
    messages: Counter,
}

/// A PCI Express retimer.
pub struct Retimer(RetimerParams);

impl Component for Retimer {
    const KIND: &'static str = "io/retimer";
    const DOC: &'static str = "A PCI Express retimer: passes messages on, each way, a little later.";
    const DAEMON: bool = true;
    type Params = RetimerParams;
    type Ports = RetimerPorts;
    type Stats = RetimerStats;

    fn new(params: RetimerParams) -> Result<Self, Invalid> {
        Ok(Retimer(params))
    }

    async fn run(&mut self, io: &mut RetimerPorts, sim: &Context<RetimerStats>) -> Result<(), Fault> {
        let carry = async |from: &mut In<BusMessage>, to: &mut Out<BusMessage>| loop {
            let message = from.recv().await;
            to.send_after(self.0.delay, message).await;
            sim.stats.messages.add(1);
        };
        let down = carry(&mut io.host.rx, &mut io.device.tx);
        let up = carry(&mut io.device.rx, &mut io.host.tx);
        // Neither direction ever ends.
        sim.concurrently(futures::future::join(down, up)).await.0
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::component::Environment;
    use counterpoint::messages::bus::CommandId;
    use counterpoint::testing::Bench;
    use counterpoint::time::Hertz;

    use super::*;

    #[test]
    fn a_message_leaves_its_delay_later_and_the_directions_do_not_wait_for_each_other() {
        let clock = Hertz::new(1_000_000_000);
        let mut bench = Bench::reading::<Retimer>(clock, Environment::default(), |_| {}, "{ delay: 20 ns }");
        let done = |id| BusMessage::Done(CommandId(id));
        // Inputs at one end, by the cycle in which they can be received, and the number of outputs due there.
        let host = bench.client::<BusMessage, BusMessage>("host", None, vec![(5, done(1)), (6, done(2))], 1);
        let device = bench.client::<BusMessage, BusMessage>("device", None, vec![(6, done(3))], 2);
        let report = bench.run();
        assert_eq!(device.cycles(), [25, 26]);
        assert_eq!(host.cycles(), [26]);
        assert_eq!(report.count("messages"), 3);
    }
}
