//! Slices and channels of addresses, with each hash and with a hash of another crate.

use std::collections::BTreeSet;

use super::*;
use counterpoint_framework::model::{Registry, Variant};
use counterpoint_framework::testing::params;
use proptest::prelude::*;

use crate::testing::families;

fn map(text: &str) -> Result<AddressMap, String> {
    AddressMap::new(&params(&families(), text)).map_err(|invalid| invalid.0)
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
        let map = map(&format!("{{ slices: {slices}, slices_per_channel: 2, dram: {MASK}, hash: {hash} }}"))
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

/// The hash of another crate: slices go round the other way in every other turn.
struct BackAndForth;

impl Variant<dyn SliceHash> for BackAndForth {
    const NAME: &'static str = "back-and-forth";
    const DOC: &'static str = "Slices in turn, from the last to the first in every other turn.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn SliceHash>, String> {
        Ok(Box::new(BackAndForth))
    }
}

impl SliceHash for BackAndForth {
    fn function(&self, parts: &SliceParts) -> Result<SliceFunction, String> {
        let slices = parts.slices();
        if slices < 2 {
            return Err(format!("back-and-forth is for two slices or more, and these are {slices}"));
        }
        Ok(SliceFunction::new(move |turn, plain| if turn % 2 == 0 { plain } else { slices - 1 - plain }))
    }
}

#[test]
fn another_crate_brings_a_hash() {
    let mut registry = Registry::default();
    crate::register(&mut registry);
    registry.variant::<dyn SliceHash, BackAndForth>();
    let map = |text: &str| {
        AddressMap::new(&params(&registry.catalogue.families, text)).map_err(|invalid| invalid.0)
    };
    let four = map("{ slices: 4, slices_per_channel: 2, hash: back-and-forth }").unwrap();
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|chunk| four.slice(256 * chunk + 255)), [0, 1, 2, 3, 3, 2, 1, 0]);
    assert_eq!(
        [0, 2, 4, 7].map(|chunk| four.channel(256 * chunk)),
        [0, 1, 1, 0],
        "the slice has its channel"
    );
    assert!(four.is_hashed() && four.together() == 256);
    let refused = map("{ slices: 1, hash: back-and-forth }").err();
    assert_eq!(refused.as_deref(), Some("hash: back-and-forth is for two slices or more, and these are 1"));
}

#[test]
fn built_in_hashes_are_not_called_by_pointer() {
    for hash in ["none", "xor", "ipoly", "random"] {
        let map = map(&format!("{{ slices: 8, hash: {hash} }}")).unwrap();
        assert!(!matches!(map.hash.0, Form::Other(_)), "{hash}");
    }
}
