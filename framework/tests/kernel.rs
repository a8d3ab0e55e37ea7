//! The kernel without components: exact times, back-pressure, ends, and the same result however the machine is cut.

use std::sync::{Arc, Mutex};

use counterpoint_framework::kernel::*;
use counterpoint_framework::time::{BytesPerSecond, Clock, Hertz, Latency, SimTime};

fn mhz(mhz: u64) -> Clock {
    Clock::new(Hertz::new(mhz * 1_000_000))
}

fn end(process: usize, port: &str) -> Endpoint {
    Endpoint { process, port: port.into(), index: None }
}

fn link(from: (usize, &str), to: (usize, &str), sender: u32, cycles: u64, capacity: u32) -> LinkSpec {
    let options = LinkOptions { latency: Latency::Cycles(cycles), capacity, bandwidth: None };
    LinkSpec { from: end(from.0, from.1), to: end(to.0, to.1), sender, options }
}

type Log = Arc<Mutex<Vec<(u64, u64)>>>;

/// Sends `count` numbers as fast as it can and notes when each has left.
fn source(path: &str, clock: Clock, count: u64, log: &Log) -> ProcessSpec {
    let log = Arc::clone(log);
    ProcessSpec::new(path, clock, false, move |wiring| {
        let mut out = wiring.output::<u64>("out", None);
        let process = wiring.process();
        async move {
            for number in 0..count {
                out.send(number).await;
                log.lock().expect("no panic").push((process.now().as_ps(), number));
                process.tick().await;
            }
            Ok(())
        }
    })
}

/// Takes `count` numbers, one every `cycles` cycles, and notes when.
fn sink(path: &str, clock: Clock, count: u64, cycles: u64, log: &Log) -> ProcessSpec {
    let log = Arc::clone(log);
    ProcessSpec::new(path, clock, false, move |wiring| {
        let mut input = wiring.input::<u64>("in", None);
        let process = wiring.process();
        async move {
            for _ in 0..count {
                let number = input.recv().await;
                log.lock().expect("no panic").push((process.now().as_ps(), number));
                process.cycles(cycles).await;
            }
            Ok(())
        }
    })
}

#[test]
fn an_attempt_without_a_credit_makes_none() {
    let (sent, taken) = (Log::default(), Log::default());
    let log = Arc::clone(&sent);
    let mut machine = ProcessNetwork::default();
    machine.processes.push(ProcessSpec::new("eager", mhz(1000), false, move |wiring| {
        let mut out = wiring.output::<u64>("out", None);
        let process = wiring.process();
        async move {
            for number in 0..60 {
                if out.try_send(number).is_ok() {
                    log.lock().unwrap().push((process.now().as_ps(), number));
                }
                if number % 3 == 2 {
                    process.tick().await;
                }
            }
            Ok(())
        }
    }));
    machine.processes.push(sink("slow", mhz(1000), 5, 10, &taken));
    machine.links.push(link((0, "out"), (1, "in"), 0, 1, 1));
    assert!(matches!(machine.run(&RunOptions::default()).outcome, Outcome::Finished(_)));
    // A buffer of one and two on the way; then one for each that was taken, at 1 ns and every 10 ns, a cycle later.
    let numbers: Vec<(u64, u64)> =
        [(0, 0), (0, 1), (0, 2), (2, 6), (12, 36)].map(|(ns, n)| (ns * 1000, n)).into();
    assert_eq!(*sent.lock().unwrap(), numbers);
}

#[test]
fn a_message_arrives_its_latency_later_and_a_credit_comes_back_as_late() {
    let (sent, taken) = (Log::default(), Log::default());
    let mut machine = ProcessNetwork::default();
    machine.processes.push(source("a", mhz(1000), 12, &sent));
    machine.processes.push(sink("b", mhz(1000), 12, 10, &taken));
    // Credits: 2 for the buffer and 2 × 3 cycles of round trip.
    machine.links.push(link((0, "out"), (1, "in"), 0, 3, 2));
    let finished = machine.run(&RunOptions::default());
    let taken: Vec<u64> = taken.lock().unwrap().iter().map(|(time, _)| *time).collect();
    assert_eq!(taken[..3], [3_000, 13_000, 23_000]);
    let sent: Vec<u64> = sent.lock().unwrap().iter().map(|(time, _)| *time).collect();
    // Eight leave at once, one per cycle; the ninth waits for the credit of the message taken at 3 ns, there at 6 ns,
    // and so leaves at 8 ns; the tenth for the one taken at 13 ns.
    assert_eq!(sent, [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 16_000, 26_000, 36_000]);
    assert_eq!(finished.outcome, Outcome::Finished(SimTime::from_ps(123_000)));
}

