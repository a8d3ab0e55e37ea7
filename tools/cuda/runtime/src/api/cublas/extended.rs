//! Products of matrices whose types are arguments.

use std::ffi::c_int;

use super::super::entries;
use super::gemm::Front;
use super::product::{Finish, Matrix, Product};
use super::{Number, size};
use crate::errors::{Error, Result};
use crate::state::State;
use crate::words::{Argument, Words};

/// Types of elements (`cudaDataType` in CUDA's `library_types.h`).
const FLOAT: c_int = 0;
const DOUBLE: c_int = 1;
const HALF: c_int = 2;
const BYTE: c_int = 3;
const COMPLEX: c_int = 4;
const DOUBLE_COMPLEX: c_int = 5;
const INT: c_int = 10;
const BFLOAT: c_int = 14;

/// The number type of the results before they are stored (`cublasComputeType_t`), by the type of stored elements.
pub(super) fn computed(compute: c_int, stored: c_int) -> Result<Number> {
    Ok(match (compute, stored) {
        (64 | 65, HALF) => Number::Half,
        (68 | 69 | 74 | 75 | 77 | 78, COMPLEX) => Number::Complex,
        (68 | 69 | 74 | 75 | 77 | 78, FLOAT | HALF | BFLOAT) => Number::Float,
        (70 | 71 | 79, DOUBLE_COMPLEX) => Number::DoubleComplex,
        (70 | 71 | 79, DOUBLE) => Number::Double,
        (72 | 73, INT) => Number::Int,
        _ => return Err(Error::NOT_SUPPORTED),
    })
}

/// The kernel for types of elements of a, b and c.
pub(super) fn kernel(types: [c_int; 3], number: Number) -> Result<&'static str> {
    Ok(match (types, number) {
        ([FLOAT, FLOAT, FLOAT], Number::Float) => "gemm_f32",
        ([DOUBLE, DOUBLE, DOUBLE], Number::Double) => "gemm_f64",
        ([COMPLEX, COMPLEX, COMPLEX], Number::Complex) => "gemm_c32",
        ([DOUBLE_COMPLEX, DOUBLE_COMPLEX, DOUBLE_COMPLEX], Number::DoubleComplex) => "gemm_c64",
        ([HALF, HALF, HALF], Number::Half | Number::Float) => "gemm_f16",
        ([HALF, HALF, FLOAT], Number::Float) => "gemm_f16_f32",
        ([BFLOAT, BFLOAT, BFLOAT], Number::Float) => "gemm_bf16",
        ([BFLOAT, BFLOAT, FLOAT], Number::Float) => "gemm_bf16_f32",
        ([BYTE, BYTE, INT], Number::Int) => "gemm_i8_i32",
        _ => return Err(Error::NOT_SUPPORTED),
    })
}

/// A matrix with its type; where matrices lie at even distances, with those.
struct Typed<const EVEN: bool>(Matrix, c_int);

impl<const EVEN: bool> Argument for Typed<EVEN> {
    fn take(words: &mut Words) -> Result<Self> {
        let (address, kind, leading) = (u64::take(words)?, c_int::take(words)?, c_int::take(words)?);
        let between = if EVEN { u64::take(words)? as i64 } else { 0 };
        Ok(Typed(Matrix { address, leading: leading.into(), between }, kind))
    }
}

/// The words of products up to the third matrix.
struct Mixed<const EVEN: bool> {
    front: Front,
    beta: u64,
    matrices: [Matrix; 3],
    types: [c_int; 3],
}

impl<const EVEN: bool> Argument for Mixed<EVEN> {
    fn take(words: &mut Words) -> Result<Self> {
        let front = Front::take(words)?;
        let (a, b): (Typed<EVEN>, Typed<EVEN>) = (Argument::take(words)?, Argument::take(words)?);
        let (beta, c): (u64, Typed<EVEN>) = (Argument::take(words)?, Argument::take(words)?);
        Ok(Mixed { front, beta, matrices: [a.0, b.0, c.0], types: [a.1, b.1, c.1] })
    }
}

impl State {
    fn gemm_ex<const EVEN: bool>(
        &mut self,
        name: &str,
        mixed: &Mixed<EVEN>,
        (count, lists): (c_int, bool),
        compute: c_int,
    ) -> Result {
        let Mixed { front, beta, matrices: [a, b, c], types } = *mixed;
        let handle = *self.cublas(front.handle)?;
        let found = computed(compute, types[2]).and_then(|number| Ok((number, kernel(types, number)?)));
        let (number, kernel) = found.map_err(|_| {
            let [a, b, c] = types;
            self.refuse(name, &format!("types {a}, {b}, {c} with computation {compute} are not supported"))
        })?;
        let (operations, sizes, alpha) = (front.operations, front.sizes()?, front.alpha);
        let (count, finish) = (size(count)?, Finish::default());
        let product =
            Product { kernel, number, operations, sizes, alpha, beta, a, b, c, d: c, lists, count, finish };
        self.multiply(product, handle.on_device, handle.stream)
    }
}

/// The computation of functions that are not told one: single precision.
const SINGLE: c_int = 68;

entries! {
    fn cublasGemmEx(mixed: Mixed<false>, compute: c_int, _algorithm: c_int) |state| {
        state.gemm_ex("cublasGemmEx", &mixed, (1, false), compute)
    }

    fn cublasSgemmEx(mixed: Mixed<false>) |state| { state.gemm_ex("cublasSgemmEx", &mixed, (1, false), SINGLE) }

    fn cublasGemmBatchedEx(mixed: Mixed<false>, count: c_int, compute: c_int, _algorithm: c_int) |state| {
        state.gemm_ex("cublasGemmBatchedEx", &mixed, (count, true), compute)
    }

    fn cublasGemmStridedBatchedEx(mixed: Mixed<true>, count: c_int, compute: c_int, _algorithm: c_int) |state| {
        state.gemm_ex("cublasGemmStridedBatchedEx", &mixed, (count, false), compute)
    }
}
