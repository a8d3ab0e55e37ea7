//! Products of matrices, as all functions that multiply have them.

use std::ffi::c_int;

use super::{CONJUGATED, Factor, KERNELS, NONE, Number, check_leading, check_operation};
use crate::errors::{Error, Result};
use crate::libraries::Parameters;
use crate::made::Stream;
use crate::state::State;

/// Rows and columns of a tile, and threads of its block (`kernels/cublas.cu`).
const TILE: u64 = 32;
const THREADS: u32 = 256;
/// Flags of a product: addresses of matrices are in lists, and elements of an operand are conjugated.
const LISTS: u64 = 1;
const CONJUGATE: [u64; 2] = [2, 4];
/// Tiles and matrices at most, as grids have them.
const MOST: u64 = 65535;

/// A matrix, or a row of them: where it is, elements between columns, and between matrices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Matrix {
    pub(super) address: u64,
    pub(super) leading: i64,
    pub(super) between: i64,
}

/// What is done with each result: a number for its row is added, and a function applied whose argument may be kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Finish {
    pub(super) kinds: u64,
    pub(super) bias: u64,
    pub(super) kept: Matrix,
}

/// `d = alpha op(a) op(b) + beta c`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    pub(super) kernel: &'static str,
    pub(super) number: Number,
    pub(super) operations: [c_int; 2],
    pub(super) sizes: [u64; 3],
    /// Addresses of both factors.
    pub(super) alpha: u64,
    pub(super) beta: u64,
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) c: Matrix,
    pub(super) d: Matrix,
    pub(super) lists: bool,
    pub(super) count: u64,
    pub(super) finish: Finish,
}

/// Steps between rows and between columns of a matrix after an operation on it.
fn steps(operation: c_int, leading: i64) -> [i64; 2] {
    if operation == NONE { [1, leading] } else { [leading, 1] }
}

impl State {
    /// Multiplies, with factors on the device or on the host.
    pub(super) fn multiply(&mut self, product: Product, on_device: bool, stream: Stream) -> Result {
        let Product { operations, sizes: [m, n, k], a, b, c, d, .. } = product;
        operations.iter().try_for_each(|operation| check_operation(*operation))?;
        let rows = |operation: c_int, rows: u64, columns: u64| if operation == NONE { rows } else { columns };
        check_leading(a.leading, rows(operations[0], m, k))?;
        check_leading(b.leading, rows(operations[1], k, n))?;
        check_leading(c.leading, m)?;
        check_leading(d.leading, m)?;
        let alpha = Factor::at(product.alpha, product.number, on_device)?;
        let beta = Factor::at(product.beta, product.number, on_device)?;
        let stream = self.stream(stream)?;
        if m == 0 || n == 0 || product.count == 0 {
            return Ok(());
        }
        // What is multiplied by zero is not read.
        let depth = if alpha.is_zero() { 0 } else { k };
        let conjugated = operations.iter().zip(CONJUGATE).filter(|(operation, _)| **operation == CONJUGATED);
        let flags = u64::from(product.lists) * LISTS + conjugated.map(|(_, flag)| flag).sum::<u64>();
        let finish = product.finish;
        let parameters = Parameters::default()
            .words([a, b, c, d].map(|matrix| matrix.address))
            .numbers([a, b, c, d].map(|matrix| matrix.between))
            .numbers(steps(operations[0], a.leading))
            .numbers(steps(operations[1], b.leading))
            .numbers([c.leading, d.leading])
            .words([m, n, depth]);
        let parameters = beta.put(alpha.put(parameters)).words([flags, finish.kinds, finish.bias]);
        let parameters =
            parameters.words([finish.kept.address]).numbers([finish.kept.leading, finish.kept.between]);
        let (tiles, columns) = (m.div_ceil(TILE), n.div_ceil(TILE));
        if columns > MOST || product.count > MOST {
            return Err(Error::NOT_SUPPORTED);
        }
        let grid = [tiles as u32, columns as u32, product.count as u32];
        self.launch_of_library(&KERNELS, product.kernel, (grid, THREADS), parameters, stream)
    }
}
