//! Runs that hang: found at the same time, with the same report, however the machine is cut.

use counterpoint_framework::kernel::*;
use counterpoint_framework::time::{Clock, Hertz, Latency, SimTime};

const FINEST: Islands = Islands::AtLatency(SimTime::ZERO);

/// Threads, and how the machine is cut for them.
const CUTS: [(usize, Islands); 7] = [
    (1, Islands::One),
    (1, Islands::Auto),
    (1, FINEST),
    (1, Islands::AtLatency(SimTime::from_ns(7))),
    (2, Islands::Auto),
    (2, FINEST),
    (3, FINEST),
];

fn mhz(mhz: u64) -> Clock {
    Clock::new(Hertz::new(mhz * 1_000_000))
}

fn link(from: (usize, &str), to: (usize, &str), cycles: u64) -> LinkSpec {
    let end = |(process, port): (usize, &str)| Endpoint { process, port: port.into(), index: None };
    let options = LinkOptions { latency: Latency::Cycles(cycles), capacity: 1, bandwidth: None };
    LinkSpec { from: end(from), to: end(to), sender: 0, options }
}

/// Runs a machine on every cut; how it ends, which must be the same everywhere.
fn end(machine: impl Fn() -> ProcessNetwork, options: &RunOptions) -> Outcome {
    let run = |(threads, islands)| {
        let options =
            RunOptions { threads, sharing: Sharing::Always, islands, hash: true, ..options.clone() };
        let finished = machine().run(&options);
        (finished.outcome, finished.hash)
    };
    let expected = run(CUTS[0]);
    for cut in CUTS {
        assert_eq!(run(cut), expected, "{cut:?}");
    }
    expected.0
}

/// A spinner that works once every `period` cycles for ever, and beside it a pair that stops talking after `messages`
/// messages, taken from 3 ns on every 5 ns: the listener waits, the talker starves, and a message is on its way that comes too
/// late.
fn restless(messages: u64, period: u64) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    let spinner = ProcessSpec::new("spinner", mhz(700), false, move |wiring| {
        let process = wiring.process();
        async move {
            loop {
                process.cycles(period).await;
            }
        }
    });
    machine.processes.push(spinner);
    machine.processes.push(ProcessSpec::new("talker", mhz(1_000), false, |wiring| {
        let mut late = wiring.output::<u64>("late", None);
        let mut out = wiring.output::<u64>("out", None);
        async move {
            late.send_after(SimTime::from_ns(20_000), 0).await;
            for number in 0.. {
                out.send(number).await;
            }
            Ok(())
        }
    }));
    machine.processes.push(ProcessSpec::new("listener", mhz(1_000), false, move |wiring| {
        let mut late = wiring.input::<u64>("late", None);
        let mut input = wiring.input::<u64>("in", None);
        let process = wiring.process();
        async move {
            for _ in 0..messages {
                input.recv().await;
                process.cycles(5).await;
            }
            late.recv().await;
            Ok(())
        }
    }));
    machine.links.push(link((1, "late"), (2, "late"), 8));
    machine.links.push(link((1, "out"), (2, "in"), 3));
    machine
}

/// Intervals of 100 ns.
fn patience() -> RunOptions {
    RunOptions { livelock_after: SimTime::from_ns(400), ..RunOptions::default() }
}

#[test]
fn a_livelock_is_found_at_the_same_time_with_the_same_report() {
    // The last message is taken at 3, 98, 103, 298, 303 ns.
    for (messages, found) in [(1, 500), (20, 500), (21, 600), (60, 700), (61, 800)] {
        for period in [1, 60] {
            let outcome = end(|| restless(messages, period), &patience());
            let Outcome::Livelock(hang) = &outcome else { panic!("{outcome}") };
            assert_eq!(hang.time, SimTime::from_ns(found), "{messages} messages, every {period}: {outcome}");
            let text = outcome.to_string();
            assert!(text.contains("  spinner waits for time to pass\n"), "{text}");
            assert!(
                text.contains("  talker.out waits for a credit from listener (7 of 7 messages"),
                "{text}"
            );
            assert!(text.contains("  listener.late waits for a message from talker\n"), "{text}");
        }
    }
}

