//! The steady state of a chain: the vector that a step leaves as it is, whose parts add up to 1.
//!
//! It is solved directly, in time with the cube of the number of states. Steps until the vector stays (power iteration) are slower
//! here at every size that memory allows: a chain of long latencies settles in tens of thousands of them, 60 s for 2025 states
//! where the direct solution takes seconds.

use nalgebra::{DMatrix, DVector};

/// Parts below 0 by more than this are not rounding.
const ROUNDING: f64 = 1e-9;

/// The steady state of a chain from its transition matrix, transposed; `None` if it has several.
///
/// Solves `(P^T - I) x = 0`. One of its rows is the negative sum of the others; in its place is that the parts add up to 1.
pub(super) fn solve(transposed: &DMatrix<f64>) -> Option<DVector<f64>> {
    let states = transposed.nrows();
    let mut system = transposed - DMatrix::identity(states, states);
    system.row_mut(states - 1).fill(1.0);
    let mut sum = DVector::zeros(states);
    sum[states - 1] = 1.0;
    system.lu().solve(&sum).filter(|steady| steady.iter().all(|part| *part >= -ROUNDING))
}
