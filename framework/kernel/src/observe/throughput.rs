//! Maximum throughput of a link: its credits over their round trip, and its bandwidth.

use crate::channel::ends::LinkSpec;
use crate::machine::ProcessNetwork;
use crate::time::{Edge, Latency, SimTime};

/// Maximum throughput of a link, in cycles of its sender, when the receiver takes every message as soon as it
/// sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Messages that the link holds at most: the receiver's buffer, plus messages and credits on their way.
    pub credits: u32,
    /// Cycles from the sending of a message to the return of its credit. Each direction ends at a clock edge of its
    /// receiver; where the clocks differ, this is the longest round trip.
    pub round_trip: u64,
    /// Bytes that pass in a cycle, if the link has a bandwidth: a longer message takes more than a cycle.
    pub bytes: Option<f64>,
}

impl Throughput {
    /// Messages that credits let pass in a cycle: one, unless a round trip takes more cycles than there are credits.
    pub fn messages(&self) -> f64 {
        (f64::from(self.credits) / self.round_trip.max(1) as f64).min(1.0)
    }

    /// Whether a sender that sends a message a cycle never waits for a credit.
    pub fn is_full(&self) -> bool {
        u64::from(self.credits) >= self.round_trip
    }
}

impl ProcessNetwork {
    /// Maximum throughput of a link of the machine.
    pub fn throughput(&self, link: &LinkSpec) -> Throughput {
        let sender = self.processes[link.from.process].clock;
        let receiver = self.processes[link.to.process].clock;
        let edges = |time: u64| sender.at_or_after(Edge::default(), SimTime::from_ps(time)).index();
        let round_trip = match link.options.latency {
            Latency::Cycles(cycles) if sender == receiver => 2 * cycles,
            Latency::Time(time) if sender == receiver => 2 * edges(time.as_ps()),
            // At worst the message just misses an edge of the receiver and waits for the next.
            _ => {
                let wait = receiver.cycles(1).floor().as_ps();
                edges(self.latency(link).saturating_mul(2).saturating_add(wait))
            }
        };
        let hertz = sender.index(SimTime::from_ns(1_000_000_000)).max(1);
        let bytes = link.options.bandwidth.map(|bandwidth| bandwidth.get() as f64 / hertz as f64);
        Throughput { credits: self.credits(link), round_trip, bytes }
    }
}
