//! A slice drawn at random for every chunk (GPGPU-Sim's `RANDOM`, which keeps a table).

use counterpoint_framework::model::Variant;
use counterpoint_protocols::memory::LINE_BYTES;

use super::{Form, SliceFunction, SliceHash, SliceParts};

/// The hash `random`.
pub(super) struct Random;

impl Variant<dyn SliceHash> for Random {
    const NAME: &'static str = "random";
    const DOC: &'static str = "The slice of a chunk is pseudo-random, the same in every run.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn SliceHash>, String> {
        Ok(Box::new(Random))
    }
}

/// Draws for chunks of 2^`chunk` bytes, which are smaller where a part has several slices.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct RandomFunction {
    pub(in super::super) chunk: u32,
    slices: u64,
}

impl SliceHash for Random {
    fn function(&self, parts: &SliceParts) -> Result<SliceFunction, String> {
        let chunk = (parts.chunk - parts.each.ilog2()).max(LINE_BYTES.trailing_zeros());
        Ok(SliceFunction(Form::Random(RandomFunction { chunk, slices: parts.slices().into() })))
    }
}

impl RandomFunction {
    #[inline]
    pub(in super::super) fn slice(&self, address: u64) -> u32 {
        ((u128::from(mix(address >> self.chunk)) * u128::from(self.slices)) >> 64) as u32
    }
}

/// A number that depends on all bits of another one (the finalizer of SplitMix64).
#[inline]
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
