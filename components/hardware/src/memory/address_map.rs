//! Which L2 slice and which DRAM channel hold an address. Declared once per GPU; the network, the slices and the
//! controllers read the same parameters.
//!
//! Consecutive chunks of `interleave` bytes go to the slices in turn; slice s belongs to channel s / (slices per
//! channel). With an address mask they go to the channels in turn, and the lowest bits of the bank choose the slice of
//! the channel, as in GPGPU-Sim's `addrdec`.
//!
//! A hash spreads strides that would meet few slices. Rows, banks, columns and sets of caches stay those of the map without
//! it, so two lines of one channel may have them in common; a channel then keeps its bytes by the whole address.

use counterpoint_framework::model::{Choice, Invalid, Params};
use counterpoint_framework::time::Bytes;

use super::dram::divisor::Divisor;
use super::dram::mask::DramOrder;
use super::polynomial::Polynomial;

/// How the slice of an address is found (GPGPU-Sim's `memory_partition_indexing`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum SliceHash {
    /// Chunks go to the slices in turn.
    None,
    /// The number of the channel is crossed with as many higher bits of the address (`BITWISE_PERMUTATION`); for a power
    /// of two of channels.
    Xor,
    /// The number of the slice is that of the chunk modulo an irreducible polynomial (`IPOLY`; Rau, ISCA 1991), and modulo
    /// the slices where these are no power of two.
    Ipoly,
    /// Every chunk has a slice drawn at random, the same in every run (`RANDOM`, which keeps a table).
    Random,
}

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
    /// Bits of an address that are row, bank and column of the DRAM.
    #[param(default = "row-bank-column")]
    pub dram: DramOrder,
    /// How the slice of an address is found.
    #[param(default = "none")]
    pub hash: SliceHash,
}

/// The address map in the form in which it is used.
#[derive(Clone, Copy, Debug)]
pub struct AddressMap {
    /// A chunk of 2^`chunk` bytes goes to one of the parts, in turn: a slice, or with a mask a channel.
    chunk: u32,
    parts: Divisor,
    parts_per_channel: u32,
    slices_per_part: u32,
    /// The bits that choose the slice of a part, among the addresses of the part: where they begin, and how many.
    choice: u32,
    choice_bits: u32,
    hash: Hash,
}

/// A hash in the form in which it is used.
#[derive(Clone, Copy, Debug)]
enum Hash {
    None,
    /// Crosses the part with these bits of the turn, from `shift` on.
    Xor {
        shift: u32,
        mask: u64,
    },
    /// Bits of the turn below `shift` are left out; the result is taken modulo the slices.
    Ipoly {
        polynomial: Polynomial,
        shift: u32,
        slices: Divisor,
    },
    /// Chunks of 2^`chunk` bytes.
    Random {
        chunk: u32,
        slices: u64,
    },
}

