//! Programs that call CUDA's driver run, have its errors, and become applications. Compilers in Python find stand-ins for NVIDIA's assembler and
//! linker.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_launch::{Captured, Ended, cached};

fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| support::build("driver.c", &[]))
}

fn capture(what: &str) -> (Captured, String) {
    support::capture(built(), "driver.ptx", what, &[what], &AtomicBool::new(false))
}

#[test]
fn a_program_of_the_driver_runs_and_becomes_an_application() {
    let (captured, text) = capture("runs");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    assert_eq!((summary.launches, summary.ended), (8, true));
    let refused: Vec<&str> = summary.refused.iter().map(|(call, _)| call.as_str()).collect();
    assert_eq!(refused, ["cudaHostGetDevicePointer", "cuStreamWaitValue"]);
    assert!(text.contains("launch: m1.scale"), "{text}");
    assert!(text.contains("m3:"), "a module, a library, and what was linked: {text}");
}

#[test]
fn memory_is_mapped_at_reserved_addresses() {
    let (captured, text) = capture("maps");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert!(text.contains("launch: m1.scale"), "{text}");
}

#[test]
fn wrong_calls_of_the_driver_are_its_errors() {
    let (captured, _) = capture("fails");
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    assert!(summary.fault.is_some_and(|fault| fault.contains("faults")));
}

#[test]
fn the_assembler_hands_ptx_through() {
    let folder = cached().expect("the libraries");
    let (from, to) = (support::here("driver.ptx"), built().join("driver.cubin"));
    let assembler = || Command::new(folder.join("ptxas"));
    let status =
        assembler().args(["-lineinfo", "-v", "--gpu-name=sm_80"]).arg(&from).arg("-o").arg(&to).status();
    assert!(status.expect("a shell").success());
    let [given, made] = [from, to].map(|file| std::fs::read(file).expect("a file"));
    assert_eq!(given, made);
    let version = assembler().arg("--version").output().expect("a shell").stdout;
    assert!(String::from_utf8_lossy(&version).contains("release 13.0"));
    assert!(!assembler().arg("-v").status().expect("a shell").success(), "no input");
}
