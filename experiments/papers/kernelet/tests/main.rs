//! Tests of Kernelet: kernels, runtimes and measurements, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod kernels;
mod measured;
mod runtimes;
mod studies;