/// A worker that goes on for ten intervals, and says so in each or does not.
fn diligent(says_so: bool) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    machine.processes.push(ProcessSpec::new("worker", mhz(1_000), false, move |wiring| {
        let process = wiring.process();
        async move {
            for _ in 0..20 {
                process.cycles(50).await;
                if says_so {
                    process.progress();
                }
            }
            Ok(())
        }
    }));
    machine
}

#[test]
fn who_says_that_it_goes_on_is_no_livelock() {
    assert!(matches!(end(|| diligent(false), &patience()), Outcome::Livelock(_)));
    assert_eq!(end(|| diligent(true), &patience()), Outcome::Finished(SimTime::from_ns(1_000)));
}

#[test]
fn a_livelock_at_the_stop_is_left_out() {
    let stop_at = |ps| RunOptions { stop_at: Some(SimTime::from_ps(ps)), ..patience() };
    for ps in [1, 499_999, 500_000] {
        assert_eq!(end(|| restless(1, 1), &stop_at(ps)), Outcome::Stopped(SimTime::from_ps(ps)));
    }
    let outcome = end(|| restless(1, 1), &stop_at(500_001));
    assert!(matches!(outcome, Outcome::Livelock(_)), "{outcome}");
}

#[test]
fn who_sleeps_through_an_interval_waits() {
    // A cycle every 214 ns: there is none in every other interval or two.
    let options = RunOptions { stop_at: Some(SimTime::from_ns(100_000)), ..patience() };
    assert!(matches!(end(|| restless(1, 150), &options), Outcome::Stopped(_)));
}

#[test]
fn a_deadlock_before_the_stop_is_a_deadlock() {
    let mute = || {
        let mut machine = restless(4, 1);
        machine.processes[0].daemon = true;
        machine
    };
    // Without the spinner the last thing that happens is the arrival of the late message; here that is all there is.
    let alone = || {
        let mut machine = mute();
        machine.processes.remove(0);
        for end in machine.links.iter_mut().flat_map(|link| [&mut link.from, &mut link.to]) {
            end.process -= 1;
        }
        machine
    };
    let stop_at = |ps| RunOptions { stop_at: Some(SimTime::from_ps(ps)), ..RunOptions::default() };
    let expected = end(alone, &RunOptions::default());
    let Outcome::Deadlock(hang) = &expected else { panic!("{expected}") };
    assert_eq!(hang.time, SimTime::from_ns(20_008));
    assert_eq!(hang.blocked.iter().map(|process| process.path.as_str()).collect::<Vec<_>>(), ["talker"]);
    // The message is there at this time, which belongs to the part left out.
    for ps in [1, 20_008_000] {
        assert_eq!(end(alone, &stop_at(ps)), Outcome::Stopped(SimTime::from_ps(ps)));
    }
    for ps in [20_008_001, u64::MAX - 1] {
        assert_eq!(end(alone, &stop_at(ps)), expected, "stop at {ps} ps");
    }
    // A component that goes on for ever always has something to do.
    let outcome = end(mute, &stop_at(40_000_000));
    assert_eq!(outcome, Outcome::Stopped(SimTime::from_ps(40_000_000)));
}

/// A sender whose messages arrive in intervals in which nobody runs, at a receiver who does not look.
fn deaf() -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    machine.processes.push(ProcessSpec::new("sender", mhz(1_000), false, |wiring| {
        let mut out = wiring.output::<u64>("out", None);
        let process = wiring.process();
        async move {
            loop {
                out.send(0).await;
                process.cycles(200).await;
            }
        }
    }));
    machine.processes.push(ProcessSpec::new("deaf", mhz(1_000), false, |wiring| {
        let (_input, process) = (wiring.input::<u64>("in", None), wiring.process());
        async move {
            process.until(SimTime::from_ns(1_000_000)).await;
            Ok(())
        }
    }));
    machine.links.push(link((0, "out"), (1, "in"), 110));
    machine
}

