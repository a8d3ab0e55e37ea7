//! What a link carries at most: its credits over their round trip, and its bandwidth.

use super::machine::{LinkSpec, Machine};
use crate::time::{Edge, Latency, SimTime};

/// What a link carries at most, in cycles of its sender, when the receiver takes every message as soon as it sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Messages that the link holds at most: the receiver's buffer, and what is on its way there and back.
    pub credits: u32,
    /// Cycles from the sending of a message to the return of its credit. Each way ends at an edge of the clock that it leads
    /// to; where the clocks differ, this is the longest that it may take.
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

impl Machine {
    /// What a link of the machine carries at most.
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::kernel::{LinkOptions, RunOptions};
    use crate::testing::pair;
    use crate::time::{BytesPerSecond, Hertz};

    /// What is said of a link from a sender to a receiver of these frequencies, and the cycle in which a sender that sends
    /// whenever it may sends its last of a thousand messages.
    fn both(mhz: [u64; 2], latency: &str, capacity: u32) -> (Throughput, u64) {
        let last = Arc::new(Mutex::new(0));
        let told = Arc::clone(&last);
        let machine = pair(
            mhz.map(|mhz| Hertz::new(mhz * 1_000_000)),
            LinkOptions { latency: latency.parse().unwrap(), capacity, bandwidth: None },
            move |mut out, process| async move {
                for number in 0..1000_u64 {
                    out.send(number).await;
                    *told.lock().unwrap() = process.cycle();
                    process.tick().await;
                }
                Ok(())
            },
            |mut input, process| async move {
                let mut next = 0;
                while next < 1000 {
                    match input.try_recv() {
                        Some(number) => {
                            assert_eq!(number, next);
                            next += 1;
                        }
                        None => process.tick().await,
                    }
                }
                Ok(())
            },
        );
        let said = machine.throughput(&machine.links[0]);
        machine.run(&RunOptions::default());
        let last = *last.lock().unwrap();
        (said, last)
    }

    #[test]
    fn links_of_one_clock_carry_a_message_a_cycle() {
        for (latency, capacity, round_trip) in
            [("1 cycle", 1, 2), ("8 cycles", 1, 16), ("1500 ps", 1, 4), ("10 ns", 4, 20), ("9999 ps", 1, 20)]
        {
            let (said, last) = both([1000; 2], latency, capacity);
            assert_eq!(said.round_trip, round_trip, "{latency}");
            assert!(said.is_full() && said.messages() == 1.0, "{latency}: {said:?}");
            assert_eq!(last, 999, "{latency}");
        }
    }

    #[test]
    fn a_slow_receiver_needs_more_credits_than_the_way() {
        let (said, last) = both([1000, 100], "2 cycles", 4);
        assert_eq!(said, Throughput { credits: 8, round_trip: 14, bytes: None });
        assert!(!said.is_full());
        // The thousandth message leaves no later than at this rate, and later than at one a cycle.
        assert!(last > 1100 && (last as f64) < 1000.0 / said.messages(), "{last}");
        let (said, last) = both([1000, 100], "2 cycles", 10);
        assert_eq!((said.credits, said.is_full(), last), (14, true, 999));
    }

    #[test]
    fn what_is_said_to_be_full_never_waits_whatever_the_clocks() {
        let (mut full, mut short) = (0, 0);
        for mhz in [[700, 924], [924, 700], [3000, 1000], [1000, 3000], [1600, 700], [700, 33]] {
            for latency in ["1 cycle", "3 cycles", "10 ns", "1501 ps"] {
                for capacity in [1, 2, 4, 30] {
                    let (said, last) = both(mhz, latency, capacity);
                    let what = format!("{mhz:?}, {latency}, {capacity}: {said:?}, {last}");
                    if said.is_full() {
                        full += 1;
                        assert_eq!(last, 999, "{what}");
                    } else {
                        short += 1;
                        assert!(last as f64 <= 1000.0 / said.messages(), "{what}");
                    }
                }
            }
        }
        assert!(full > 30 && short > 10, "{full} and {short}");
    }

    #[test]
    fn a_bandwidth_is_told_in_bytes_a_cycle() {
        let options = LinkOptions {
            latency: Latency::Cycles(1),
            capacity: 4,
            bandwidth: Some(BytesPerSecond::new(15_750_000_000)),
        };
        let clocks = [Hertz::new(700_000_000); 2];
        let machine = pair::<u64, _, _>(clocks, options, |_, _| async { Ok(()) }, |_, _| async { Ok(()) });
        assert_eq!(machine.throughput(&machine.links[0]).bytes, Some(22.5));
    }
}