impl AddressMap {
    /// The map of these parameters.
    ///
    /// # Errors
    /// When lines would be split, slices cannot be shared out evenly, or the mask contradicts the rest.
    pub fn new(params: &AddressMapParams) -> Result<Self, Invalid> {
        let &AddressMapParams { slices, slices_per_channel, interleave, dram, hash } = params;
        let interleave = interleave.get();
        if !interleave.is_power_of_two() {
            return Err("interleave must be a power of two".into());
        }
        if !slices.is_multiple_of(slices_per_channel) {
            return Err("slices must be a multiple of slices_per_channel".into());
        }
        let chunk = interleave.trailing_zeros();
        let DramOrder(Some(mask)) = dram else {
            let (parts, parts_per_channel) = (Divisor::new(slices), slices_per_channel);
            let hash = Hash::new(hash, slices, 1, chunk)?;
            return Ok(AddressMap {
                chunk,
                parts,
                parts_per_channel,
                slices_per_part: 1,
                choice: 0,
                choice_bits: 0,
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
        let hash = Hash::new(hash, slices / slices_per_channel, slices_per_channel, chunk)?;
        Ok(AddressMap {
            chunk,
            parts: Divisor::new(slices / slices_per_channel),
            parts_per_channel: 1,
            slices_per_part: slices_per_channel,
            choice: mask.bank.lowest() % u64::BITS,
            choice_bits,
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
    #[inline]
    pub fn slice(&self, address: u64) -> u32 {
        if let Hash::Random { chunk, slices } = self.hash {
            return ((u128::from(mix(address >> chunk)) * u128::from(slices)) >> 64) as u32;
        }
        let (local, part) = self.split(address);
        let plain = |part: u64| part as u32 * self.slices_per_part + self.chosen(local);
        match self.hash {
            Hash::Xor { shift, mask } => plain(part ^ local >> (self.chunk + shift) & mask),
            Hash::Ipoly { polynomial, shift, slices } => {
                let above = polynomial.remainder_above(local >> self.chunk >> shift);
                let remainder = above ^ u64::from(plain(part));
                slices.divide(remainder).1 as u32
            }
            Hash::None | Hash::Random { .. } => plain(part),
        }
    }

    /// The channel that holds an address.
    pub fn channel(&self, address: u64) -> u32 {
        self.slice(address) / (self.parts_per_channel * self.slices_per_part)
    }

    /// Bytes at a multiple of their number that lie together in one slice.
    pub fn together(&self) -> u64 {
        let chunk = match self.hash {
            Hash::Random { chunk, .. } => chunk,
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
        !matches!(self.hash, Hash::None)
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

impl Hash {
    /// The hash of a map whose chunks of 2^`chunk` bytes go to `parts` of `each` slices.
    fn new(hash: SliceHash, parts: u32, each: u32, chunk: u32) -> Result<Self, Invalid> {
        let (slices, bits) = (parts * each, each.ilog2());
        Ok(match hash {
            SliceHash::None => Hash::None,
            SliceHash::Xor if !parts.is_power_of_two() => {
                return Err(
                    format!("hash: xor is for a power of two of channels, and these are {parts}").into()
                );
            }
            // The bits right above those of the slice.
            SliceHash::Xor => Hash::Xor { shift: bits, mask: u64::from(parts) - 1 },
            SliceHash::Ipoly => {
                let remainders = u64::from(parts.next_power_of_two() * each);
                let Some(polynomial) = Polynomial::of_remainders(remainders) else {
                    return Err(format!("hash: ipoly is for 3 to 1024 slices, and these are {slices}").into());
                };
                let shift = if parts.is_power_of_two() { bits } else { 0 };
                Hash::Ipoly { polynomial, shift, slices: Divisor::new(slices) }
            }
            SliceHash::Random => Hash::Random { chunk: (chunk - bits).max(LINE_BITS), slices: slices.into() },
        })
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

/// Bits of an address within a line.
const LINE_BITS: u32 = counterpoint_protocols::memory::LINE_BYTES.trailing_zeros();

const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use counterpoint_framework::model::Families;
    use counterpoint_framework::testing::params;
    use proptest::prelude::*;

    fn map(text: &str) -> Result<AddressMap, String> {
        AddressMap::new(&params(&Families::default(), text)).map_err(|invalid| invalid.0)
    }

    /// A mask whose two lowest bank bits are 8 and 9.
    const MASK: &str = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBCCCBB.CCSSSSSS";

    #[test]
    fn chunks_go_round_and_leave_no_gaps() {
        let map = map("{ slices: 6, slices_per_channel: 2 }").unwrap();
        assert_eq!([0, 255, 256, 1536, 1537].map(|address| map.slice(address)), [0, 0, 1, 0, 0]);
        let mut seen = vec![BTreeSet::new(); 3];
        for address in (0..6 * 256 * 10).step_by(128) {
            let channel = (map.slice(address) / 2) as usize;
            assert!(seen[channel].insert(map.within_channel(address)), "{address} shares its place");
        }
        for channel in seen {
            assert_eq!(
                channel.into_iter().collect::<Vec<_>>(),
                (0..2 * 256 * 10).step_by(128).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_mask_gives_chunks_to_channels_and_bank_bits_to_slices() {
        let map = map(&format!("{{ slices: 12, slices_per_channel: 4, dram: {MASK} }}")).unwrap();
        // Three channels; the turn's two lowest bits are the bank's.
        assert_eq!([0, 1, 2, 3, 6, 9, 12].map(|chunk| map.slice(chunk * 256)), [0, 4, 8, 1, 2, 3, 0]);
        assert_eq!(map.within_slice(12 * 256 + 5), 256 + 5);
        assert_eq!(map.within_channel(12 * 256 + 5), 4 * 256 + 5);
    }

    proptest! {
        #[test]
        fn slices_and_channels_are_filled_without_gaps(
            channels in 1_u32..8,
            bits in 0_u32..3,
            masked: bool,
            chunk in 0_u64..1 << 30,
        ) {
            let each = 1 << bits;
            let mask = if masked { format!(", dram: {MASK}") } else { String::new() };
            let slices = channels * each;
            let map = map(&format!("{{ slices: {slices}, slices_per_channel: {each}{mask} }}")).unwrap();
            // The addresses between two multiples of all slices fill the same part of each.
            let (slices, each) = (u64::from(slices), u64::from(each));
            let start = chunk / slices * slices;
            let (mut in_slices, mut in_channels) = (BTreeSet::new(), BTreeSet::new());
            for chunk in start..start + slices {
                let (address, slice) = (chunk * 256, u64::from(map.slice(chunk * 256)));
                in_slices.insert((slice, map.within_slice(address)));
                in_channels.insert((slice / each, map.within_channel(address)));
                prop_assert_eq!(map.within_slice(address + 77), map.within_slice(address) + 77);
            }
            let filled = |count: u64, each: u64| -> BTreeSet<(u64, u64)> {
                let first = start / slices * each;
                (0..count).flat_map(|part| (0..each).map(move |turn| (part, (first + turn) * 256))).collect()
            };
            prop_assert_eq!(in_slices, filled(slices, 1));
            prop_assert_eq!(in_channels, filled(slices / each, each));
        }
    }

    #[test]
    fn hashes_spread_strides_that_meet_few_slices() {
        let slices = |hash: &str, slices: u32, stride: u64| {
            let map =
                map(&format!("{{ slices: {slices}, slices_per_channel: 2, dram: {MASK}, hash: {hash} }}"))
                    .unwrap();
            let mut counts = vec![0; slices as usize];
            (0..2400).for_each(|row| counts[map.slice(row * stride) as usize] += 1);
            counts
        };
        let met = |counts: &[u32]| counts.iter().filter(|&&count| count > 0).count();
        for stride in [1024, 4096, 12 * 256, 8 * 256] {
            assert_eq!(met(&slices("ipoly", 16, stride)), 16, "stride {stride}");
            let random = slices("random", 24, stride);
            assert!(random.iter().all(|&count| (60..150).contains(&count)), "stride {stride}: {random:?}");
        }
        assert_eq!(met(&slices("none", 16, 4096)), 1);
        assert_eq!(met(&slices("xor", 16, 8 * 512)), 8, "a slice of each channel");
        assert!(slices("ipoly", 24, 4096).iter().all(|&count| count > 30), "folded to 24 of 32");
    }

    #[test]
    fn hashes_that_keep_every_slice_equally_full() {
        for hash in ["xor", "ipoly"] {
            let map =
                map(&format!("{{ slices: 16, slices_per_channel: 2, dram: {MASK}, hash: {hash} }}")).unwrap();
            for start in [0, 16 * 7, 16 * 1000] {
                let met: BTreeSet<u32> = (start..start + 16).map(|chunk| map.slice(chunk * 256)).collect();
                assert_eq!(met.len(), 16, "{hash}");
            }
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let split = MASK.replace("CBB.CCS", "CCC.CBB");
        for (text, message) in [
            (
                "{ slices: 3, slices_per_channel: 2 }".to_owned(),
                "slices must be a multiple of slices_per_channel",
            ),
            ("{ interleave: 384 B }".to_owned(), "interleave must be a power of two"),
            (
                "{ slices: 6, hash: xor }".to_owned(),
                "hash: xor is for a power of two of channels, and these are 6",
            ),
            ("{ slices: 2, hash: ipoly }".to_owned(), "hash: ipoly is for 3 to 1024 slices, and these are 2"),
            (
                format!("{{ interleave: 512 B, dram: {MASK} }}"),
                "interleave is 512 B, and the mask's channel lies at bit 8",
            ),
            (
                format!("{{ slices: 8, slices_per_channel: 8, dram: {MASK} }}"),
                "8 slices per channel cannot be chosen by neighbouring low bits of the mask's bank",
            ),
            (
                format!("{{ slices: 3, slices_per_channel: 3, dram: {MASK} }}"),
                "3 slices per channel cannot be chosen by neighbouring low bits of the mask's bank",
            ),
            (
                format!("{{ slices: 2, slices_per_channel: 2, dram: {split} }}"),
                "the lowest bit of the mask's bank would split lines between slices",
            ),
        ] {
            assert_eq!(map(&text).err().as_deref(), Some(message), "{text}");
        }
    }
}
