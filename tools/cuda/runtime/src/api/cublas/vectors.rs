//! Functions of vectors.

use std::ffi::{c_int, c_void};

use super::super::copies::TO_HOST;
use super::super::entries;
use super::{Factor, KERNELS, Number};
use crate::errors::{Error, Result};
use crate::libraries::Parameters;
use crate::pitched::{flat, line};
use crate::state::State;
use crate::words::{Argument, Words};

/// Threads of a block (`kernels/cublas.cu`).
pub(super) const THREADS: u32 = 128;

/// A vector: where it is, and elements from each to the next.
#[derive(Clone, Copy, Default)]
pub(super) struct Vector {
    pub(super) address: u64,
    pub(super) step: i64,
}

impl Argument for Vector {
    fn take(words: &mut Words) -> Result<Self> {
        Ok(Vector { address: u64::take(words)?, step: c_int::take(words)?.into() })
    }
}

/// The grid for so many threads.
pub(super) fn blocks(threads: u64) -> Result<[u32; 3]> {
    let blocks = threads.div_ceil(THREADS.into());
    Ok([u32::try_from(blocks).map_err(|_| Error::INVALID_VALUE)?, 1, 1])
}

/// Vectors of a call, and its number of elements.
struct Call {
    handle: u64,
    n: c_int,
    x: Vector,
    y: Vector,
}

impl State {
    fn parameters(call: &Call, n: u64, result: u64, alpha: Factor, flag: bool) -> Parameters {
        let Call { x, y, .. } = call;
        let parameters = Parameters::default().words([x.address, y.address, result]);
        alpha.put(parameters.numbers([x.step, y.step]).words([n])).words([flag.into()])
    }

    /// Changes the elements of vectors, with a factor or without one.
    fn each(&mut self, function: &str, number: Number, call: &Call, alpha: Option<u64>) -> Result {
        let handle = *self.cublas(call.handle)?;
        let alpha = alpha.map(|alpha| Factor::at(alpha, number, handle.on_device)).transpose()?;
        let stream = self.stream(handle.stream)?;
        let n = u64::try_from(call.n).unwrap_or(0);
        if n == 0 {
            return Ok(());
        }
        let parameters = Self::parameters(call, n, 0, alpha.unwrap_or_default(), false);
        let name = format!("{function}_{}", number.name());
        self.launch_of_library(&KERNELS, &name, (blocks(n)?, THREADS), parameters, stream)
    }

    /// Computes one result of `bytes` from vectors, and puts it where the program wants it.
    fn reduce(
        &mut self,
        function: &str,
        number: Number,
        call: &Call,
        (result, bytes): (u64, u64),
        flag: bool,
    ) -> Result {
        let handle = *self.cublas(call.handle)?;
        if result == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let stream = self.stream(handle.stream)?;
        let place = if handle.on_device { result } else { self.scratch(call.handle)? };
        let n = u64::try_from(call.n).unwrap_or(0);
        let parameters = Self::parameters(call, n, place, Factor::default(), flag);
        let name = format!("{function}_{}", number.name());
        self.launch_of_library(&KERNELS, &name, ([1; 3], THREADS), parameters, stream)?;
        if handle.on_device {
            return Ok(());
        }
        let at = |address: u64| line(std::ptr::without_provenance::<c_void>(address as usize));
        self.copy((at(result), at(place)), flat(bytes as usize), TO_HOST, stream, true)
    }

    /// Memory of the device for a result that the host wants.
    fn scratch(&mut self, handle: u64) -> Result<u64> {
        let place = self.cublas(handle)?.scratch;
        if place != 0 {
            return Ok(place);
        }
        let place = self.allocate(Number::DoubleComplex.bytes())?;
        self.cublas(handle)?.scratch = place;
        Ok(place)
    }
}

/// Words of a function of one vector and a factor, and of a result.
struct Scale(Call, u64);
struct Axpy(Call, u64);
struct Two(Call);
struct OneToResult(Call, u64);
struct TwoToResult(Call, u64);

impl Argument for Scale {
    fn take(words: &mut Words) -> Result<Self> {
        let (handle, n, alpha) = (u64::take(words)?, c_int::take(words)?, u64::take(words)?);
        let x = Vector::take(words)?;
        // Elements in reverse are none.
        let n = if x.step > 0 { n } else { 0 };
        Ok(Scale(Call { handle, n, x, y: Vector::default() }, alpha))
    }
}

impl Argument for Axpy {
    fn take(words: &mut Words) -> Result<Self> {
        let (handle, n, alpha) = (u64::take(words)?, c_int::take(words)?, u64::take(words)?);
        Ok(Axpy(Call { handle, n, x: Vector::take(words)?, y: Vector::take(words)? }, alpha))
    }
}

impl Argument for Two {
    fn take(words: &mut Words) -> Result<Self> {
        let (handle, n) = (u64::take(words)?, c_int::take(words)?);
        Ok(Two(Call { handle, n, x: Vector::take(words)?, y: Vector::take(words)? }))
    }
}

