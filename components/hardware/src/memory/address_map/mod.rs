//! Map of addresses to L2 slices and DRAM channels. Declared once per GPU; the network, the slices and the controllers read
//! the same parameters.
//!
//! Consecutive chunks of `interleave` bytes go to the slices in turn; slice s belongs to channel s / (slices per
//! channel). With an address mask they go to the channels in turn, and the lowest bits of the bank choose the slice of
//! the channel, as in GPGPU-Sim's `addrdec`.
//!
//! A [hash] spreads strides that would meet few slices, and chooses the channel with the slice. Rows, banks, columns and sets
//! of caches stay those of the map without it, so two lines of one channel may have them in common; a channel then keeps
//! its bytes by the whole address.

pub mod hash;

use counterpoint_framework::model::{Choose, Invalid, Params};
use counterpoint_framework::time::Bytes;

use super::dram::divisor::Divisor;
use super::dram::mask::DramOrder;
use hash::{Form, SliceFunction, SliceHash, SliceParts};

/// How addresses are spread over slices and channels.
#[derive(Clone, Debug, Params)]
pub struct AddressMapParams {
    /// L2 slices in all.
    #[param(default = "1", min = "1")]
    pub slices: u32,
    /// L2 slices per DRAM channel.
    #[param(default = "1", min = "1")]
    pub slices_per_channel: u32,
    /// Bytes that lie together in one slice; a power of two.
    #[param(default = "256 B", min = "128 B", max = "4 GiB")]
    pub interleave: Bytes,
    /// Bits of an address that select row, bank and column of the DRAM.
    #[param(default = "row-bank-column")]
    pub dram: DramOrder,
    /// Hash from an address to its slice.
    #[param(default = "none")]
    pub hash: Choose<dyn SliceHash>,
}

/// The address map in the form in which it is used.
#[derive(Clone, Debug)]
pub struct AddressMap {
    /// A chunk of 2^`chunk` bytes goes to one of the parts, in turn: a slice, or with a mask a channel.
    chunk: u32,
    parts: Divisor,
    parts_per_channel: u32,
    slices_per_part: u32,
    /// The bits that choose the slice of a part, among the addresses of the part: where they begin, and how many.
    choice: u32,
    choice_bits: u32,
    slices: u32,
    hash: SliceFunction,
}

impl AddressMap {
    /// The map of these parameters.
    ///
    /// # Errors
    /// When lines would be split, slices cannot be shared out evenly, or the mask contradicts the rest.
    pub fn new(params: &AddressMapParams) -> Result<Self, Invalid> {
        let &AddressMapParams { slices, slices_per_channel, interleave, dram, ref hash } = params;
        let interleave = interleave.get();
        if !interleave.is_power_of_two() {
            return Err("interleave must be a power of two".into());
        }
        if !slices.is_multiple_of(slices_per_channel) {
            return Err("slices must be a multiple of slices_per_channel".into());
        }
        let chunk = interleave.trailing_zeros();
        let hash = |parts| {
            let function = hash.build().function(&parts);
            function.map_err(|cause| Invalid::from(format!("hash: {cause}")))
        };
        let DramOrder(Some(mask)) = dram else {
            let (parts, parts_per_channel) = (Divisor::new(slices), slices_per_channel);
            let hash = hash(SliceParts::new(slices, 1, chunk))?;
            return Ok(AddressMap {
                chunk,
                parts,
                parts_per_channel,
                slices_per_part: 1,
                choice: 0,
                choice_bits: 0,
                slices,
                hash,
            });
        };
        if mask.channel != chunk {
            let bit = mask.channel;
            return Err(
                format!("interleave is {interleave} B, and the mask's channel lies at bit {bit}").into()
            );
        }
        let choice_bits = slices_per_channel.trailing_zeros();
        let enough = mask.bank.count() >= choice_bits && mask.bank.adjacent(choice_bits);
        if !slices_per_channel.is_power_of_two() || !enough {
            return Err(format!(
                "{slices_per_channel} slices per channel cannot be chosen by neighbouring low bits of the mask's bank"
            )
            .into());
        }
        if choice_bits > 0 && mask.bank.lowest() < LINE_BITS {
            return Err("the lowest bit of the mask's bank would split lines between slices".into());
        }
        let hash = hash(SliceParts::new(slices / slices_per_channel, slices_per_channel, chunk))?;
        Ok(AddressMap {
            chunk,
            parts: Divisor::new(slices / slices_per_channel),
            parts_per_channel: 1,
            slices_per_part: slices_per_channel,
            choice: mask.bank.lowest() % u64::BITS,
            choice_bits,
            slices,
            hash,
        })
    }

    /// The address among those of its part, without gaps, and the part.
    #[inline]
    fn split(&self, address: u64) -> (u64, u64) {
        let (turn, part) = self.parts.divide(address >> self.chunk);
        (turn << self.chunk | address & low(self.chunk), part)
    }

    /// The slice that holds an address.
    ///
    /// # Panics
    /// If a hash of another crate names a slice that there is not.
    #[inline]
    pub fn slice(&self, address: u64) -> u32 {
        if let Form::Random(random) = &self.hash.0 {
            return random.slice(address);
        }
        let (local, part) = self.split(address);
        let turn = local >> self.chunk;
        let plain = part as u32 * self.slices_per_part + self.chosen(local);
        match &self.hash.0 {
            Form::InTurn | Form::Random(_) => plain,
            Form::Xor(xor) => xor.slice(turn, plain),
            Form::Ipoly(ipoly) => ipoly.slice(turn, plain),
            Form::Other(function) => {
                let (slice, slices) = (function(turn, plain), self.slices);
                assert!(slice < slices, "the hash names slice {slice} of {slices}");
                slice
            }
        }
    }

    /// The channel that holds an address.
    pub fn channel(&self, address: u64) -> u32 {
        self.slice(address) / (self.parts_per_channel * self.slices_per_part)
    }

    /// Size of the aligned blocks of bytes that are wholly in one slice.
    pub fn together(&self) -> u64 {
        let chunk = match &self.hash.0 {
            Form::Random(random) => random.chunk,
            _ => self.chunk,
        };
        1 << if self.choice_bits == 0 { chunk } else { chunk.min(self.choice) }
    }

    /// The slice of its part that an address of the part chooses.
    #[inline]
    fn chosen(&self, local: u64) -> u32 {
        (local >> self.choice & low(self.choice_bits)) as u32
    }

    /// Whether lines of one channel may have row, bank and column in common.
    pub fn is_hashed(&self) -> bool {
        !self.hash.is_in_turn()
    }

    /// The address among those of its slice, without gaps.
    #[inline]
    pub fn within_slice(&self, address: u64) -> u64 {
        let (local, _) = self.split(address);
        local >> self.choice_bits >> self.choice << self.choice | local & low(self.choice)
    }

    /// The address among those of its channel, without gaps.
    #[inline]
    pub fn within_channel(&self, address: u64) -> u64 {
        let (local, part) = self.split(address);
        let of_channel = u64::from(self.parts_per_channel);
        let chunk = (local >> self.chunk) * of_channel + part % of_channel;
        chunk << self.chunk | local & low(self.chunk)
    }
}

/// Bits of an address within a line.
const LINE_BITS: u32 = counterpoint_protocols::memory::LINE_BYTES.trailing_zeros();

const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests;
