//! Loops over the lanes of memory accesses and shuffles that decide their speed, compiled for any host and for one with AVX2. They only
//! move and compare integers, so both give the same bits.

use super::lanes::blend;
use super::straight::count_of;
#[cfg(target_arch = "x86_64")]
use super::words::{has_avx2, host};
use crate::isa::warp::{WarpOp, shuffle_source};

/// Defines functions whose one body is compiled twice.
macro_rules! twice {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name($($argument: $type),*) -> $result {
            #[inline(always)]
            fn body($($argument: $type),*) -> $result $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2($($argument: $type),*) -> $result {
                    body($($argument),*)
                }
                if has_avx2() {
                    // SAFETY: the host has AVX2.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            body($($argument),*)
        }
    )* };
}

/// The shape common to all addresses of an access, those of inactive lanes included.
pub(super) struct Shape {
    /// The bits that are set in any of them.
    pub(super) bits: u64,
    /// Whether each address is a step above the one before.
    pub(super) contiguous: bool,
}

#[inline(always)]
fn shape(addresses: &[u64; 32], step: u64) -> Shape {
    let (mut bits, mut gaps) = (0, 0);
    for lane in 0..32 {
        bits |= addresses[lane];
    }
    // Four lanes at a time are compared with the four before.
    for lane in 4..32 {
        gaps |= addresses[lane].wrapping_sub(addresses[lane - 4]) ^ (4 * step);
    }
    for lane in 1..4 {
        gaps |= addresses[lane].wrapping_sub(addresses[lane - 1]) ^ step;
    }
    Shape { bits, contiguous: gaps == 0 }
}

/// The lanes that shuffles read, by their operands, and a mask of those that are in their segment.
#[inline(always)]
fn sources(
    b: &[u32; 32],
    c: &[u32; 32],
    sources: &mut [u32; 32],
    of: impl Fn(u32, u32, u32) -> (u32, bool),
) -> u32 {
    let mut inside = 0;
    for lane in 0..32 {
        let (source, is_inside) = of(lane as u32, b[lane], c[lane]);
        sources[lane] = source;
        inside |= u32::from(is_inside) << lane;
    }
    inside
}

twice! {
    /// Addresses from 64-bit registers.
    wide_addresses(words: &[u64; 32], offset: u64, step: u64, addresses: &mut [u64; 32]) -> Shape {
        for lane in 0..32 {
            addresses[lane] = words[lane].wrapping_add(offset);
        }
        shape(addresses, step)
    }

    /// Addresses from 32-bit registers, which wrap in 32 bits.
    narrow_addresses(words: &[u32; 32], offset: u32, step: u64, addresses: &mut [u64; 32]) -> Shape {
        for lane in 0..32 {
            addresses[lane] = u64::from(words[lane].wrapping_add(offset));
        }
        shape(addresses, step)
    }

    /// The lowest and the highest address of some lanes, at least one.
    extent(addresses: &[u64; 32], lanes: u32) -> (u64, u64) {
        // A lane that does not take part counts as the first one that does.
        let first = addresses[(lanes.trailing_zeros() & 31) as usize];
        let (mut low, mut high) = (first, first);
        for lane in 0..32 {
            let address = if lanes >> lane & 1 != 0 { addresses[lane] } else { first };
            low = low.min(address);
            high = high.max(address);
        }
        (low, high)
    }

    /// The lanes whose addresses are at most `last` above `base`.
    lanes_within(addresses: &[u64; 32], base: u64, last: u64) -> u32 {
        let mut inside = 0;
        for lane in 0..32 {
            // An address below the base wraps to a large distance.
            inside |= u32::from(addresses[lane].wrapping_sub(base) <= last) << lane;
        }
        inside
    }

    /// The lanes that a shuffle reads, and a mask of those that are in their segment.
    shuffle(op: WarpOp, b: &[u32; 32], c: &[u32; 32], from: &mut [u32; 32]) -> u32 {
        match op {
            WarpOp::ShuffleUp => sources(b, c, from, |lane, b, c| shuffle_source(WarpOp::ShuffleUp, lane, b, c)),
            WarpOp::ShuffleDown => sources(b, c, from, |lane, b, c| shuffle_source(WarpOp::ShuffleDown, lane, b, c)),
            WarpOp::ShuffleXor => sources(b, c, from, |lane, b, c| shuffle_source(WarpOp::ShuffleXor, lane, b, c)),
            _ => sources(b, c, from, |lane, b, c| shuffle_source(WarpOp::ShuffleIndex, lane, b, c)),
        }
    }
}

