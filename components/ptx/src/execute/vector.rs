//! Loops over the lanes of a memory access that decide its speed, compiled for any host and for one with AVX2. They only
//! move and compare integers, so both give the same bits.

use super::lanes::blend;

/// Defines functions of which one body is compiled twice.
macro_rules! twice {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name($($argument: $type),*) -> $result {
            #[inline(always)]
            fn body($($argument: $type),*) -> $result $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2")]
                fn with_avx2($($argument: $type),*) -> $result {
                    body($($argument),*)
                }
                if has_avx2() {
                    // SAFETY: the host has what the function was compiled for.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            body($($argument),*)
        }
    )* };
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

/// What all addresses of an access have in common, of lanes that are switched off, too.
pub(super) struct Shape {
    /// The bits that are set in any of them.
    pub(super) bits: u64,
    /// Each lies a step behind the one before.
    pub(super) contiguous: bool,
}

#[inline(always)]
fn shape(addresses: &[u64; 32], step: u64) -> Shape {
    let (mut bits, mut gaps) = (0, 0);
    for lane in 0..32 {
        bits |= addresses[lane];
        gaps |= addresses[lane] ^ addresses[0].wrapping_add(lane as u64 * step);
    }
    Shape { bits, contiguous: gaps == 0 }
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

    /// The lanes whose addresses lie at most `last` behind `base`.
    lanes_within(addresses: &[u64; 32], base: u64, last: u64) -> u32 {
        let mut inside = 0;
        for lane in 0..32 {
            // An address below the base wraps to a large distance.
            inside |= u32::from(addresses[lane].wrapping_sub(base) <= last) << lane;
        }
        inside
    }

    /// Takes a word for each of those lanes that lie in `bytes`, which starts at `base`; returns the lanes served.
    gather_words(addresses: &[u64; 32], lanes: u32, base: u64, bytes: &[u8], row: &mut [u32; 32]) -> u32 {
        let Some(last) = bytes.len().checked_sub(4) else { return 0 };
        let (mut places, mut served) = ([0; 32], 0);
        for lane in 0..32 {
            let distance = addresses[lane].wrapping_sub(base);
            let wanted = lanes >> lane & u32::from(distance <= last as u64);
            served |= wanted << lane;
            // Lanes that are not served look at the first word, so that there is no branch a lane.
            places[lane] = if wanted != 0 { distance } else { 0 };
        }
        let mut found = [0; 32];
        for lane in 0..32 {
            // SAFETY: no place lies behind `last`, at which four bytes begin.
            let word = unsafe { bytes.as_ptr().add(places[lane] as usize).cast::<u32>().read_unaligned() };
            found[lane] = u32::from_le(word);
        }
        blend(row, &found, served);
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_take_the_words_that_lie_in_the_bytes() {
        let bytes: Vec<u8> = (0..200).collect();
        let base = 1_u64 << 40;
        // Before the bytes, in them at any alignment, across their end and behind it, and around zero.
        let offsets = [-4_i64, -1, 0, 1, 100, 195, 196, 197, 199, 200, 1 << 33, i64::MIN];
        let addresses: [u64; 32] =
            std::array::from_fn(|lane| base.wrapping_add_signed(offsets[lane % offsets.len()]));
        for lanes in [u32::MAX, 0, 0x5555_5555, 0xffff_0000, 1 << 4] {
            let mut row = [7; 32];
            let served = gather_words(&addresses, lanes, base, &bytes, &mut row);
            for lane in 0..32 {
                let offset = offsets[lane % offsets.len()];
                let inside = lanes >> lane & 1 == 1 && (0..=196).contains(&offset);
                assert_eq!(served >> lane & 1 == 1, inside, "lane {lane} of {lanes:#x}");
                let word = || u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[offset as usize + byte]));
                assert_eq!(row[lane], if inside { word() } else { 7 }, "lane {lane} of {lanes:#x}");
            }
            assert_eq!(lanes_within(&addresses, base, 196) & lanes, served);
        }
        let mut row = [7; 32];
        assert_eq!(gather_words(&[base; 32], u32::MAX, base, &bytes[..3], &mut row), 0);
        assert_eq!(row, [7; 32]);
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
