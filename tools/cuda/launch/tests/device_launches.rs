//! Kernels that launch kernels: values, the order of streams and tails, and a grid that launches too much. The application has the same values.
#![cfg(target_os = "linux")]

mod support;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_launch::{Captured, Ended};

fn capture(what: &str) -> Captured {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| support::build("device_launches.c", &[]));
    support::capture(built, "device_launches.ptx", what, &[what], &AtomicBool::new(false)).0
}

#[test]
fn launches_have_the_order_of_their_streams() {
    let captured = capture("order");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    // Three parents, and six kernels of each.
    assert_eq!(captured.summary.map(|summary| (summary.launches, summary.fault)), Some((21, None)));
}

#[test]
fn a_grid_that_launches_too_much_fails() {
    let captured = capture("flood");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let fault = captured.summary.and_then(|summary| summary.fault);
    assert!(fault.is_some_and(|fault| fault.contains("launched more kernels than there is room for")));
}
