//! Functions of a matrix and vectors.

use std::ffi::c_int;

use super::super::entries;
use super::product::Matrix;
use super::vectors::{THREADS, Vector, blocks};
use super::{CONJUGATED, Factor, KERNELS, NONE, Number, check_leading, check_operation, size};
use crate::errors::{Error, Result};
use crate::libraries::Parameters;
use crate::state::State;
use crate::words::{Argument, Words};

/// The words of `y = alpha op(a) x + beta y`.
struct Gemv {
    handle: u64,
    operation: c_int,
    sizes: [c_int; 2],
    alpha: u64,
    a: Matrix,
    x: Vector,
    beta: u64,
    y: Vector,
}

impl Argument for Gemv {
    fn take(words: &mut Words) -> Result<Self> {
        let (handle, operation) = (u64::take(words)?, c_int::take(words)?);
        let sizes = [c_int::take(words)?, c_int::take(words)?];
        let (alpha, a, x) = (u64::take(words)?, Matrix::take(words)?, Vector::take(words)?);
        Ok(Gemv { handle, operation, sizes, alpha, a, x, beta: u64::take(words)?, y: Vector::take(words)? })
    }
}

/// The words of `a = alpha x y + a`.
struct Ger {
    handle: u64,
    sizes: [c_int; 2],
    alpha: u64,
    x: Vector,
    y: Vector,
    a: Matrix,
}

impl Argument for Ger {
    fn take(words: &mut Words) -> Result<Self> {
        let handle = u64::take(words)?;
        let sizes = [c_int::take(words)?, c_int::take(words)?];
        let (alpha, x, y) = (u64::take(words)?, Vector::take(words)?, Vector::take(words)?);
        Ok(Ger { handle, sizes, alpha, x, y, a: Matrix::take(words)? })
    }
}

fn parameters(
    a: Matrix,
    [x, y]: [Vector; 2],
    [m, n]: [u64; 2],
    factors: [Factor; 2],
    conjugated: bool,
) -> Parameters {
    let parameters = Parameters::default().words([a.address, x.address, y.address]);
    let parameters = parameters.numbers([a.leading, x.step, y.step]).words([m, n]);
    factors[1].put(factors[0].put(parameters)).words([conjugated.into()])
}

fn check_steps(vectors: [Vector; 2]) -> Result {
    if vectors.iter().any(|vector| vector.step == 0) { Err(Error::INVALID_VALUE) } else { Ok(()) }
}

impl Gemv {
    fn run(&self, state: &mut State, number: Number) -> Result {
        let handle = *state.cublas(self.handle)?;
        check_operation(self.operation)?;
        let [m, n] = [size(self.sizes[0])?, size(self.sizes[1])?];
        check_leading(self.a.leading, m)?;
        check_steps([self.x, self.y])?;
        let factors = [
            Factor::at(self.alpha, number, handle.on_device)?,
            Factor::at(self.beta, number, handle.on_device)?,
        ];
        let stream = state.stream(handle.stream)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let parameters = parameters(self.a, [self.x, self.y], [m, n], factors, self.operation == CONJUGATED);
        let (name, grid) = match self.operation {
            NONE => ("gemv_n", blocks(m)?),
            _ => ("gemv_t", [n as u32, 1, 1]),
        };
        let name = format!("{name}_{}", number.name());
        state.launch_of_library(&KERNELS, &name, (grid, THREADS), parameters, stream)
    }
}

impl Ger {
    fn run(&self, state: &mut State, number: Number) -> Result {
        let handle = *state.cublas(self.handle)?;
        let [m, n] = [size(self.sizes[0])?, size(self.sizes[1])?];
        check_leading(self.a.leading, m)?;
        check_steps([self.x, self.y])?;
        let alpha = Factor::at(self.alpha, number, handle.on_device)?;
        let stream = state.stream(handle.stream)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let parameters = parameters(self.a, [self.x, self.y], [m, n], [alpha, Factor::default()], false);
        let name = format!("ger_{}", number.name());
        state.launch_of_library(&KERNELS, &name, (blocks(m * n)?, THREADS), parameters, stream)
    }
}

entries! {
    fn cublasSgemv_v2(call: Gemv) |state| { call.run(state, Number::Float) }
    fn cublasDgemv_v2(call: Gemv) |state| { call.run(state, Number::Double) }
    fn cublasCgemv_v2(call: Gemv) |state| { call.run(state, Number::Complex) }
    fn cublasZgemv_v2(call: Gemv) |state| { call.run(state, Number::DoubleComplex) }

    fn cublasSger_v2(call: Ger) |state| { call.run(state, Number::Float) }
    fn cublasDger_v2(call: Ger) |state| { call.run(state, Number::Double) }
}
