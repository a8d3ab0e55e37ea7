//! Kernel-interleaved thread block scheduling (Awatramani, Zambreno and Rover, "Increasing GPU Throughput using Kernel Interleaved
//! Thread Block Scheduling", ICCD 2013).
//!
//! Kernels that run at the same time have disjoint SMs (`spatial`), or share all SMs, each with about half of its blocks on every
//! SM (`interleaved`). `applications/` has the kernels, after Rodinia, and `references` their results.
//!
//! # How it works
//!
//! Both policies use one pure structure, the paper's kernel and core status blocks (`policy/tables.rs`). A
//! policy feeds it with launches, their ends and blocks on SMs, and asks it for the next block.

pub mod policy;
mod references;

use counterpoint::application::built_in;
use counterpoint::component::Registry;

/// Registers the parts of this crate.
pub fn register(registry: &mut Registry) {
    policy::register(registry);
    references::register(registry);
    registry.add(built_in!("experiments/papers/interleave"));
}
