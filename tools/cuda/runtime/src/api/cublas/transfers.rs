//! Copies of matrices and of vectors between host and device.

use std::ffi::{c_int, c_void};

use super::super::copies::{Kind, TO_DEVICE, TO_HOST};
use super::super::entries;
use super::size;
use crate::errors::{Error, Result};
use crate::made::Stream;
use crate::pitched::{pitched, plane};
use crate::state::State;
use crate::words::{Argument, Words};

/// The words of a copy: rows, columns and bytes of elements, where they are and where they go, with the elements from each column to the next.
struct Copy {
    sizes: [c_int; 3],
    from: (*const c_void, c_int),
    to: (*mut c_void, c_int),
}

struct OfMatrix(Copy);
/// A vector is a matrix with a row.
struct OfVector(Copy);

impl Argument for OfMatrix {
    fn take(words: &mut Words) -> Result<Self> {
        let sizes = [c_int::take(words)?, c_int::take(words)?, c_int::take(words)?];
        let from = (Argument::take(words)?, c_int::take(words)?);
        Ok(OfMatrix(Copy { sizes, from, to: (Argument::take(words)?, c_int::take(words)?) }))
    }
}

impl Argument for OfVector {
    fn take(words: &mut Words) -> Result<Self> {
        let sizes = [1, c_int::take(words)?, c_int::take(words)?];
        let from = (Argument::take(words)?, c_int::take(words)?);
        Ok(OfVector(Copy { sizes, from, to: (Argument::take(words)?, c_int::take(words)?) }))
    }
}

impl Copy {
    fn run(&self, state: &mut State, kind: Kind, stream: Option<Stream>) -> Result {
        let [rows, columns, bytes] = [size(self.sizes[0])?, size(self.sizes[1])?, size(self.sizes[2])?];
        let leading = [size(self.from.1)?, size(self.to.1)?];
        if bytes == 0 || leading.iter().any(|leading| *leading < rows.max(1)) {
            return Err(Error::INVALID_VALUE);
        }
        let pitch = leading.map(|leading| (leading * bytes) as usize);
        let places = (pitched(self.to.0, pitch[1]), pitched(self.from.0, pitch[0]));
        let shape = plane((rows * bytes) as usize, columns as usize);
        let number = match stream {
            Some(stream) => state.stream(stream)?,
            None => state.default_stream(),
        };
        state.copy(places, shape, kind, number, stream.is_none())
    }
}

entries! {
    fn cublasSetMatrix(copy: OfMatrix) |state| { copy.0.run(state, TO_DEVICE, None) }
    fn cublasGetMatrix(copy: OfMatrix) |state| { copy.0.run(state, TO_HOST, None) }
    fn cublasSetVector(copy: OfVector) |state| { copy.0.run(state, TO_DEVICE, None) }
    fn cublasGetVector(copy: OfVector) |state| { copy.0.run(state, TO_HOST, None) }
    fn cublasSetMatrixAsync(copy: OfMatrix, stream: Stream) |state| { copy.0.run(state, TO_DEVICE, Some(stream)) }
    fn cublasGetMatrixAsync(copy: OfMatrix, stream: Stream) |state| { copy.0.run(state, TO_HOST, Some(stream)) }
    fn cublasSetVectorAsync(copy: OfVector, stream: Stream) |state| { copy.0.run(state, TO_DEVICE, Some(stream)) }
    fn cublasGetVectorAsync(copy: OfVector, stream: Stream) |state| { copy.0.run(state, TO_HOST, Some(stream)) }
}
