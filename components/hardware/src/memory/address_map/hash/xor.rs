//! The number of the channel XORed with higher bits of the address (GPGPU-Sim's `BITWISE_PERMUTATION`).

use counterpoint_framework::model::Variant;

use super::{Form, SliceFunction, SliceHash, SliceParts};

/// The hash `xor`.
pub(super) struct Xor;

impl Variant<dyn SliceHash> for Xor {
    const NAME: &'static str = "xor";
    const DOC: &'static str = "The channel number is XORed with an equal number of higher address bits; for a power of two of channels.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn SliceHash>, String> {
        Ok(Box::new(Xor))
    }
}

/// Crosses the part with these bits of the turn, the lowest first.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct XorFunction {
    /// Binary logarithm of the slices of a part.
    each: u32,
    mask: u64,
}

impl SliceHash for Xor {
    fn function(&self, parts: &SliceParts) -> Result<SliceFunction, String> {
        let &SliceParts { parts, each, .. } = parts;
        if !parts.is_power_of_two() {
            return Err(format!("xor is for a power of two of channels, and these are {parts}"));
        }
        let (each, mask) = (each.ilog2(), u64::from(parts) - 1);
        Ok(SliceFunction(Form::Xor(XorFunction { each, mask })))
    }
}

impl XorFunction {
    #[inline]
    pub(in super::super) fn slice(&self, turn: u64, plain: u32) -> u32 {
        // The bits right above those of the slice.
        plain ^ ((turn >> self.each & self.mask) as u32) << self.each
    }
}
