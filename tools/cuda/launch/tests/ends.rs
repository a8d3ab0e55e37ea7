//! Programs end in all ways, and their records are kept; host and device share variables. They are C programs
//! that register PTX as CUDA's compilers do.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counterpoint_cuda_launch::{Captured, Ended};

/// A folder with the program.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| support::build("ends.c", &[]))
}

/// Runs the program, and gives the text of its application.
fn capture(what: &str) -> (Captured, String) {
    support::capture(built(), "ends.ptx", what, &[what], &AtomicBool::new(false))
}

#[test]
fn a_managed_variable_has_one_address_and_is_copied_where_it_has_changed() {
    let (captured, text) = capture("managed");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert!(text.contains("launched: { variable: m1.launched, type: u8 }"), "{text}");
    // The second launch alone finds what the host has written.
    assert_eq!(text.matches("copy_in: launched").count(), 1, "{text}");
    assert_eq!(text.matches("copy_out: launched").count(), 2, "{text}");
    assert!(text.contains("  - { buffer: launched, "), "{text}");
}

#[test]
fn a_process_that_is_forked_off_has_no_device_and_its_parent_goes_on() {
    let (captured, text) = capture("forks");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert_eq!(captured.summary.expect("a record").launches, 1);
    assert_eq!(text.matches("launch: m1.bump").count(), 1, "{text}");
}

#[test]
fn launches_of_several_threads_are_all_there_in_an_order_of_theirs() {
    let (captured, _) = capture("threads");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    assert_eq!((summary.launches, summary.ended), (400, true));
}

#[test]
fn a_device_that_is_full_says_so_and_the_program_goes_on() {
    let (captured, text) = capture("full");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert!(text.contains("launch: m1.bump"), "{text}");
}

#[test]
fn memory_that_has_been_freed_is_named_with_the_line_that_reads_it() {
    let (captured, text) = capture("freed");
    assert_eq!(captured.ended, Ended::Exit(3));
    let fault = captured.summary.and_then(|summary| summary.fault).expect("a fault");
    let names = ["bump", "PTX line 19", "`buffer 1 of the program`", "freed"];
    assert!(names.iter().all(|name| fault.contains(name)), "{fault}");
    assert_eq!(text.matches("launch: m1.bump").count(), 2, "{text}");
}

#[test]
fn descriptors_that_are_closed_or_taken_cost_neither_the_device_nor_the_record() {
    let [first, second] = ["first.bin", "second.bin"].map(|name| {
        let path = built().join(name);
        std::fs::write(&path, (0..64).collect::<Vec<u8>>()).expect("a file");
        path.display().to_string()
    });
    let words = ["descriptors", &first, &second];
    let (captured, text) =
        support::capture(built(), "ends.ptx", "descriptors", &words, &AtomicBool::new(false));
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert_eq!(captured.summary.expect("a record").launches, 7);
    let reads: Vec<&str> = text.lines().filter(|line| line.contains("read: ")).collect();
    let read = |elements| {
        format!(
            "  - {{ read: {{ file: \"input/first.bin\", into: host, elements: {elements}, offset: 0 }} }}"
        )
    };
    assert_eq!(reads, [read(16), read(32)], "{text}");
}

#[test]
fn there_is_one_device() {
    let (captured, _) = capture("devices");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
}

#[test]
fn a_program_that_never_ends_is_asked_to_and_keeps_what_it_did() {
    let interrupt = AtomicBool::new(false);
    let (captured, text) = std::thread::scope(|scope| {
        scope.spawn(|| {
            // The record is there before the first launch, and the wait is for that.
            let record = built().join("loops/record/record.jsonl");
            let launched = || std::fs::read_to_string(&record).is_ok_and(|text| text.contains("bump"));
            while !launched() {
                std::thread::sleep(Duration::from_millis(5));
            }
            interrupt.store(true, Ordering::Relaxed);
        });
        support::capture(built(), "ends.ptx", "loops", &["loops"], &interrupt)
    });
    assert_eq!(captured.ended, Ended::Signal(15));
    assert!(!captured.summary.expect("a record").ended);
    assert!(text.contains("launch: m1.bump"), "{text}");
}
