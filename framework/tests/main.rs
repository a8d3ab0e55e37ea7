//! The tests of this crate through what it exports, in one binary; `memory.rs` has its own, since it counts allocations of its process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod filetests;
mod hangs;
mod held;
mod kernel;
mod machines;
mod naive;
#[cfg(feature = "otlp")]
mod otlp;
mod properties;
mod slots;
mod throughput;
mod watchdog;
