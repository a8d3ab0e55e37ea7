//! Programs as compilers leave them run without a GPU, and become applications: a C program that registers PTX as CUDA's compilers do, so
//! that no CUDA compiler is needed.
#![cfg(target_os = "linux")]

mod support;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_launch::{Captured, Ended, Needs, Request, RunError, inspect, run};
use flate2::read::GzDecoder;

fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| support::build("program.c", &[]))
}

/// Runs the program, and gives the text of its application.
fn capture(name: &str, words: &[&str]) -> (Captured, String) {
    support::capture(built(), "kernel.ptx", name, words, &AtomicBool::new(false))
}

/// The data of an application.
fn data(name: &str) -> Vec<u8> {
    let packed = std::fs::File::open(built().join(name).join("data.gz")).expect("a file");
    let mut data = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut data).expect("a packed file");
    data
}

#[test]
fn a_loop_that_the_device_ends_runs_and_is_folded() {
    let (captured, text) = capture("steps", &["steps", "1000"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    // Values up to 153 take eight steps, and one sees that nothing changes.
    assert_eq!((summary.launches, summary.copied), (9, [4004, 4000 + 9 * 4]));
    assert!(summary.ended && summary.refused.is_empty() && summary.fault.is_none());
    assert!(text.contains("prelude:\n"), "{text}");
    assert!(text.contains("copy_in: [b1, loss]"), "{text}");
    assert_eq!(text.matches("launch: m1.step").count(), 2, "{text}");
    assert!(text.contains("repeat: 8"), "{text}");
    assert!(text.contains("\"${i1}\""), "the number of the round: {text}");
    assert!(text.contains("loss: { variable: m1.loss, type: u8 }"), "{text}");
    assert!(text.contains("b1: { type: u8") && text.contains("address: 0x10000"), "{text}");
    let reduced =
        |index: u32| (0..9).fold(90 + index % 64, |value, _| if value > 100 { value - 7 } else { value });
    let expected: Vec<u8> = (0..1000).flat_map(|index| reduced(index).to_le_bytes()).collect();
    assert!(data("steps").windows(4000).any(|part| part == expected), "the results");
    assert!(!built().join("steps/record").exists());
}

#[test]
fn a_texture_of_an_array_is_one_of_the_application() {
    let (captured, text) = capture("texture", &["texture"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert!(text.contains("t1: { of: b1, size: [8, 5, 1], channels: 1 }"), "{text}");
    assert!(text.contains("b1: { type: f32, elements: 40"), "{text}");
    assert!(text.contains("launch: m1.shade"), "{text}");
}

#[test]
fn layers_are_written_as_a_surface_and_read_as_a_texture() {
    let (captured, text) = capture("layers", &["layers"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    assert!(summary.refused.is_empty() && summary.fault.is_none());
    let (out, back) = (480, 2 * 4 * 5 * 4);
    assert_eq!((summary.launches, summary.copied), (2, [480, out + back]));
    assert!(text.contains("b1: { type: f32, elements: 120"), "{text}");
    assert!(text.contains("t1: { of: b1, size: [8, 5, 1], layers: 3, channels: 1, edge: border }"), "{text}");
    assert!(text.contains("surface1: { of: b1, size: [8, 5, 1], layers: 3, channels: 1 }"), "{text}");
    // The handle of the surface is that of an application's first one.
    assert!(
        text.contains("launch: m1.raise, grid: [1, 1, 3], block: [8, 5], arguments: [281474976710656]"),
        "{text}"
    );
    // Layers 1 and 2 came back in parts.
    assert!(text.contains("buffer: b1, element: 50, elements: 69, file: data.gz"), "{text}");
    assert!(text.contains(", where: written-1.gz"), "what lies between rows is not expected: {text}");
    let raised = data("layers");
    let raised: Vec<f32> = raised.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
    assert!(raised.contains(&(2.0 * 112.0)), "{raised:?}");
}

#[test]
fn a_graph_is_the_launches_that_it_makes() {
    let (captured, text) = capture("graph", &["graph"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    // Three launches of a graph, one of it with other arguments, and one of its clone.
    assert_eq!((summary.launches, summary.copied), (5, [4 + 5 * 400, 5 * 400 + 2 * 8]));
    assert!(summary.refused.is_empty() && summary.fault.is_none());
    assert!(text.contains("launch: m1.step"), "{text}");
}

#[test]
fn streams_that_are_watched_make_a_graph_with_two_lanes() {
    let (captured, text) = capture("watched", &["watched"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    assert_eq!((summary.launches, summary.copied), (2, [4 + 2 * 400, 2 * 400]));
    assert!(summary.refused.is_empty() && summary.fault.is_none());
    // The fill is on another stream than the launch that waits for it.
    assert!(text.contains("wait"), "{text}");
}

#[test]
fn kernels_reach_memory_of_the_host_that_is_an_argument() {
    let (captured, _) = capture("pinned", &["pinned"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let summary = captured.summary.expect("a record");
    assert_eq!((summary.copied, summary.fault), ([4 + 400, 400 + 4], None), "copied to the device, and back");
}

#[test]
fn memory_that_is_registered_serves_copies_and_kernels() {
    let (captured, _) = capture("registered", &["registered"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    assert!(captured.summary.expect("a record").refused.is_empty());
}

#[test]
fn an_assertion_that_fails_has_its_own_error() {
    let (captured, _) = capture("asserts", &["asserts"]);
    assert_eq!(captured.ended, Ended::Exit(0), "the program's own check");
    let fault = captured.summary.and_then(|summary| summary.fault).expect("a fault");
    assert!(fault.contains("assertion"), "{fault}");
}

#[test]
fn sixteen_thousand_launches_are_a_few_lines() {
    let (captured, text) = capture("many", &["many"]);
    assert_eq!(captured.summary.map(|summary| summary.launches), Some(16_000));
    assert!(text.len() < 2_000, "{} bytes", text.len());
    assert!(text.contains("repeat: 8000"), "{text}");
}

#[test]
fn a_fault_is_the_error_of_every_later_call_and_ends_the_application() {
    let (captured, text) = capture("beyond", &["beyond"]);
    assert_eq!(captured.ended, Ended::Exit(3));
    let fault = captured.summary.and_then(|summary| summary.fault).expect("a fault");
    assert!(fault.contains("step") && fault.contains("`buffer 1 of the program`"), "{fault}");
    assert!(fault.contains("PTX line"), "{fault}");
    assert!(text.contains("launch: m1.step"), "{text}");
}

#[test]
fn a_program_that_crashes_leaves_what_it_did() {
    let (captured, text) = capture("crash", &["crash"]);
    assert_eq!(captured.ended, Ended::Signal(6));
    assert!(!captured.summary.expect("a record").ended);
    assert!(text.contains("launch: m1.step"), "{text}");
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let (captured, _) = capture("refused", &["refused"]);
    assert_eq!(captured.ended, Ended::Exit(0));
    let refused = captured.summary.map(|summary| summary.refused);
    assert_eq!(refused, Some(vec![("cudaIpcGetMemHandle".to_owned(), "is not supported".to_owned())]));
}

#[test]
fn a_program_names_the_runtime_that_it_was_linked_with() {
    let folder = built();
    let needs = inspect(&folder.join("program")).expect("a program");
    assert_eq!(needs, Needs::Shared { name: "libcudart.so.13".to_owned(), insists: false });
    let request = |program: PathBuf| Request {
        command: vec![program.into()],
        name: "none".to_owned(),
        folder: folder.join("none"),
        ..Request::default()
    };
    let missing = run(&request(folder.join("gone")), &AtomicBool::new(false));
    assert!(matches!(missing, Err(RunError::NotFound(_))));
    // A program that has nothing to do with CUDA runs, and leaves no application.
    let ran = run(&request("/bin/true".into()), &AtomicBool::new(false)).expect("a program");
    assert_eq!((ran.ended, ran.application), (Ended::Exit(0), None));
}