#[test]
fn a_bandwidth_serialises_by_size() {
    let (sent, taken) = (Log::default(), Log::default());
    let mut machine = ProcessNetwork::default();
    machine.processes.push(source("a", mhz(1000), 4, &sent));
    machine.processes.push(sink("b", mhz(1000), 4, 1, &taken));
    let mut wire = link((0, "out"), (1, "in"), 0, 1, 8);
    // Eight bytes take 3.2 ns.
    wire.options.bandwidth = Some(BytesPerSecond::new(2_500_000_000));
    machine.links.push(wire);
    machine.run(&RunOptions::default());
    let times: Vec<u64> = taken.lock().unwrap().iter().map(|(time, _)| *time).collect();
    // Arrivals at 4.2, 7.4, 10.6 and 13.8 ns, seen at the receiver's next edge.
    assert_eq!(times, [5_000, 8_000, 11_000, 14_000]);
}

#[test]
fn simultaneous_arrivals_are_taken_in_the_order_of_the_senders() {
    let (sent, taken) = (Log::default(), Log::default());
    let mut machine = ProcessNetwork::default();
    for name in ["a", "b", "c"] {
        machine.processes.push(source(name, mhz(500), 2, &sent));
    }
    machine.processes.push(sink("d", mhz(500), 6, 1, &taken));
    // The third link is the first sender.
    for (process, sender) in [(0, 1), (1, 2), (2, 0)] {
        machine.links.push(link((process, "out"), (3, "in"), sender, 2, 4));
    }
    machine.run(&RunOptions::default());
    let order: Vec<(u64, u64)> = taken.lock().unwrap().clone();
    let expected = [(4_000, 0), (6_000, 0), (8_000, 0), (10_000, 1), (12_000, 1), (14_000, 1)];
    assert_eq!(order, expected);
}

/// Rings of relays on three clocks, all feeding one collector: islands of every size.
fn web(nodes: usize) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    for node in 0..nodes {
        let clock = mhz([700, 924, 1600][node % 3]);
        machine.processes.push(ProcessSpec::new(format!("n[{node:03}]"), clock, true, move |wiring| {
            let mut ring = wiring.input::<u64>("in", None);
            let mut next = wiring.output::<u64>("out", None);
            let mut report = wiring.output::<u64>("report", None);
            let process = wiring.process();
            async move {
                if node % 4 == 0 {
                    next.send(node as u64).await;
                }
                loop {
                    let token =
                        ring.recv().await.wrapping_mul(0x9e37_79b9).wrapping_add(process.now().as_ps());
                    if token % 3 == 0 {
                        process.cycles(token % 7).await;
                    }
                    next.send_after(SimTime::from_ps(token % 5_000), token).await;
                    let _ = report.try_send(token);
                }
            }
        }));
        machine.links.push(link((node, "out"), ((node + 1) % nodes, "in"), 0, 1 + (node as u64 % 5) * 4, 2));
        machine.links.push(link((node, "report"), (nodes, "in"), node as u32, 9, 1));
    }
    machine.processes.push(ProcessSpec::new("z", mhz(700), false, |wiring| {
        let mut input = wiring.input::<u64>("in", None);
        let process = wiring.process();
        async move {
            for _ in 0..5_000 {
                input.recv().await;
                process.tick().await;
            }
            Ok(())
        }
    }));
    machine
}