impl Argument for OneToResult {
    fn take(words: &mut Words) -> Result<Self> {
        let (handle, n, x) = (u64::take(words)?, c_int::take(words)?, Vector::take(words)?);
        let n = if x.step > 0 { n } else { 0 };
        Ok(OneToResult(Call { handle, n, x, y: Vector::default() }, u64::take(words)?))
    }
}

impl Argument for TwoToResult {
    fn take(words: &mut Words) -> Result<Self> {
        let Two(call) = Two::take(words)?;
        Ok(TwoToResult(call, u64::take(words)?))
    }
}

impl Axpy {
    fn run(&self, state: &mut State, number: Number) -> Result {
        state.each("axpy", number, &self.0, Some(self.1))
    }
}

impl Scale {
    fn run(&self, state: &mut State, number: Number) -> Result {
        state.each("scal", number, &self.0, Some(self.1))
    }
}

impl TwoToResult {
    fn run(&self, state: &mut State, number: Number, conjugated: bool) -> Result {
        state.reduce("dot", number, &self.0, (self.1, number.bytes()), conjugated)
    }
}

impl OneToResult {
    fn run(&self, state: &mut State, function: &str, number: Number) -> Result {
        state.reduce(function, number, &self.0, (self.1, number.bytes()), false)
    }

    /// The number of an element: the largest one, or the smallest.
    fn place(&self, state: &mut State, number: Number, smallest: bool) -> Result {
        state.reduce("amax", number, &self.0, (self.1, size_of::<c_int>() as u64), smallest)
    }
}

entries! {
    fn cublasSaxpy_v2(call: Axpy) |state| { call.run(state, Number::Float) }
    fn cublasDaxpy_v2(call: Axpy) |state| { call.run(state, Number::Double) }
    fn cublasCaxpy_v2(call: Axpy) |state| { call.run(state, Number::Complex) }
    fn cublasZaxpy_v2(call: Axpy) |state| { call.run(state, Number::DoubleComplex) }

    fn cublasSscal_v2(call: Scale) |state| { call.run(state, Number::Float) }
    fn cublasDscal_v2(call: Scale) |state| { call.run(state, Number::Double) }
    fn cublasCscal_v2(call: Scale) |state| { call.run(state, Number::Complex) }
    fn cublasZscal_v2(call: Scale) |state| { call.run(state, Number::DoubleComplex) }

    fn cublasScopy_v2(call: Two) |state| { state.each("copy", Number::Float, &call.0, None) }
    fn cublasDcopy_v2(call: Two) |state| { state.each("copy", Number::Double, &call.0, None) }
    fn cublasCcopy_v2(call: Two) |state| { state.each("copy", Number::Complex, &call.0, None) }
    fn cublasZcopy_v2(call: Two) |state| { state.each("copy", Number::DoubleComplex, &call.0, None) }

    fn cublasSswap_v2(call: Two) |state| { state.each("swap", Number::Float, &call.0, None) }
    fn cublasDswap_v2(call: Two) |state| { state.each("swap", Number::Double, &call.0, None) }
    fn cublasCswap_v2(call: Two) |state| { state.each("swap", Number::Complex, &call.0, None) }
    fn cublasZswap_v2(call: Two) |state| { state.each("swap", Number::DoubleComplex, &call.0, None) }

    fn cublasSdot_v2(call: TwoToResult) |state| { call.run(state, Number::Float, false) }
    fn cublasDdot_v2(call: TwoToResult) |state| { call.run(state, Number::Double, false) }
    fn cublasCdotu_v2(call: TwoToResult) |state| { call.run(state, Number::Complex, false) }
    fn cublasCdotc_v2(call: TwoToResult) |state| { call.run(state, Number::Complex, true) }
    fn cublasZdotu_v2(call: TwoToResult) |state| { call.run(state, Number::DoubleComplex, false) }
    fn cublasZdotc_v2(call: TwoToResult) |state| { call.run(state, Number::DoubleComplex, true) }

    fn cublasSnrm2_v2(call: OneToResult) |state| { call.run(state, "nrm2", Number::Float) }
    fn cublasDnrm2_v2(call: OneToResult) |state| { call.run(state, "nrm2", Number::Double) }
    fn cublasSasum_v2(call: OneToResult) |state| { call.run(state, "asum", Number::Float) }
    fn cublasDasum_v2(call: OneToResult) |state| { call.run(state, "asum", Number::Double) }
    fn cublasIsamax_v2(call: OneToResult) |state| { call.place(state, Number::Float, false) }
    fn cublasIdamax_v2(call: OneToResult) |state| { call.place(state, Number::Double, false) }
    fn cublasIsamin_v2(call: OneToResult) |state| { call.place(state, Number::Float, true) }
    fn cublasIdamin_v2(call: OneToResult) |state| { call.place(state, Number::Double, true) }
}
