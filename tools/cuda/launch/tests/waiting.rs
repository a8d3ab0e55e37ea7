//! Kernels that wait for the host go on while the host does, and one that nobody lets go on is a failure.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use counterpoint_cuda_launch::{Captured, Ended};

fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| support::build("waiting.c", &[]))
}

fn capture(what: &str) -> (Captured, String) {
    support::capture(built(), "waiting.ptx", what, &[what], &AtomicBool::new(false))
}

#[test]
fn a_kernel_and_the_host_talk_through_a_mailbox() {
    let (captured, text) = capture("mailbox");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert_eq!(captured.summary.map(|summary| summary.fault), Some(None));
    assert!(text.contains("non_blocking:"), "what the host writes passes by the kernel: {text}");
}

/// An operation that follows a kernel on its stream, or waits for its event, comes behind it.
#[test]
fn what_follows_a_kernel_that_waits_comes_behind_it() {
    let (captured, _) = capture("streams");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert_eq!(captured.summary.map(|summary| (summary.launches, summary.fault)), Some((3, None)));
}

#[test]
fn a_kernel_that_nobody_lets_go_on_fails_where_the_host_waits() {
    let begun = Instant::now();
    let (captured, _) = capture("never");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let fault = captured.summary.and_then(|summary| summary.fault);
    assert!(fault.is_some_and(|fault| fault.contains("a loop that does not end")));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}
