//! Tests of a single component: scripts play its neighbours, and each message has an exact cycle.

#[doc(inline)]
pub use counterpoint_framework::testing::{Bench, BenchReport, Probe, pair, params, run_text};

/// Tests of components of the GPU: requests, lines, kernels and launches.
pub mod gpu {
    #[doc(inline)]
    pub use counterpoint_hardware::testing::{
        ALL, BUFFER, BUFFER_BYTES, CLOCK, assert_finished, bench, bench_with, counted, fault, kernel,
        labelled, launch, line, number, numbered, read, request, sms, tagged, write,
    };
}
