//! Wrong calls return CUDA's error, and settings of a program are returned and obeyed.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_launch::Ended;

/// Runs the checks of a subject; gives the application.
fn right(subject: &str) -> String {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder: &Path = BUILT.get_or_init(|| support::build("codes.c", &[]));
    let (captured, text) =
        support::capture(folder, "codes.ptx", subject, &[subject], &AtomicBool::new(false));
    assert_eq!(captured.ended, Ended::Exit(0), "{subject}");
    text
}

#[test]
fn memory_is_copied_and_filled_where_it_is() {
    for subject in ["copies", "rows", "fills", "symbols"] {
        right(subject);
    }
}

#[test]
fn memory_is_given_and_given_back_as_it_may_be() {
    for subject in ["frees", "allocations", "registrations"] {
        right(subject);
    }
}

#[test]
fn streams_events_devices_and_launches_have_the_flags_that_there_are() {
    for subject in ["streams", "devices", "launches"] {
        right(subject);
    }
}

#[test]
fn limits_are_given_back_as_they_were_made_and_obeyed() {
    let application = right("limits");
    let sizes = "heap: 33554432 B\nprintf: 524288 B\nstack: 65536 B\n";
    assert!(application.contains(sizes), "{application}");
}

#[test]
fn a_device_that_has_failed_works_again_after_a_reset() {
    right("failures");
}

/// The lines of an application's steps, without what the host computes.
fn steps(application: &str) -> Vec<&str> {
    let (_, rest) = application.split_once("kernels:\n").expect("steps");
    rest.lines()
        .take_while(|line| line.starts_with("  - "))
        .filter(|line| !line.contains("compute"))
        .collect()
}

#[test]
fn the_default_stream_does_not_wait_for_a_stream_that_is_made_so() {
    let application = right("non-blocking");
    assert!(application.contains("\nnon_blocking: [s2]\n"), "{application}");
    let expected = [
        "  - { launch: m1.work, grid: 1, block: 32, stream: s2, arguments: [b1, 20000] }",
        "  - { launch: m1.work, grid: 1, block: 32, arguments: [b2, 10] }",
        "  - { copy_out: { buffer: b2, elements: 1 } }",
        // The host waits for the default stream alone.
        "  - { record: { event: e1 } }",
        "  - { synchronize: e1 }",
        "  - { synchronize: all }",
        "  - { copy_out: { buffer: b1, elements: 1 } }",
    ];
    let (found, expected) = (steps(&application), expected.as_slice());
    assert!(found.starts_with(expected), "{application}");
}

#[test]
fn each_thread_has_a_default_stream_of_its_own() {
    let application = right("threads");
    let expected = [
        "  - { launch: m1.work, grid: 1, block: 32, stream: s1, arguments: [b1, 20000] }",
        "  - { launch: m1.work, grid: 1, block: 32, stream: s2, arguments: [b2, 20000] }",
        "  - { launch: m1.work, grid: 1, block: 32, stream: s3, arguments: [{ buffer: b2, element: 256 }, 20000] }",
        "  - { synchronize: s3 }",
        "  - { copy_out: { buffer: b2, element: 256, elements: 1 }, stream: s3 }",
        "  - { synchronize: s3 }",
        "  - { copy_out: { buffer: b2, elements: 1 }, stream: s2 }",
        "  - { synchronize: s2 }",
        "  - { launch: m1.work, grid: 1, block: 32, arguments: [b1, 10] }",
        "  - { copy_out: { buffer: b1, elements: 1 } }",
    ];
    let (found, expected) = (steps(&application), expected.as_slice());
    assert!(found.starts_with(expected), "{application}");
    assert!(!application.contains("non_blocking"), "{application}");
}

#[test]
fn any_words_of_a_call_end_in_an_error_of_cuda() {
    right("random");
}