/// Up to this many lanes are served faster one by one than all at once: accesses that are spread over memory find one or
/// two lanes in a line.
const FEW: u32 = 4;

/// Writes the lanes in `mask`, possibly few.
#[inline]
pub(super) fn write(to: &mut [u32; 32], from: &[u32; 32], mask: u32) {
    if count_of(mask) > FEW {
        return blend(to, from, mask);
    }
    each(mask).for_each(|lane| to[lane] = from[lane]);
}

/// The lanes of a mask, lowest first.
#[inline(always)]
fn each(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize & 31)?;
        mask &= mask - 1;
        Some(lane)
    })
}

/// Loads `width` bytes, 1, 2 or 4, for each of those lanes that are within `bytes`, which starts at `base`, filled up
/// with zeros; returns the lanes served.
#[inline]
pub(super) fn gather(
    addresses: &[u64; 32],
    lanes: u32,
    base: u64,
    bytes: &[u8],
    width: u8,
    row: &mut [u32; 32],
) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() && (4..=i32::MAX as usize).contains(&bytes.len()) {
        // SAFETY: the host has AVX2, and distances into the bytes fit 32 bits.
        if lanes == u32::MAX && width == 4 && unsafe { host::gather(addresses, base, bytes, row) } {
            return lanes;
        }
        if count_of(lanes) > FEW {
            // SAFETY: as above.
            return unsafe { gather_at_once(addresses, lanes, base, bytes, width, row) };
        }
    }
    gather_one_by_one(addresses, lanes, base, bytes, width, row)
}

fn gather_one_by_one(
    addresses: &[u64; 32],
    lanes: u32,
    base: u64,
    bytes: &[u8],
    width: u8,
    row: &mut [u32; 32],
) -> u32 {
    let Some(last) = (bytes.len() as u64).checked_sub(width.into()) else { return 0 };
    let mut served = 0;
    for lane in each(lanes) {
        // An address below the base wraps to a large distance.
        let start = addresses[lane].wrapping_sub(base);
        if start <= last {
            row[lane] = word(&bytes[start as usize..], width);
            served |= 1 << lane;
        }
    }
    served
}

