//! The functions that the host calls of cuRAND. Their kernels are in `kernels/curand.cu`.
//!
//! Values are those of NVIDIA's library in the order that is its default, as long as a generator makes values of one kind: value `i` is the next one
//! of sequence `i` modulo the number of sequences. A normal distribution takes two numbers for a pair of values. Sobol sequences have their dimensions
//! one behind another.

pub(super) mod distributions;
pub(super) mod generators;
mod jumps;
mod sobol;

use crate::errors::{Error, Result};
use crate::libraries::{Kernels, own};
use crate::made::curand::Generator;
use crate::state::State;

const KERNELS: Kernels = Kernels("curand");

/// Results of the library: the generator is none, is of another kind, and a count is no multiple of what it must be.
const NOT_INITIALIZED: Error = own(101);
const TYPE: Error = own(103);
const NOT_MULTIPLE: Error = own(105);

impl State {
    fn generator(&mut self, handle: u64) -> Result<&mut Generator> {
        self.libraries.curand.generators.get_mut(&handle).ok_or(NOT_INITIALIZED)
    }
}
