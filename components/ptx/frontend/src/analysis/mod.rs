//! The analysis layer: static knowledge of a kernel, without running it.
//!
//! Control flow and liveness serve the decoder. Of a kernel as it is written, [`ssa`] gives every value one name;
//! [`affine`] describes it in terms of thread, block, loop counters and parameters, as sets of
//! [`polynomial`]s; [`access`] classifies memory accesses by it; [`ranges`] evaluates them for one block of a
//! launch.

pub mod access;
pub mod affine;
mod bits;
pub mod cfg;
pub mod dominance;
pub mod liveness;
pub mod operations;
pub mod polynomial;
pub mod ranges;
pub mod registers;
pub mod sharing;
pub mod ssa;
