//! Programs call libraries above CUDA's runtime: results are those of loops of the host, and of known answers.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_launch::{Captured, Ended};

/// Runs the checks of a subject; gives the application.
fn right(subject: &str) -> (Captured, String) {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let stubs = ["libcublas.so.13", "libcurand.so.10", "libnvidia-ml.so.1", "libcudnn.so.9"];
    let folder: &Path = BUILT.get_or_init(|| support::build("libraries.c", &stubs));
    let (captured, text) =
        support::capture(folder, "libraries.c", subject, &[subject], &AtomicBool::new(false));
    assert_eq!(captured.ended, Ended::Exit(0), "{subject}");
    (captured, text)
}

#[test]
fn matrices_are_multiplied_in_all_types_and_orders() {
    let (captured, text) = right("gemm");
    assert!(text.contains("launch: m1.gemm_f32") && text.contains("launch: m1.gemm_c64"), "{text}");
    let refused = captured.summary.map(|summary| summary.refused);
    assert_eq!(refused, Some(Vec::new()));
    right("batched");
    right("extended");
    right("light");
}

#[test]
fn vectors_and_matrices_are_combined() {
    right("vectors");
    right("planes");
}

#[test]
fn handles_have_settings_and_wrong_calls_the_results_of_the_library() {
    right("settings");
    let (captured, _) = right("fails");
    let fault = captured.summary.and_then(|summary| summary.fault).expect("a fault");
    assert!(fault.contains("scal_f32"), "{fault}");
}

#[test]
fn random_values_are_those_of_known_answers_and_have_the_moments_of_their_distributions() {
    right("randoms");
}

#[test]
fn the_device_tells_of_itself() {
    right("management");
}

#[test]
fn libraries_that_are_not_there_are_refused_by_name() {
    let (captured, _) = right("refused");
    let refused = captured.summary.map(|summary| summary.refused).unwrap_or_default();
    let names: Vec<&str> = refused.iter().map(|(call, _)| call.as_str()).collect();
    assert_eq!(names, ["cufftPlan1d", "cusparseCreate", "cusolverDnCreate", "cudnnCreate"]);
}
