//! A held machine: its inspections, and its ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use counterpoint_framework::kernel::*;
use counterpoint_framework::testing::pair;
use counterpoint_framework::time::{Hertz, Latency, SimTime};

const CLOCKS: [Hertz; 2] = [Hertz::new(1_000_000_000), Hertz::new(1_000_000_000)];

fn ns(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

fn silent(stuck: Stuck) {
    panic!("{stuck}");
}

/// A sender of ten messages, one a cycle, and a receiver that takes one every ten cycles; the link holds four.
fn backed_up() -> ProcessNetwork {
    let link = LinkOptions { latency: Latency::Cycles(1), capacity: 2, bandwidth: None };
    pair::<u64, _, _>(
        CLOCKS,
        link,
        |mut out, _| async move {
            for number in 0..10 {
                out.send(number).await;
            }
            Ok(())
        },
        |mut input, process| async move {
            for _ in 0..10 {
                process.cycles(10).await;
                input.recv().await;
            }
            Ok(())
        },
    )
}

/// One that counts the cycles it has lived for, without end.
fn ticking(lived: &Arc<AtomicU64>) -> ProcessNetwork {
    let lived = Arc::clone(lived);
    let link = LinkOptions { latency: Latency::Cycles(8), capacity: 2, bandwidth: None };
    pair::<u64, _, _>(
        CLOCKS,
        link,
        move |_out, process| async move {
            loop {
                process.tick().await;
                lived.fetch_add(1, Ordering::Relaxed);
            }
        },
        |mut input, _| async move {
            input.recv().await;
            Ok(())
        },
    )
}

#[test]
fn a_look_has_levels_credits_and_who_waits_for_whom() {
    for threads in [1, 2] {
        let options = RunOptions { threads, sharing: Sharing::Always, hash: true, ..RunOptions::default() };
        let mut held = backed_up().start(&options);
        assert_eq!(held.inspect().map(|seen| (seen.time, seen.ports[0].level)), Some((SimTime::ZERO, 0)));
        assert_eq!(held.advance_to(ns(25), &mut silent), &State::Held(ns(25)));
        let inspection = held.inspect().expect("held");
        let [port] = &inspection.ports[..] else { panic!("one link") };
        assert_eq!((port.from.as_str(), port.to.as_str()), ("sender.out", "receiver.input"));
        // Two have been taken; the sender filled each place as soon as its credit was back.
        assert_eq!((port.level, port.travelling, port.capacity, port.credits), (4, 0, 4, 0));
        assert_eq!(port.oldest.map(|time| time < ns(20)), Some(true));
        let (blocked, wait) = inspection.waits.full().next().expect("the sender waits for a credit");
        assert_eq!((blocked.path.as_str(), wait.port.as_str(), wait.queued), ("sender", "out", 4));
        let text = inspection.waits.to_string();
        assert!(text.contains("sender.out waits for a credit from receiver (4 of 4 messages"), "{text}");
        assert!(text.contains("receiver waits for time to pass"), "{text}");
        // What lies behind the run, and a time of the past.
        assert_eq!(held.advance_to(ns(3), &mut silent), &State::Held(ns(25)));
        assert_eq!(held.advance_to(ns(5_000), &mut silent), &State::Ended);
        assert!(held.inspect().is_none());
        assert_eq!(held.advance_to(ns(6_000), &mut silent), &State::Ended);
        let finished = held.finish(&mut silent).expect("nothing hangs");
        let plain = backed_up().run(&RunOptions { hash: true, ..RunOptions::default() });
        assert_eq!((finished.outcome, finished.hash), (plain.outcome, plain.hash));
    }
}

#[test]
fn nothing_at_the_time_of_the_hold_has_happened() {
    let lived = Arc::default();
    let mut held = ticking(&lived).start(&RunOptions::default());
    for (time, cycles) in [(1, 0), (2, 1), (100, 99), (1_000_000, 999_999)] {
        held.advance_to(ns(time), &mut silent);
        assert_eq!(lived.load(Ordering::Relaxed), cycles, "before {time} ns");
    }
}

#[test]
fn a_run_that_is_dropped_ends_with_its_threads() {
    for threads in [1, 2] {
        let lived: Arc<AtomicU64> = Arc::default();
        let options = RunOptions { threads, sharing: Sharing::Always, ..RunOptions::default() };
        let mut held = ticking(&lived).start(&options);
        held.advance_to(ns(50), &mut silent);
        drop(held);
        // The thread of the process has returned: nobody else keeps the count.
        assert_eq!(Arc::strong_count(&lived), 1);
        assert!(!options.interrupt.load(Ordering::Relaxed), "the flag belongs to others");
        drop(ticking(&lived).start(&options));
        assert_eq!(Arc::strong_count(&lived), 1, "before the first window");
    }
}

#[test]
fn a_held_run_ends_as_any_other() {
    let lived = Arc::default();
    let interrupt: Arc<AtomicBool> = Arc::default();
    let stop_at = Some(ns(70));
    let options = RunOptions { stop_at, interrupt: Arc::clone(&interrupt), ..RunOptions::default() };
    let mut held = ticking(&lived).start(&options);
    assert_eq!(held.advance_to(ns(69), &mut silent), &State::Held(ns(69)));
    assert_eq!(held.advance_to(ns(70), &mut silent), &State::Ended);
    assert_eq!(held.finish(&mut silent).expect("nothing hangs").outcome, Outcome::Stopped(ns(70)));

    let mut held = ticking(&lived).start(&options);
    held.advance_to(ns(10), &mut silent);
    interrupt.store(true, Ordering::Relaxed);
    assert!(held.inspect().is_some(), "the flag is seen when the run is to go on");
    assert_eq!(held.advance_to(ns(20), &mut silent), &State::Ended);
    assert_eq!(held.finish(&mut silent).expect("nothing hangs").outcome, Outcome::Interrupted(ns(10)));
}

#[test]
fn holds_do_not_move_the_time_of_a_livelock() {
    let guard = RunOptions { livelock_after: ns(400), ..RunOptions::default() };
    let lived = Arc::default();
    let expected = ticking(&lived).run(&guard).outcome;
    assert!(matches!(expected, Outcome::Livelock(_)), "{expected}");
    for threads in [1, 2] {
        for step in [1, 99, 100, 101, 400] {
            let options = RunOptions { threads, sharing: Sharing::Always, ..guard.clone() };
            let mut held = ticking(&lived).start(&options);
            let mut time = 0;
            while let State::Held(_) = held.state() {
                time += step;
                held.advance_to(ns(time), &mut silent);
            }
            assert!(time.abs_diff(expected.time().as_ps() / 1_000) <= step, "{time}");
            assert_eq!(
                held.finish(&mut silent).expect("nothing hangs").outcome,
                expected,
                "steps of {step} ns"
            );
        }
    }
}

#[test]
fn a_pause_is_no_component_that_hangs() {
    let watchdog = Watchdog { after: Some(Duration::from_millis(10)), ..Watchdog::default() };
    let mut held = backed_up().start(&RunOptions { watchdog, ..RunOptions::default() });
    for time in [0, 5, 10, 20] {
        held.advance_to(ns(time), &mut silent);
        std::thread::sleep(Duration::from_millis(60));
    }
    assert!(matches!(held.finish(&mut silent).expect("nothing hangs").outcome, Outcome::Finished(_)));
}

#[test]
fn a_component_that_hangs_is_heard_and_can_be_left_behind() {
    let (release, abandon): (Arc<AtomicBool>, Arc<AtomicBool>) = Default::default();
    let spins = Arc::clone(&release);
    let link = LinkOptions { latency: Latency::Cycles(1), capacity: 2, bandwidth: None };
    let machine = pair::<u64, _, _>(
        CLOCKS,
        link,
        |mut out, _| async move {
            out.send(0).await;
            Ok(())
        },
        move |mut input, _| async move {
            input.recv().await;
            while !spins.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        },
    );
    let (after, flag) = (Some(Duration::from_millis(20)), Arc::clone(&abandon));
    let watchdog = Watchdog { after, abandon: flag, ..Watchdog::default() };
    let mut held = machine.start(&RunOptions { watchdog, ..RunOptions::default() });
    assert_eq!(held.advance_to(ns(1), &mut silent), &State::Held(ns(1)));
    let mut heard = Vec::new();
    let mut alarm = |stuck: Stuck| {
        heard.push(stuck.path);
        abandon.store(true, Ordering::Relaxed);
    };
    let State::LeftBehind(stuck) = held.advance_to(ns(100), &mut alarm).clone() else {
        panic!("left behind")
    };
    assert_eq!((stuck.path.as_str(), heard), ("receiver", vec!["receiver".to_owned()]));
    assert_eq!(held.finish(&mut silent).err().map(|stuck| stuck.path), Some("receiver".to_owned()));
    release.store(true, Ordering::Relaxed);
}
