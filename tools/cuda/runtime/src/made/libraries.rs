//! A program's objects of libraries above CUDA's runtime.

use std::collections::BTreeMap;

use super::cublas::Cublas;
use super::curand::Curand;

/// Kernels, handles and generators.
#[derive(Default)]
pub(crate) struct Libraries {
    /// Modules of kernels by the names of their libraries.
    pub(crate) modules: BTreeMap<&'static str, usize>,
    pub(crate) cublas: Cublas,
    pub(crate) curand: Curand,
}

impl Libraries {
    /// The device has lost its memory.
    pub(crate) fn forget(&mut self) {
        self.cublas.forget();
        self.curand.forget();
    }
}
