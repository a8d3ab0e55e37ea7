//! Map of a channel's addresses to banks, rows and columns.

use counterpoint_framework::model::Invalid;

use super::divisor::Divisor;
use super::mask::{AddressMask, Field};
use super::timing::Timing;

/// An address in a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DramAddress {
    /// The bank.
    pub bank: usize,
    /// The row of the bank.
    pub row: u64,
    /// The byte of the row.
    pub column: u64,
}

/// How addresses of a channel are laid out over its banks.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Row, bank and column, from high to low.
    Plain {
        /// Bytes of a row.
        row: Divisor,
        /// Banks.
        banks: Divisor,
    },
    /// Bits of the address.
    Masked {
        /// Bits of the bank.
        bank: Field,
        /// Bits of the row.
        row: Field,
        /// Bits of the column.
        column: Field,
    },
}

impl Layout {
    /// The layout of a channel with these timings, by a mask if there is one.
    ///
    /// # Errors
    /// When the mask's banks are not those of the DRAM.
    pub fn new(timing: &Timing, mask: Option<AddressMask>) -> Result<Self, Invalid> {
        let Some(mask) = mask else {
            return Ok(Layout::Plain {
                row: Divisor::new(timing.row as u32),
                banks: Divisor::new(timing.banks),
            });
        };
        let banks = 1_u32 << mask.bank.count();
        if banks != timing.banks {
            return Err(
                format!("the address mask has {banks} banks, and the DRAM has {}", timing.banks).into()
            );
        }
        Ok(Layout::Masked { bank: mask.bank.into(), row: mask.row.into(), column: mask.column.into() })
    }

    /// The place of an address of the channel.
    #[inline]
    pub fn place(&self, address: u64) -> DramAddress {
        match self {
            Layout::Plain { row, banks } => {
                let (chunk, column) = row.divide(address);
                let (row, bank) = banks.divide(chunk);
                DramAddress { bank: bank as usize, row, column }
            }
            Layout::Masked { bank, row, column } => DramAddress {
                bank: bank.of(address) as usize,
                row: row.of(address),
                column: column.of(address),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::memory::address_map::{AddressMap, AddressMapParams};
    use crate::testing::families;
    use counterpoint_framework::testing::params;
    use proptest::prelude::*;

    /// GPGPU-Sim's map for the GTX 480: six channels of two slices.
    const FERMI: &str = "{ slices: 12, slices_per_channel: 2, interleave: 256 B, \
                         dram: dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS }";

    fn fermi() -> (AddressMap, Layout) {
        let map: AddressMapParams = params(&families(), FERMI);
        let timing = Timing::new(&params(&families(), "{}")).unwrap();
        (AddressMap::new(&map).unwrap(), Layout::new(&timing, map.dram.0).unwrap())
    }

    /// Slice, row, bank and column of an address.
    fn decode(address: u64) -> (u32, u64, usize, u64) {
        let (map, layout) = fermi();
        let DramAddress { bank, row, column } = layout.place(map.within_channel(address));
        (map.slice(address), row, bank, column)
    }

    #[test]
    fn a_dozen_addresses_decode_as_by_hand() {
        for (address, expected) in [
            // The channel is the address / 256 modulo 6; what is left is the quotient × 256 + the low byte.
            (0x0, (0, 0, 0, 0)),
            (0x20, (0, 0, 0, 0x20)),
            (0xff, (0, 0, 0, 0xff)),
            (0x100, (2, 0, 0, 0)),
            (0x500, (10, 0, 0, 0)),
            // Quotient 1: the lowest bank bit, and so the other slice.
            (0x600, (1, 0, 1, 0)),
            (0x680, (1, 0, 1, 0x80)),
            // Quotient 2: the column's ninth bit.
            (0xc00, (0, 0, 0, 0x100)),
            // Quotient 0x1e: all the column's high bits.
            (0x1e * 0x600 + 0xff, (0, 0, 0, 0xfff)),
            // Quotient 0x20: the second bank bit.
            (0x20 * 0x600, (0, 0, 2, 0)),
            (0xe1 * 0x600 + 0x300, (7, 0, 15, 0)),
            // Quotient 0x100: the row.
            (0x100 * 0x600, (0, 1, 0, 0)),
            (0xa_bce1 * 0x600 + 0x200 + 0x47, (5, 0xabc, 15, 0x47)),
        ] {
            assert_eq!(decode(address), expected, "{address:#x}");
        }
    }

    #[test]
    fn a_mask_needs_the_banks_of_the_dram() {
        let timing = Timing::new(&params(&families(), "{ banks: 8 }")).unwrap();
        let map: AddressMapParams = params(&families(), FERMI);
        let refused = Layout::new(&timing, map.dram.0).map(|_| ()).unwrap_err();
        assert_eq!(refused.0, "the address mask has 16 banks, and the DRAM has 8");
    }

    proptest! {
        #[test]
        fn no_two_addresses_share_a_place(start in 0_u64..1 << 30, step in 1_u64..1 << 20) {
            let (map, layout) = fermi();
            let mut seen = BTreeSet::new();
            for number in 0..256 {
                let address = (start + number * step) % (6 << 28);
                let place = layout.place(map.within_channel(address));
                let slice = map.slice(address);
                prop_assert_eq!(slice % 2, place.bank as u32 & 1, "the slice is the bank's lowest bit");
                let first = seen.insert((address, slice / 2, place));
                prop_assert!(first || number * step >= 6 << 28);
            }
            let places: BTreeSet<_> = seen.iter().map(|&(_, channel, place)| (channel, place)).collect();
            prop_assert_eq!(places.len(), seen.len());
        }

        #[test]
        fn the_plain_layout_is_row_bank_column(address in 0_u64..1 << 40) {
            let timing = Timing::new(&params(&families(), "{}")).unwrap();
            let place = Layout::new(&timing, None).unwrap().place(address);
            let whole = (place.row * 16 + place.bank as u64) * 2048 + place.column;
            prop_assert!(whole == address && place.bank < 16 && place.column < 2048);
        }
    }
}