#[test]
fn the_result_does_not_depend_on_threads_or_islands() {
    let run = |nodes, threads, sharing, islands| {
        web(nodes).run(&RunOptions { threads, sharing, islands, hash: true, ..RunOptions::default() })
    };
    for nodes in [6, 40] {
        let one = run(nodes, 1, Sharing::Always, Islands::One);
        assert!(one.islands == 1 && matches!(one.outcome, Outcome::Finished(_)), "{}", one.outcome);
        for threads in [1, 2, 3] {
            for sharing in [Sharing::WhereFaster, Sharing::Always, Sharing::InTurns] {
                for islands in [Islands::Auto, Islands::AtLatency(SimTime::ZERO)] {
                    let other = run(nodes, threads, sharing, islands);
                    assert!(other.islands > 1 || islands == Islands::Auto);
                    assert!(
                        other.workers.threads == threads.min(other.islands)
                            || sharing == Sharing::WhereFaster
                    );
                    let which = format!("{threads} threads, {sharing:?}");
                    assert_eq!((other.outcome, other.hash), (one.outcome.clone(), one.hash), "{which}");
                }
            }
        }
    }
}

#[test]
fn nothing_at_or_after_the_stop_counts() {
    let stop_at = Some(SimTime::from_ns(777));
    let run = |threads| {
        web(40).run(&RunOptions {
            threads,
            sharing: Sharing::InTurns,
            hash: true,
            stop_at,
            ..RunOptions::default()
        })
    };
    let (one, two) = (run(1), run(2));
    assert_eq!(one.outcome, Outcome::Stopped(SimTime::from_ns(777)));
    assert_eq!((one.outcome, one.hash), (two.outcome, two.hash));
}

#[test]
fn a_deadlock_names_the_cycle() {
    for threads in [1, 2] {
        let mut machine = ProcessNetwork::default();
        machine.processes.push(ProcessSpec::new("asker", mhz(1000), false, |wiring| {
            let mut out = wiring.output::<u64>("requests", None);
            let _replies = wiring.input::<u64>("replies", None);
            async move {
                for number in 0.. {
                    out.send(number).await;
                }
                Ok(())
            }
        }));
        machine.processes.push(ProcessSpec::new("server", mhz(1000), true, |wiring| {
            let _requests = wiring.input::<u64>("requests", None);
            let mut replies = wiring.output::<u64>("replies", None);
            async move {
                loop {
                    // Never takes a request: every credit stays with it.
                    replies.send(1).await;
                }
            }
        }));
        machine.links.push(link((0, "requests"), (1, "requests"), 0, 2, 3));
        machine.links.push(link((1, "replies"), (0, "replies"), 0, 2, 1));
        let finished =
            machine.run(&RunOptions { threads, sharing: Sharing::Always, ..RunOptions::default() });
        let Outcome::Deadlock(hang) = &finished.outcome else { panic!("{}", finished.outcome) };
        let cycle: Vec<(&str, &str)> = hang.cycle.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(cycle, [("asker", "requests"), ("server", "replies")]);
        let text = finished.outcome.to_string();
        assert!(text.contains("wait-for cycle: asker.requests -> server.replies -> asker"), "{text}");
        assert!(text.contains("7 of 7 messages"), "{text}");
    }
}

#[test]
fn a_server_that_cannot_send_is_named_and_an_idle_one_is_not() {
    let mut machine = ProcessNetwork::default();
    machine.processes.push(ProcessSpec::new("asker", mhz(1000), false, |wiring| {
        let mut requests = wiring.output::<u64>("requests", None);
        let mut replies = wiring.input::<u64>("replies", None);
        async move {
            for number in 0..6 {
                requests.send(number).await;
            }
            replies.recv().await;
            Ok(())
        }
    }));
    machine.processes.push(ProcessSpec::new("relay", mhz(1000), true, |wiring| {
        let mut requests = wiring.input::<u64>("requests", None);
        let mut out = wiring.output::<u64>("out", None);
        async move {
            loop {
                out.send(requests.recv().await).await;
            }
        }
    }));
    machine.processes.push(ProcessSpec::new("idle", mhz(1000), true, |wiring| {
        let mut requests = wiring.input::<u64>("requests", None);
        let mut replies = wiring.output::<u64>("replies", None);
        async move {
            loop {
                replies.send(requests.recv().await).await;
            }
        }
    }));
    machine.processes.push(ProcessSpec::new("closed", mhz(1000), true, |wiring| {
        let _input = wiring.input::<u64>("in", None);
        std::future::pending()
    }));
    // The relay's messages go where nobody takes them, so the one who answers has nothing to do.
    machine.links.push(link((0, "requests"), (1, "requests"), 0, 1, 8));
    machine.links.push(link((1, "out"), (3, "in"), 0, 1, 1));
    machine.links.push(link((2, "replies"), (0, "replies"), 0, 1, 1));
    let outcome = machine.run(&RunOptions::default()).outcome;
    assert_eq!(
        outcome.to_string(),
        "deadlock at 1 ns: nothing can happen any more, and 1 process has not returned\n  \
         asker.replies waits for a message from idle\n  \
         relay.out waits for a credit from closed (3 of 3 messages in flight or queued, the oldest arrived at 2 ns, 0 ps \
         ago)\n"
    );
}