#[test]
fn an_arrival_that_wakes_nobody_is_no_sign_of_life() {
    // There are credits for 221 messages, one every 200 ns.
    let stop_at = SimTime::from_ns(40_000);
    let options = RunOptions { stop_at: Some(stop_at), ..patience() };
    assert_eq!(end(deaf, &options), Outcome::Stopped(stop_at));
}

/// A server, a client that asks it the same every 50 ns for ever and says after `after` that it has seen enough, and a sleeper
/// that asks it once, at `sleep`.
fn askers(after: SimTime, sleep: SimTime) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    let asker = |path: &str, body: fn(Ask, SimTime) -> Asking, time: SimTime| {
        ProcessSpec::new(path, mhz(1_000), false, move |wiring| {
            let ask = Ask {
                out: wiring.output("out", None),
                back: wiring.input("back", None),
                process: wiring.process(),
            };
            body(ask, time)
        })
    };
    machine.processes.push(asker(
        "client",
        |mut ask, after| {
            Box::pin(async move {
                loop {
                    ask.once().await;
                    ask.process.set_acts(ask.process.now() < after);
                    ask.process.cycles(50).await;
                }
            })
        },
        after,
    ));
    machine.processes.push(asker(
        "sleeper",
        |mut ask, sleep| {
            Box::pin(async move {
                ask.process.until(sleep).await;
                ask.once().await;
                Ok(())
            })
        },
        sleep,
    ));
    machine.processes.push(ProcessSpec::new("server", mhz(700), true, |wiring| {
        let mut asked = [0, 1].map(|index| wiring.input::<u64>("asked", Some(index)));
        let mut answers = [0, 1].map(|index| wiring.output::<u64>("answers", Some(index)));
        let process = wiring.process();
        async move {
            process.set_acts(false);
            loop {
                process.wait(SimTime::MAX, asked.iter().map(|input| input.when(true))).await;
                for (input, output) in asked.iter_mut().zip(&mut answers) {
                    if let Some(number) = input.try_recv() {
                        output.send(number).await;
                    }
                }
            }
        }
    }));
    for index in 0..2 {
        let end = |port: &str| Endpoint { process: 2, port: port.into(), index: Some(index) };
        let asked = link((index as usize, "out"), (2, "asked"), 6);
        machine.links.push(LinkSpec { to: end("asked"), ..asked });
        let back = link((2, "answers"), (index as usize, "back"), 5);
        machine.links.push(LinkSpec { from: end("answers"), ..back });
    }
    machine
}

type Asking = std::pin::Pin<Box<dyn Future<Output = Result<(), Fault>>>>;

struct Ask {
    out: Out<u64>,
    back: In<u64>,
    process: std::rc::Rc<Process>,
}

impl Ask {
    async fn once(&mut self) {
        self.out.send(7).await;
        self.back.recv().await;
    }
}

#[test]
fn messages_that_flow_in_vain_are_a_livelock() {
    // A forty-thousandth of the patience: four intervals of a microsecond, in which nobody acts.
    let options = RunOptions { livelock_after: SimTime::from_ns(160_000_000), ..RunOptions::default() };
    let us = |us: u64| SimTime::from_ns(1000 * us);
    for (after, sleep, found) in [(0, 0, 5), (10, 0, 15), (0, 30, 35), (10, 30, 35)] {
        let outcome = end(|| askers(us(after), us(sleep)), &options);
        let Outcome::Livelock(hang) = &outcome else { panic!("{outcome}") };
        assert_eq!((hang.time, hang.kind), (us(found), HangKind::InVain), "{after}, {sleep}: {outcome}");
        let text = outcome.to_string();
        assert!(
            text.contains(
                "messages flow, but all that happens for long repeats itself, and 1 process has not returned"
            ),
            "{text}"
        );
    }
    let patient = RunOptions { livelock_after: SimTime::MAX, stop_at: Some(us(100)), ..options };
    assert_eq!(end(|| askers(us(0), us(0)), &patient), Outcome::Stopped(us(100)));
}
