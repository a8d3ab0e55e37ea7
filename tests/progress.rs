//! Forecasts of the remaining time of a run against the true time: snapshots of real runs, recorded with
//! their processor time.
//!
//! `cargo test -p counterpoint-tests --test system -- --ignored --exact progress::record` takes the records anew, alone on the machine.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use counterpoint_cli::PAPERS;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::cpu_time::cpu_seconds;
use counterpoint_simulation::registry_with;
use counterpoint_simulation::run::{Forecast, Progress, RunRequest, Snapshot, load_application, run};

use crate::support::{request, root};

/// Recorded runs: machine, application and settings.
const RUNS: &[(&str, &str, &[&str])] = &[
    ("crcs-64sm-pcie3-ssd", "hotspot", &["app.n=192"]),
    ("tiny", "matmul-tiled", &[]),
    ("tiny", "vecadd", &["app.n=1000000"]),
];

/// No estimate may be further off than by this factor, from a tenth of a run on.
const HONEST: f64 = 1.5;

fn records() -> PathBuf {
    root().join("tests/progress")
}

/// A run as it was recorded: its kernels with their blocks, and looks at it with the time of each.
struct Record {
    blocks: Vec<(String, u64)>,
    looks: Vec<(f64, Snapshot)>,
}

fn read(application: &str) -> Record {
    let text = std::fs::read_to_string(records().join(format!("{application}.txt"))).unwrap();
    let (mut blocks, mut looks) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u64>().unwrap();
        match words[0] {
            "blocks" => blocks.push((words[1].to_owned(), number(2))),
            _ => looks.push((
                words[0].parse().unwrap(),
                Snapshot {
                    ctas: number(1),
                    under_way: number(2),
                    all_ctas: number(3),
                    bytes: number(4),
                    all_bytes: number(5),
                    ..Snapshot::default()
                },
            )),
        }
    }
    Record { blocks, looks }
}

#[test]
fn estimates_are_honest_from_a_tenth_of_a_run_on() {
    for (_, application, _) in RUNS {
        let Record { blocks, looks } = read(application);
        let mut forecast = Forecast::new(Some(blocks.into()));
        let total = looks.last().unwrap().0;
        // The processor's clock ticks, and looks are a while apart.
        let slack = 0.03;
        let mut said = 0;
        for (time, look) in &looks {
            let left = forecast.left(*look, Duration::from_secs_f64(*time));
            let Some(left) = left.filter(|_| *time >= 0.1 * total) else { continue };
            let (left, truth) = (left.as_secs_f64(), total - time);
            let honest = left <= HONEST * truth + slack && truth <= HONEST * left + slack;
            assert!(honest, "{application} at {time} s of {total} s: {left} s to go, and it were {truth} s");
            said += 1;
        }
        assert!(2 * said >= looks.len(), "{application}: {said} estimates of {} looks", looks.len());
    }
}

#[test]
#[ignore = "takes the records that the other test reads"]
fn record() {
    for (machine, application, sets) in RUNS {
        let request = RunRequest { livelock_after: SimTime::MAX, ..request(machine, application, sets) };
        let (_, loaded) = load_application(&request, &registry_with(PAPERS)).unwrap();
        let mut text = String::new();
        for (kernel, count) in loaded.application.blocks().unwrap() {
            writeln!(text, "blocks {kernel} {count}").unwrap();
        }
        let progress = Progress::default();
        let mut look = |seconds: f64, look: Snapshot| {
            let Snapshot { ctas, under_way, all_ctas, bytes, all_bytes, .. } = look;
            writeln!(text, "{seconds:.2} {ctas} {under_way} {all_ctas} {bytes} {all_bytes}").unwrap();
        };
        std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&request, &Arc::new(registry_with(PAPERS)), &progress));
            let (mut begun, mut last) = (None, Snapshot::default());
            while !running.is_finished() {
                std::thread::sleep(Duration::from_millis(50));
                let Some(now) = progress.snapshot() else { continue };
                let begun = *begun.get_or_insert_with(cpu_seconds);
                look(cpu_seconds() - begun, now);
                last = now;
            }
            if let Some(begun) = begun {
                last = Snapshot { ctas: last.all_ctas, under_way: 0, bytes: last.all_bytes, ..last };
                look(cpu_seconds() - begun, last);
            }
        });
        std::fs::write(records().join(format!("{application}.txt")), text).unwrap();
    }
}