#[test]
fn the_earliest_failure_wins_and_a_panic_is_one() {
    for threads in [1, 2] {
        let mut machine = web(12);
        for (path, cycles) in [("late", 900), ("early", 500)] {
            machine.processes.push(ProcessSpec::new(path, mhz(700), true, move |wiring| {
                let process = wiring.process();
                async move {
                    process.cycles(cycles).await;
                    assert!(cycles > 500, "the early one");
                    Err("the late one".into())
                }
            }));
        }
        let finished =
            machine.run(&RunOptions { threads, sharing: Sharing::Always, ..RunOptions::default() });
        let Outcome::Failed { path, fault, .. } = finished.outcome else { panic!("{}", finished.outcome) };
        assert_eq!((path.as_str(), fault.message.as_str(), fault.panicked), ("early", "the early one", true));
    }
}

#[test]
fn running_in_circles_is_reported() {
    let mut machine = ProcessNetwork::default();
    machine.processes.push(ProcessSpec::new("spinner", mhz(100), false, |wiring| {
        let process = wiring.process();
        async move {
            loop {
                process.tick().await;
            }
        }
    }));
    let options = RunOptions { livelock_after: SimTime::from_ns(100_000), ..RunOptions::default() };
    assert!(matches!(machine.run(&options).outcome, Outcome::Livelock(_)));
}

#[test]
fn branches_of_a_combinator_do_not_overtake_each_other() {
    let log = Log::default();
    let mut machine = ProcessNetwork::default();
    machine.processes.push(source("a", mhz(1000), 1, &Log::default()));
    let seen = Arc::clone(&log);
    machine.processes.push(ProcessSpec::new("b", mhz(1000), false, move |wiring| {
        let mut input = wiring.input::<u64>("in", None);
        let process = wiring.process();
        async move {
            process.tick().await;
            let timer = async {
                process.tick().await;
                seen.lock().unwrap().push((process.now().as_ps(), 1));
            };
            let receiver = async {
                input.recv().await;
                seen.lock().unwrap().push((process.now().as_ps(), 2));
            };
            process.concurrently(futures::future::join(receiver, timer)).await;
            Ok(())
        }
    }));
    machine.links.push(link((0, "out"), (1, "in"), 0, 20, 1));
    machine.run(&RunOptions::default());
    assert_eq!(*log.lock().unwrap(), [(2_000, 1), (20_000, 2)]);
}

/// Takes from two inputs as `take` says, and notes which one each message came from.
fn merge<F, T>(clocks: [Clock; 2], take: F) -> Vec<(u64, u64)>
where
    F: Fn(In<u64>, In<u64>, std::rc::Rc<Process>, Log) -> T + Send + 'static,
    T: Future<Output = Result<(), Fault>> + 'static,
{
    let log = Log::default();
    let mut machine = ProcessNetwork::default();
    machine.processes.push(source("a", clocks[0], 3, &Log::default()));
    machine.processes.push(source("b", clocks[1], 3, &Log::default()));
    let seen = Arc::clone(&log);
    machine.processes.push(ProcessSpec::new("merge", mhz(1000), false, move |wiring| {
        let (left, right) = (wiring.input("left", None), wiring.input("right", None));
        take(left, right, wiring.process(), seen)
    }));
    machine.links.push(link((0, "out"), (2, "left"), 0, 1, 4));
    machine.links.push(link((1, "out"), (2, "right"), 0, 1, 4));
    assert!(matches!(machine.run(&RunOptions::default()).outcome, Outcome::Finished(_)));
    log.lock().expect("no panic").clone()
}

