//! Calls reach the command in a short time, those that cannot are errors of CUDA, and no end of a program leaves anything behind.
#![cfg(target_os = "linux")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use counterpoint_cuda_launch::{Captured, Ended, Request, run};

/// A folder with the program.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| support::build("calls.c", &[]))
}

fn capture(what: &str) -> Captured {
    support::capture(built(), "calls.ptx", what, &[what], &AtomicBool::new(false)).0
}

/// Runs a shell's script in which `$0` is the program and `$1` its PTX.
fn script(name: &str, text: &str) -> Captured {
    let words = [Path::new("/bin/sh"), Path::new("-c"), Path::new(text), &built().join("program")];
    let mut command: Vec<_> = words.iter().map(|word| word.as_os_str().to_owned()).collect();
    command.push(support::here("calls.ptx").into());
    let folder = built().join(name);
    let request = Request { command, name: name.to_owned(), folder, ..Request::default() };
    run(&request, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"))
}

/// The program's own check.
fn succeeds(what: &str) {
    assert_eq!(capture(what).ended, Ended::Exit(0), "{what}");
}

#[test]
fn a_call_takes_microseconds() {
    succeeds("cost");
}

#[test]
fn pointers_to_nowhere_are_errors_of_cuda() {
    succeeds("pointers");
}

#[test]
fn structures_come_in_registers_and_on_the_stack() {
    succeeds("structures");
}

#[test]
fn a_function_of_the_host_cannot_call_cuda_and_can_wait_for_a_thread_that_does() {
    succeeds("functions");
}

#[test]
fn kernels_print_where_the_host_waits_for_them() {
    let captured = script("order", "\"$0\" \"$1\" order > \"${0%program}order.txt\"");
    assert_eq!(captured.ended, Ended::Exit(0));
    assert_eq!(std::fs::read_to_string(built().join("order.txt")).expect("a file"), "host device host\n");
}

/// A program's end ends its kernel, which would count for minutes.
fn ends_in_a_kernel(what: &str, ended: Ended) {
    let begun = Instant::now();
    let captured = capture(what);
    assert_eq!(captured.ended, ended);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let summary = captured.summary.expect("a record");
    assert_eq!((summary.launches, summary.ended, summary.fault), (1, false, None));
}

#[test]
fn nobody_waits_for_the_kernel_of_a_program_that_leaves() {
    ends_in_a_kernel("leaves", Ended::Exit(5));
    ends_in_a_kernel("returns", Ended::Exit(4));
}

#[test]
fn nobody_waits_for_the_kernel_of_a_program_that_is_killed() {
    ends_in_a_kernel("dies", Ended::Signal(9));
}

#[test]
fn a_child_that_lives_longer_does_not_keep_its_parent() {
    let begun = Instant::now();
    assert_eq!(capture("daemons").ended, Ended::Exit(0));
    assert!(begun.elapsed() < Duration::from_millis(1900), "{:?}", begun.elapsed());
}

#[test]
fn programs_of_a_script_have_a_device_each() {
    let one = "\"$0\" \"$1\" calls > /dev/null";
    let both = script("both", &format!("{one} & first=$!; {one} || exit 1; wait $first"));
    assert_eq!(both.ended, Ended::Exit(0), "at once");
    let last = script("last", &format!("{one}; {one}"));
    assert_eq!(last.ended, Ended::Exit(0), "one after another");
    // The record is the last one's.
    assert_eq!(last.summary.map(|summary| summary.launches), Some(2000));
}

#[test]
fn a_program_that_its_script_leaves_behind_loses_its_device_and_ends() {
    let output = built().join("behind.txt");
    let stays = "\"$0\" \"$1\" stays > \"${0%program}behind.txt\" & until grep -q begun \"${0%program}behind.txt\"; do sleep 0.05; done";
    assert_eq!(script("behind", stays).ended, Ended::Exit(0));
    let begun = Instant::now();
    let text = || std::fs::read_to_string(&output).unwrap_or_default();
    while !text().contains("cudaErrorInitializationError") {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", text());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_script_that_calls_nothing_has_no_application() {
    let file = built().join("nothing.sh");
    std::fs::write(&file, "#!/bin/sh\nexit 4\n").expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a file");
    let request = Request {
        command: vec![file.into()],
        name: "nothing".to_owned(),
        folder: built().join("nothing"),
        ..Request::default()
    };
    let captured = run(&request, &AtomicBool::new(false)).expect("a script");
    assert_eq!((captured.ended, captured.application), (Ended::Exit(4), None));
}
