//! Hashes of addresses: functions from a chunk to its L2 slice, and with it to its DRAM channel (GPGPU-Sim's
//! `memory_partition_indexing`).
//!
//! A hash is one file and one line in the list. It returns a [`SliceFunction`] when a machine is read; the functions of this
//! folder are called directly, without a function pointer.

counterpoint_framework::variants! {
    /// Registers the hashes of this folder.
    pub(crate) fn register, of dyn SliceHash;

    mod none::InTurn;
    mod xor::Xor;
    mod ipoly::Ipoly;
    mod random::Random;
}

use std::fmt;
use std::sync::Arc;

use ipoly::IpolyFunction;
use random::RandomFunction;
use xor::XorFunction;

/// The parts to which the chunks of memory go in turn: L2 slices, or channels where bits of the bank choose the slice of a channel.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SliceParts {
    /// Number of parts.
    pub parts: u32,
    /// Slices of a part: one, or a power of two.
    pub each: u32,
    /// Binary logarithm of the bytes of a chunk.
    pub chunk: u32,
}

impl SliceParts {
    pub(super) fn new(parts: u32, each: u32, chunk: u32) -> Self {
        SliceParts { parts, each, chunk }
    }

    /// Number of slices.
    pub fn slices(&self) -> u32 {
        self.parts * self.each
    }
}

/// A way of finding the slice of an address.
pub trait SliceHash {
    /// The function for these slices.
    ///
    /// # Errors
    /// If there is none for this number of slices: a sentence with the required number, and the given one.
    fn function(&self, parts: &SliceParts) -> Result<SliceFunction, String>;
}

/// A function from chunks to slices, in the form in which it is used.
#[derive(Clone)]
pub struct SliceFunction(pub(super) Form);

/// Forms that are used without a call by pointer, and any other.
#[derive(Clone)]
pub(super) enum Form {
    InTurn,
    Xor(XorFunction),
    Ipoly(IpolyFunction),
    Random(RandomFunction),
    Other(Arc<dyn Fn(u64, u32) -> u32 + Send + Sync>),
}

impl SliceFunction {
    /// A function of a chunk's turn and of the slice that it would have without a hash. The turn is the number of chunks of its part before
    /// it, so each chunk has a different pair of turn and slice. If the function permutes the slices within each turn, all slices are
    /// equally full.
    pub fn new(function: impl Fn(u64, u32) -> u32 + Send + Sync + 'static) -> Self {
        SliceFunction(Form::Other(Arc::new(function)))
    }

    /// Whether chunks go to the slices in turn.
    #[inline]
    pub(super) fn is_in_turn(&self) -> bool {
        matches!(self.0, Form::InTurn)
    }
}

impl fmt::Debug for SliceFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::InTurn => f.write_str("InTurn"),
            Form::Xor(xor) => xor.fmt(f),
            Form::Ipoly(ipoly) => ipoly.fmt(f),
            Form::Random(random) => random.fmt(f),
            Form::Other(_) => f.write_str("Other"),
        }
    }
}
