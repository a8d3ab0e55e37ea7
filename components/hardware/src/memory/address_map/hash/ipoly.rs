//! The number of the chunk modulo an irreducible polynomial (GPGPU-Sim's `IPOLY`; Rau, "Pseudo-Randomly Interleaved Memory", ISCA
//! 1991).

use counterpoint_framework::model::Variant;

use super::{Form, SliceFunction, SliceHash, SliceParts};
use crate::memory::dram::divisor::Divisor;
use crate::memory::polynomial::Polynomial;

/// The hash `ipoly`.
pub(super) struct Ipoly;

impl Variant<dyn SliceHash> for Ipoly {
    const NAME: &'static str = "ipoly";
    const DOC: &'static str = "The slice is the chunk number modulo an irreducible polynomial, then modulo the slices if these are no \
                               power of two.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn SliceHash>, String> {
        Ok(Box::new(Ipoly))
    }
}

/// Bits of the turn below `shift` are left out; the result is taken modulo the slices.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct IpolyFunction {
    polynomial: Polynomial,
    shift: u32,
    slices: Divisor,
}

impl SliceHash for Ipoly {
    fn function(&self, parts: &SliceParts) -> Result<SliceFunction, String> {
        let (slices, &SliceParts { parts, each, .. }) = (parts.slices(), parts);
        let remainders = u64::from(parts.next_power_of_two() * each);
        let polynomial = Polynomial::of_remainders(remainders)
            .ok_or_else(|| format!("ipoly is for 3 to 1024 slices, and these are {slices}"))?;
        let shift = if parts.is_power_of_two() { each.ilog2() } else { 0 };
        Ok(SliceFunction(Form::Ipoly(IpolyFunction { polynomial, shift, slices: Divisor::new(slices) })))
    }
}

impl IpolyFunction {
    #[inline]
    pub(in super::super) fn slice(&self, turn: u64, plain: u32) -> u32 {
        let remainder = self.polynomial.remainder_above(turn >> self.shift) ^ u64::from(plain);
        self.slices.divide(remainder).1 as u32
    }
}