#[test]
fn the_left_input_wins_a_tie() {
    let order = merge([mhz(1000); 2], |mut left, mut right, process, log| async move {
        for _ in 0..6 {
            let side = match first(&mut left, &mut right).await {
                Either::Left(_) => 0,
                Either::Right(_) => 1,
            };
            log.lock().expect("no panic").push((process.now().as_ps(), side));
            process.tick().await;
        }
        Ok(())
    });
    // Both have a message at 1, 2 and 3 ns; one is taken a cycle.
    assert_eq!(order, [(1_000, 0), (2_000, 0), (3_000, 0), (4_000, 1), (5_000, 1), (6_000, 1)]);
}

#[test]
fn several_inputs_are_served_oldest_first_or_in_turn() {
    let served = |fairness: fn(usize) -> Fairness| {
        merge([mhz(1000), mhz(500)], move |left, right, process, log| async move {
            let mut inputs = [left, right];
            let mut last = 1;
            for _ in 0..6 {
                let (index, _) = any(&mut inputs, fairness(last)).await;
                last = index;
                log.lock().expect("no panic").push((process.now().as_ps(), index as u64));
                process.cycles(3).await;
            }
            Ok(())
        })
    };
    let sides = |log: Vec<(u64, u64)>| log.into_iter().map(|(_, side)| side).collect::<Vec<_>>();
    // Left arrives at 1, 2, 3 ns, right at 2, 4, 6 ns.
    assert_eq!(sides(served(|_| Fairness::Oldest)), [0, 0, 1, 0, 1, 1]);
    assert_eq!(sides(served(Fairness::After)), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_watch_knows_which_inputs_have_something_and_wakes_for_those_alone() {
    let rounds = merge([mhz(1000), mhz(500)], |left, right, process, log| async move {
        let mut inputs = [left, right];
        let watch = Watch::new(&inputs);
        let mut among = Inputs::<[u64; 1]>::none(2);
        among.insert(1);
        watch.set(&among);
        let mut taken = 0;
        while taken < 6 {
            let mut arrived = 0;
            for index in watch.arrived(&process) {
                inputs[index].try_recv().expect("it has arrived");
                arrived |= 1 << index;
                taken += 1;
            }
            log.lock().expect("no panic").push((process.now().as_ps(), arrived));
            if taken == 2 {
                watch.set(&Inputs::<[u64; 1]>::all(2));
            }
            if taken < 6 {
                process.wait(SimTime::MAX, [watch.when(true)]).await;
            }
        }
        Ok(())
    });
    // Left arrives at 1, 2, 3 ns, right at 2, 4, 6 ns; the first two are to be the right one's.
    assert_eq!(rounds, [(0, 0), (2_000, 0b10), (4_000, 0b10), (5_000, 0b01), (6_000, 0b11), (7_000, 0b01)]);
}

#[test]
fn a_warm_up_weighs_what_ran_while_it_ran_and_believes_the_rest() {
    let clock = Clock::new(Hertz::new(1_000_000_000));
    let mut machine = ProcessNetwork::default();
    // Computes a microsecond in each of its first thousand cycles, then rests.
    machine.processes.push(ProcessSpec::new("early", clock, false, |wiring| {
        let process = wiring.process();
        async move {
            for _ in 0..1_000 {
                process.tick().await;
                let begun = std::time::Instant::now();
                while begun.elapsed() < std::time::Duration::from_micros(1) {}
            }
            process.cycles(1_000_000).await;
            Ok(())
        }
    }));
    let rests = ProcessSpec::new("rests", clock, false, |wiring| {
        let process = wiring.process();
        async move {
            process.cycles(1_000_000).await;
            Ok(())
        }
    });
    machine.processes.push(ProcessSpec { weight: 70, ..rests });
    let weights = machine.warm_up(SimTime::from_ns(20_000), std::sync::Arc::default());
    // Of a thousand cycles, not of twenty thousand; a part of the last span counts as a whole one.
    assert!(weights[0] >= 800, "{weights:?}");
    assert_eq!(weights[1], 70);
}
