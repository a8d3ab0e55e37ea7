//! The reported throughput of a link is the measured one.

use std::sync::{Arc, Mutex};

use counterpoint_framework::kernel::{LinkOptions, RunOptions, Throughput};
use counterpoint_framework::testing::pair;
use counterpoint_framework::time::{BytesPerSecond, Hertz, Latency};

/// The reported throughput of a link from a sender to a receiver of these frequencies, and the cycle in which
/// a sender that sends whenever it may sends its last of a thousand messages.
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
