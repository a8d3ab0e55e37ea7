//! A component that does not give its thread back is named while it hangs, and the run's result is not touched.
//!
//! The component spins until the watchdog has spoken, so nothing here depends on how fast anything is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterpoint_framework::kernel::*;
use counterpoint_framework::time::{Clock, Hertz, Latency, SimTime};

fn gigahertz() -> Clock {
    Clock::new(Hertz::new(1_000_000_000))
}

/// A machine of a talker and of a spinner, which at 12 ns computes until `release` is set.
fn machine(release: &Arc<AtomicBool>) -> ProcessNetwork {
    let release = Arc::clone(release);
    let mut machine = ProcessNetwork::default();
    machine.processes.push(ProcessSpec::new("talker", gigahertz(), false, |wiring| {
        let (mut out, process) = (wiring.output::<u64>("out", None), wiring.process());
        async move {
            for number in 0..20 {
                out.send(number).await;
                process.tick().await;
            }
            Ok(())
        }
    }));
    machine.processes.push(ProcessSpec::new("cluster.spinner", gigahertz(), false, move |wiring| {
        let (mut input, process) = (wiring.input::<u64>("in", None), wiring.process());
        async move {
            for _ in 0..20 {
                let number = input.recv().await;
                while number == 4 && !release.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
            assert_eq!(process.now(), SimTime::from_ns(27));
            Ok(())
        }
    }));
    let end = |process, port: &str| Endpoint { process, port: port.into(), index: None };
    let options = LinkOptions { latency: Latency::Cycles(8), capacity: 4, bandwidth: None };
    machine.links.push(LinkSpec { from: end(0, "out"), to: end(1, "in"), sender: 0, options });
    machine
}

#[test]
fn a_component_that_spins_is_named_once_with_its_time_and_changes_nothing() {
    let free = Arc::new(AtomicBool::new(true));
    let expected = machine(&free).run(&RunOptions { hash: true, ..RunOptions::default() });
    for threads in [1, 2] {
        let release = Arc::new(AtomicBool::new(false));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let abandon = Arc::new(AtomicBool::new(false));
        let (log, asked, freed) = (Arc::clone(&reports), Arc::clone(&abandon), Arc::clone(&release));
        let watchdog = Watchdog {
            after: Some(Duration::from_millis(20)),
            report: Arc::new(move |stuck| {
                // On a busy computer another component may look stuck as well.
                let found = stuck.path == "cluster.spinner";
                log.lock().unwrap().push(stuck);
                asked.store(found, Ordering::Relaxed);
            }),
            abandon,
            // It has hung for many more looks by now.
            abandoned: Arc::new(move |stuck| {
                assert_eq!(stuck.path, "cluster.spinner");
                freed.store(true, Ordering::Relaxed);
            }),
        };
        let options =
            RunOptions { threads, sharing: Sharing::Always, hash: true, watchdog, ..RunOptions::default() };
        let finished = machine(&release).run(&options);
        let reports: Vec<Stuck> = reports.lock().unwrap().drain(..).collect();
        let named: Vec<&Stuck> = reports.iter().filter(|stuck| stuck.path == "cluster.spinner").collect();
        assert_eq!(named.len(), 1, "{reports:?}");
        // It may have run ahead of the batch in which it was called upon, inside the window of eight cycles.
        assert!((8..=12).contains(&(named[0].time.as_ps() / 1000)), "{reports:?}");
        assert!(named[0].elapsed >= Duration::from_millis(20));
        assert!(named[0].to_string().starts_with("cluster.spinner was called upon at "));
        assert_eq!((&finished.outcome, finished.hash), (&expected.outcome, expected.hash));
    }
}

#[test]
fn a_watchdog_that_is_off_says_nothing() {
    let release = Arc::new(AtomicBool::new(false));
    let later = Arc::clone(&release);
    let spoken = Arc::new(AtomicBool::new(false));
    let log = Arc::clone(&spoken);
    let watchdog = Watchdog {
        after: None,
        report: Arc::new(move |_| log.store(true, Ordering::Relaxed)),
        ..Watchdog::default()
    };
    let helper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        later.store(true, Ordering::Relaxed);
    });
    let finished = machine(&release).run(&RunOptions { watchdog, ..RunOptions::default() });
    helper.join().unwrap();
    assert!(matches!(finished.outcome, Outcome::Finished(_)), "{}", finished.outcome);
    assert!(!spoken.load(Ordering::Relaxed));
}
