//! The functions of cuBLAS, and of the part of cuBLASLt that multiplies matrices. Their kernels are in `kernels/cublas.cu`.

pub(super) mod extended;
pub(super) mod gemm;
pub(super) mod handles;
pub(super) mod light;
pub(super) mod planes;
mod product;
pub(super) mod transfers;
pub(super) mod vectors;

use std::ffi::c_int;

use crate::errors::{Error, Result};
use crate::foreign::read;
use crate::libraries::{Kernels, Parameters, own};
use crate::made::cublas::Handle;
use crate::state::State;

const KERNELS: Kernels = Kernels("cublas");

/// A result of the library: the handle is none.
const NOT_INITIALIZED: Error = own(1);

impl State {
    fn cublas(&mut self, handle: u64) -> Result<&mut Handle> {
        self.libraries.cublas.handles.get_mut(&handle).ok_or(NOT_INITIALIZED)
    }
}

/// A type of numbers that kernels compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Half,
    Float,
    Double,
    Complex,
    DoubleComplex,
    Int,
}

impl Number {
    fn bytes(self) -> u64 {
        match self {
            Number::Half => 2,
            Number::Float | Number::Int => 4,
            Number::Double | Number::Complex => 8,
            Number::DoubleComplex => 16,
        }
    }

    /// The end of the names of kernels.
    fn name(self) -> &'static str {
        match self {
            Number::Half => "f16",
            Number::Float => "f32",
            Number::Double => "f64",
            Number::Complex => "c32",
            Number::DoubleComplex => "c64",
            Number::Int => "i32",
        }
    }

    /// Both parts of a value.
    fn value(self, bytes: &[u8]) -> [f64; 2] {
        let word = |index: usize| bytes.as_chunks().0.get(index).copied().unwrap_or_default();
        let double =
            |index: usize| bytes.as_chunks().0.get(index).map_or(0.0, |bytes| f64::from_le_bytes(*bytes));
        let float = |index: usize| f64::from(f32::from_le_bytes(word(index)));
        match self {
            Number::Half => [of_half(u16::from_le_bytes([bytes[0], bytes[1]])), 0.0],
            Number::Float => [float(0), 0.0],
            Number::Double => [double(0), 0.0],
            Number::Complex => [float(0), float(1)],
            Number::DoubleComplex => [double(0), double(1)],
            Number::Int => [f64::from(i32::from_le_bytes(word(0))), 0.0],
        }
    }
}

/// The value of a number of 16 bits.
fn of_half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// A factor as kernels take it: a value, or the address of one on the device.
#[derive(Clone, Copy, Debug, Default)]
struct Factor {
    value: [f64; 2],
    address: u64,
    is_half: bool,
}

impl Factor {
    fn at(address: u64, number: Number, on_device: bool) -> Result<Self> {
        if address == 0 {
            return Err(Error::INVALID_VALUE);
        }
        if on_device {
            return Ok(Factor { address, is_half: number == Number::Half, ..Factor::default() });
        }
        let value = number.value(&read(address, number.bytes())?);
        Ok(Factor { value, ..Factor::default() })
    }

    fn is_zero(self) -> bool {
        self.address == 0 && self.value == [0.0; 2]
    }

    fn put(self, parameters: Parameters) -> Parameters {
        let [re, im] = self.value.map(f64::to_bits);
        parameters.words([re, im, self.address, self.is_half.into()])
    }
}

/// Operations on a matrix: none, transposed, and transposed with each element conjugated.
const NONE: c_int = 0;
const CONJUGATED: c_int = 2;

fn check_operation(operation: c_int) -> Result {
    if (NONE..=CONJUGATED).contains(&operation) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// A size, which is not negative.
fn size(number: c_int) -> Result<u64> {
    u64::try_from(number).map_err(|_| Error::INVALID_VALUE)
}

/// Elements between columns of so many rows.
fn check_leading(leading: i64, rows: u64) -> Result {
    if leading >= rows.max(1) as i64 { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_the_values_of_the_standard() {
        let values = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00].map(of_half);
        assert_eq!(values, [1.0, -2.0, 65504.0, 2f64.powi(-24), 2f64.powi(-14), f64::INFINITY]);
        assert!(of_half(0x7e00).is_nan());
    }
}
