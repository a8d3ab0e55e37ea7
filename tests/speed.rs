//! Speeds of whole programs: the quantities counted, and that the time is the simulation's alone.

use std::sync::Arc;

use counterpoint_experiments::speed::Speed;
use counterpoint_simulation::registry;

use crate::support::{request, root, run_request};

#[test]
fn a_speed_counts_whole_runs_and_enough_of_them() {
    let once = run_request(&request("tiny", "vecadd", &[])).figures;
    let speed = Speed::of("tiny", "vecadd", &root(), &Arc::new(registry())).unwrap();
    let times = |counted: f64, name| counted / once.count(name).unwrap() as f64;
    let runs = times(speed.warp_instructions, "warp instructions");
    assert!(runs >= 1.0 && runs.fract() == 0.0, "{runs} runs");
    assert_eq!(runs, times(speed.l2_accesses, "L2 accesses"));
    assert_eq!(runs, times(speed.cycles, "active cycles"));
    // Either a second is full, or it has been tried a hundred times.
    assert!(speed.cpu_seconds >= 1.0 || runs == 100.0, "{} s in {runs} runs", speed.cpu_seconds);
}

#[test]
fn a_program_that_fails_has_no_speed() {
    let errors = Speed::of("tiny", "vecadd-two-devices", &root(), &Arc::new(registry())).unwrap_err();
    assert!(errors[0].to_string().contains("device 1 of 1 does not exist"), "{}", errors[0]);
}