/// The first `width` bytes as a number: 1, 2 or 4.
#[inline(always)]
fn word(bytes: &[u8], width: u8) -> u32 {
    match (width, bytes) {
        (4, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
        (2, &[a, b, ..]) => u16::from_le_bytes([a, b]).into(),
        (_, bytes) => bytes[0].into(),
    }
}

/// Gathers as [`gather`] does, eight lanes at a time.
///
/// # Safety
/// The host must have AVX2, and the bytes must be at least 4 and at most `i32::MAX`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn gather_at_once(
    addresses: &[u64; 32],
    lanes: u32,
    base: u64,
    bytes: &[u8],
    width: u8,
    row: &mut [u32; 32],
) -> u32 {
    use std::arch::x86_64::*;

    use host::halves;

    let sign = _mm256_set1_epi64x(i64::MIN);
    let base = _mm256_set1_epi64x(base as i64);
    let last = _mm256_xor_si256(_mm256_set1_epi64x((bytes.len() - usize::from(width)) as i64), sign);
    // Whole words are read, and the last one ends with the bytes; the excess is shifted out.
    let last_word = _mm256_set1_epi32((bytes.len() - 4) as i32);
    let kept = _mm256_set1_epi32((u32::MAX >> (32 - 8 * u32::from(width))) as i32);
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let mut served = 0;
    for group in 0..4 {
        let distance = |four: usize| {
            // SAFETY: four addresses begin there.
            let four = unsafe { _mm256_loadu_si256(addresses.as_ptr().add(8 * group + 4 * four).cast()) };
            _mm256_sub_epi64(four, base)
        };
        // An address below the base wraps to a large distance; the comparison is one of signed numbers.
        let beyond = |distance| _mm256_cmpgt_epi64(_mm256_xor_si256(distance, sign), last);
        let (first, second) = (distance(0), distance(1));
        let outside = halves(beyond(first), beyond(second));
        let chosen = _mm256_and_si256(_mm256_set1_epi32((lanes >> (8 * group)) as i32), bits);
        let wanted = _mm256_andnot_si256(outside, _mm256_cmpeq_epi32(chosen, bits));
        // SAFETY: eight words of the row begin there; of the bytes only words are read that begin at wanted distances, or
        // with the last word.
        unsafe {
            let words = row.as_mut_ptr().add(8 * group).cast();
            let old = _mm256_loadu_si256(words);
            let from = bytes.as_ptr().cast();
            let place = halves(first, second);
            let word = _mm256_min_epu32(place, last_word);
            let read = _mm256_mask_i32gather_epi32::<1>(old, from, word, wanted);
            let shift = _mm256_slli_epi32::<3>(_mm256_sub_epi32(place, word));
            let found = _mm256_and_si256(_mm256_srlv_epi32(read, shift), kept);
            _mm256_storeu_si256(words, _mm256_blendv_epi8(old, found, wanted));
        }
        served |= (_mm256_movemask_ps(_mm256_castsi256_ps(wanted)) as u32) << (8 * group);
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_take_what_lies_in_the_bytes() {
        type Gather = fn(&[u64; 32], u32, u64, &[u8], u8, &mut [u32; 32]) -> u32;
        let bytes: Vec<u8> = (0..200).collect();
        let base = 1_u64 << 40;
        // Before the bytes, in them at any alignment, across their end and behind it, and near zero.
        let offsets = [-4_i64, -1, 0, 1, 100, 195, 196, 197, 198, 199, 200, 1 << 33, i64::MIN];
        let addresses: [u64; 32] =
            std::array::from_fn(|lane| base.wrapping_add_signed(offsets[lane % offsets.len()]));
        for gather in [gather as Gather, gather_one_by_one] {
            for (width, lanes) in [1, 2, 4].into_iter().flat_map(|width| {
                [u32::MAX, 0, 0x5555_5555, 0xffff_0000, 1 << 4, 0xf << 5, 0x1f << 8]
                    .map(|lanes| (width, lanes))
            }) {
                let mut row = [7; 32];
                let served = gather(&addresses, lanes, base, &bytes, width, &mut row);
                for lane in 0..32 {
                    let offset = offsets[lane % offsets.len()];
                    let inside = lanes >> lane & 1 == 1 && (0..=200 - i64::from(width)).contains(&offset);
                    assert_eq!(served >> lane & 1 == 1, inside, "lane {lane} of {lanes:#x}, {width} bytes");
                    let expected = if inside {
                        let place = offset as usize..offset as usize + usize::from(width);
                        bytes[place].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
                    } else {
                        7
                    };
                    assert_eq!(row[lane], expected, "lane {lane} of {lanes:#x}, {width} bytes");
                }
                assert_eq!(lanes_within(&addresses, base, 200 - u64::from(width)) & lanes, served);
            }
            let mut row = [7; 32];
            assert_eq!(gather(&[base; 32], 1, base, &bytes[..3], 4, &mut row), 0);
            assert_eq!((gather(&[base; 32], 1, base, &bytes[1..3], 2, &mut row), row[0]), (1, 0x201));
            assert_eq!(row[1], 7);
        }
    }

    #[test]
    fn addresses_know_their_shape() {
        let words: [u64; 32] = std::array::from_fn(|lane| 4096 + 8 * lane as u64);
        let mut addresses = [0; 32];
        let shape = wide_addresses(&words, 16_u64.wrapping_neg(), 8, &mut addresses);
        assert_eq!((addresses[0], addresses[31], shape.bits & 7, shape.contiguous), (4080, 4328, 0, true));
        assert!(!wide_addresses(&words, 4, 4, &mut addresses).contiguous);
        let words: [u32; 32] = std::array::from_fn(|lane| (u32::MAX - 3).wrapping_add(4 * lane as u32));
        let shape = narrow_addresses(&words, 6, 4, &mut addresses);
        assert_eq!((addresses[0], addresses[31], shape.bits & 3), (2, 126, 2));
        assert!(shape.contiguous, "a 32-bit address wraps in 32 bits");
    }
}
