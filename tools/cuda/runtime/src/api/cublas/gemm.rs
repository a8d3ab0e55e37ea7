//! Products of matrices of one type: one product, as many as a list has, or as many as lie at even distances.

use std::ffi::c_int;

use super::super::entries;
use super::product::{Finish, Matrix, Product};
use super::{Number, size};
use crate::errors::{Error, Result};
use crate::state::State;
use crate::words::{Argument, Words};

/// Words in front of a product: its handle, operations, sizes, and a factor.
#[derive(Clone, Copy)]
pub(super) struct Front {
    pub(super) handle: u64,
    pub(super) operations: [c_int; 2],
    pub(super) sizes: [c_int; 3],
    pub(super) alpha: u64,
}

impl Argument for Front {
    fn take(words: &mut Words) -> Result<Self> {
        let handle = u64::take(words)?;
        let operations = [c_int::take(words)?, c_int::take(words)?];
        let sizes = [c_int::take(words)?, c_int::take(words)?, c_int::take(words)?];
        Ok(Front { handle, operations, sizes, alpha: u64::take(words)? })
    }
}

impl Front {
    pub(super) fn sizes(self) -> Result<[u64; 3]> {
        let [m, n, k] = self.sizes;
        Ok([size(m)?, size(n)?, size(k)?])
    }
}

/// A matrix as an address and elements between columns.
impl Argument for Matrix {
    fn take(words: &mut Words) -> Result<Self> {
        let (address, leading) = (u64::take(words)?, c_int::take(words)?);
        Ok(Matrix { address, leading: leading.into(), between: 0 })
    }
}

/// Matrices at even distances.
#[derive(Clone, Copy)]
struct Even(Matrix);

impl Argument for Even {
    fn take(words: &mut Words) -> Result<Self> {
        let matrix = Matrix::take(words)?;
        Ok(Even(Matrix { between: u64::take(words)? as i64, ..matrix }))
    }
}

/// The words of one product, or of products in lists.
struct One {
    front: Front,
    a: Matrix,
    b: Matrix,
    beta: u64,
    c: Matrix,
}

impl Argument for One {
    fn take(words: &mut Words) -> Result<Self> {
        let (front, a, b) = (Front::take(words)?, Matrix::take(words)?, Matrix::take(words)?);
        Ok(One { front, a, b, beta: u64::take(words)?, c: Matrix::take(words)? })
    }
}

/// The words of products at even distances.
struct Many(One);

impl Argument for Many {
    fn take(words: &mut Words) -> Result<Self> {
        let (front, Even(a), Even(b)) = (Front::take(words)?, Even::take(words)?, Even::take(words)?);
        let (beta, Even(c)) = (u64::take(words)?, Even::take(words)?);
        Ok(Many(One { front, a, b, beta, c }))
    }
}

impl State {
    fn gemm(&mut self, number: Number, one: One, (count, lists): (c_int, bool)) -> Result {
        let One { front, a, b, beta, c } = one;
        let handle = *self.cublas(front.handle)?;
        let kernel = match number {
            Number::Half => "gemm_f16",
            Number::Float => "gemm_f32",
            Number::Double => "gemm_f64",
            Number::Complex => "gemm_c32",
            Number::DoubleComplex => "gemm_c64",
            Number::Int => return Err(Error::NOT_SUPPORTED),
        };
        let product = Product {
            kernel,
            number,
            operations: front.operations,
            sizes: front.sizes()?,
            alpha: front.alpha,
            beta,
            a,
            b,
            c,
            d: c,
            lists,
            count: size(count)?,
            finish: Finish::default(),
        };
        self.multiply(product, handle.on_device, handle.stream)
    }
}

entries! {
    fn cublasSgemm_v2(one: One) |state| { state.gemm(Number::Float, one, (1, false)) }
    fn cublasDgemm_v2(one: One) |state| { state.gemm(Number::Double, one, (1, false)) }
    fn cublasCgemm_v2(one: One) |state| { state.gemm(Number::Complex, one, (1, false)) }
    fn cublasZgemm_v2(one: One) |state| { state.gemm(Number::DoubleComplex, one, (1, false)) }
    fn cublasHgemm(one: One) |state| { state.gemm(Number::Half, one, (1, false)) }

    fn cublasSgemmBatched(one: One, count: c_int) |state| { state.gemm(Number::Float, one, (count, true)) }
    fn cublasDgemmBatched(one: One, count: c_int) |state| { state.gemm(Number::Double, one, (count, true)) }
    fn cublasCgemmBatched(one: One, count: c_int) |state| { state.gemm(Number::Complex, one, (count, true)) }
    fn cublasZgemmBatched(one: One, count: c_int) |state| { state.gemm(Number::DoubleComplex, one, (count, true)) }
    fn cublasHgemmBatched(one: One, count: c_int) |state| { state.gemm(Number::Half, one, (count, true)) }

    fn cublasSgemmStridedBatched(many: Many, count: c_int) |state| { state.gemm(Number::Float, many.0, (count, false)) }
    fn cublasDgemmStridedBatched(many: Many, count: c_int) |state| { state.gemm(Number::Double, many.0, (count, false)) }
    fn cublasCgemmStridedBatched(many: Many, count: c_int) |state| { state.gemm(Number::Complex, many.0, (count, false)) }
    fn cublasZgemmStridedBatched(many: Many, count: c_int) |state| {
        state.gemm(Number::DoubleComplex, many.0, (count, false))
    }
    fn cublasHgemmStridedBatched(many: Many, count: c_int) |state| { state.gemm(Number::Half, many.0, (count, false)) }
}
