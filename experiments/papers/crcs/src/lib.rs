//! CRCS and PPCS (Kim et al., "Automatically Exploiting Implicit Pipeline Parallelism from Multiple Dependent Kernels for GPUs", PACT 2016).
//!
//! Prelude, copies, kernels and postlude of a program run at the same time, as far as its data allow. `overlays/` brings the parts
//! into a machine.
//!
//! # How it works
//!
//! The runtime `overlapped` rewrites an application before it is loaded: the PTX pass `instrument` gives each regular kernel a
//! pre-profiler, which claims for every block the ranges that it may touch, and a post-profiler at its end, which releases them. The
//! authority `owners` grants pages; `mmu/ownership.rs` is its whole rule as a pure structure (lists, owners, pages that become ready, are
//! granted, handed over or sent to the host), and `mmu/counts.rs` the addresses and costs of its counters.
//!
//! Pages move on their own: the Data Availability Tracker at host memory sees the CPU's writes and requests copies of complete pages, the
//! copy engine makes the copies, the command processor reports them to the authority, and the authority sends back pages that no kernel
//! needs any more. The policies `crcs-fifo` and `ppcs` have a port on which the authority reports owners (`policy/dependences.rs`).
//!
//! `--racecheck` checks the result independently: SMs note the first touch of each page and the end of each block, and the run compares
//! these with the analysis of the kernels as they were written.

pub mod cost;
pub mod messages;
pub mod mmu;
mod policy;
mod runtime;
mod values;

use counterpoint::application::built_in;
use counterpoint::component::Registry;

/// Registers the parts of this crate.
pub fn register(registry: &mut Registry) {
    policy::register(registry);
    mmu::register(registry);
    runtime::register(registry);
    registry.add(cost::REPORT).add(values::PROFILERS);
    registry.add(built_in!("experiments/papers/crcs"));
}
