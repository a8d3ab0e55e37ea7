//! Loads of a word in every lane of a warp: most loads are such, and a host with AVX2 takes them at once.

use super::Warp;
use crate::isa::Space;
use crate::program::{Action, CONSTANT, Kernel};

impl Warp {
    /// Executes the next instruction if it loads a word in every lane, by addresses in a register, from bytes that `bytes_at` gives
    /// for the space and the first lane's address, with the address of the first byte. Returns false, with nothing
    /// done, if the instruction is another one, or lanes read other bytes.
    #[inline]
    pub(crate) fn load_words<'b>(
        &mut self,
        kernel: &Kernel,
        bytes_at: impl FnOnce(Space, u64) -> Option<(u64, &'b [u8])>,
    ) -> bool {
        let Some(instruction) = kernel.instructions.get(self.pc as usize) else { return false };
        let form = &instruction.memory;
        let (address, register) = (instruction.address, instruction.destinations[0]);
        let is_word = form.elements == 1 && form.bytes == 4 && !form.wide_value;
        if !matches!(instruction.action, Action::Memory)
            || !is_word
            || form.store
            || form.atomic.is_some()
            || (address | register) & CONSTANT != 0
            || self.executing(instruction) != u32::MAX
        {
            return false;
        }
        let Some(space) = form.space else { return false };
        let offset = instruction.offset as u64;
        let first = self.address_of(instruction, 0).wrapping_add(offset);
        let first = if form.wide_address { first } else { u64::from(first as u32) };
        let Some((base, bytes)) = bytes_at(space, first) else { return false };
        if !has_avx2() || !base.is_multiple_of(4) || !(4..=i32::MAX as usize).contains(&bytes.len()) {
            return false;
        }
        self.check(kernel);
        // SAFETY: the warp has the kernel's rows, of which a wide address has two, and the rest has been asked for.
        #[cfg(target_arch = "x86_64")]
        let is_done = unsafe {
            let rows = self.rows.as_mut_ptr();
            let (words, row) = (rows.add(address as usize), rows.add(register as usize));
            if form.wide_address {
                host::load_wide(words.cast(), offset.wrapping_sub(base), bytes, row.cast())
            } else {
                host::load_narrow(words.cast(), offset as u32, base, bytes, row.cast())
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        let is_done = false;
        if is_done {
            self.advance(kernel);
        }
        is_done
    }
}

/// Whether the host has AVX2.
#[inline(always)]
pub(super) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Loads of eight lanes at a time.
#[cfg(target_arch = "x86_64")]
pub(super) mod host {
    use std::arch::x86_64::*;

    /// Loads what lies at 64-bit words and an offset from them, in the bytes.
    ///
    /// # Safety
    /// There must be 32 words and a row of 32, at least 4 and at most `i32::MAX` bytes, and the host's AVX2.
    #[target_feature(enable = "avx2")]
    pub(in super::super) unsafe fn load_wide(
        words: *const i64,
        offset: u64,
        bytes: &[u8],
        row: *mut u32,
    ) -> bool {
        let offset = _mm256_set1_epi64x(offset as i64);
        let distances = std::array::from_fn(|four| {
            // SAFETY: four words begin there.
            let words = unsafe { _mm256_loadu_si256(words.add(4 * four).cast()) };
            _mm256_add_epi64(words, offset)
        });
        // SAFETY: handed on to the caller.
        are_aligned(&distances) && unsafe { take(&distances, bytes, row) }
    }

    /// Like [`load_wide`], for addresses of 32 bits, which wrap; the bytes begin at `base`.
    ///
    /// # Safety
    /// As there.
    #[target_feature(enable = "avx2")]
    pub(in super::super) unsafe fn load_narrow(
        words: *const i32,
        offset: u32,
        base: u64,
        bytes: &[u8],
        row: *mut u32,
    ) -> bool {
        let (offset, base) = (_mm_set1_epi32(offset as i32), _mm256_set1_epi64x(base as i64));
        let distances = std::array::from_fn(|four| {
            // SAFETY: four words begin there.
            let words = unsafe { _mm_loadu_si128(words.add(4 * four).cast()) };
            _mm256_sub_epi64(_mm256_cvtepu32_epi64(_mm_add_epi32(words, offset)), base)
        });
        // SAFETY: handed on to the caller.
        are_aligned(&distances) && unsafe { take(&distances, bytes, row) }
    }

    /// Loads what lies at addresses in the bytes, which start at `base`.
    ///
    /// # Safety
    /// As for [`load_wide`].
    #[target_feature(enable = "avx2")]
    pub(in super::super) unsafe fn gather(
        addresses: &[u64; 32],
        base: u64,
        bytes: &[u8],
        row: &mut [u32; 32],
    ) -> bool {
        let base = _mm256_set1_epi64x(base as i64);
        let distances = std::array::from_fn(|four| {
            // SAFETY: four addresses begin there.
            let addresses = unsafe { _mm256_loadu_si256(addresses.as_ptr().add(4 * four).cast()) };
            _mm256_sub_epi64(addresses, base)
        });
        // SAFETY: handed on to the caller.
        unsafe { take(&distances, bytes, row.as_mut_ptr()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn are_aligned(distances: &[__m256i; 8]) -> bool {
        let all = distances.iter().fold(_mm256_setzero_si256(), |all, some| _mm256_or_si256(all, *some));
        _mm256_testz_si256(all, _mm256_set1_epi64x(3)) == 1
    }

    /// Loads the words at these distances if all are within the bytes, or else none. Lanes that read consecutive words, or all the
    /// same one, are spared the host's gather.
    ///
    /// # Safety
    /// As for [`load_wide`].
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn take(distances: &[__m256i; 8], bytes: &[u8], row: *mut u32) -> bool {
        let last = _mm256_set1_epi64x((bytes.len() - 4) as i64);
        let mut outside = _mm256_setzero_si256();
        for &distance in distances {
            // An address below the bytes wraps to a large distance: it has the sign, or what is left behind it has.
            let either = _mm256_or_si256(distance, _mm256_sub_epi64(last, distance));
            outside = _mm256_or_si256(outside, either);
        }
        if _mm256_movemask_pd(_mm256_castsi256_pd(outside)) != 0 {
            return false;
        }
        let consecutive = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        for group in 0..4 {
            let place = halves(distances[2 * group], distances[2 * group + 1]);
            let gaps = _mm256_sub_epi32(place, _mm256_broadcastd_epi32(_mm256_castsi256_si128(place)));
            // SAFETY: words begin at all places, which are within the bytes, and eight words of the row at its place.
            unsafe {
                let first = bytes.as_ptr().add(_mm256_cvtsi256_si32(place) as usize);
                let words = if _mm256_movemask_epi8(_mm256_cmpeq_epi32(gaps, consecutive)) == -1 {
                    _mm256_loadu_si256(first.cast())
                } else if _mm256_testz_si256(gaps, gaps) == 1 {
                    _mm256_set1_epi32(first.cast::<i32>().read_unaligned())
                } else {
                    _mm256_i32gather_epi32::<1>(bytes.as_ptr().cast(), place)
                };
                _mm256_storeu_si256(row.add(8 * group).cast(), words);
            }
        }
        true
    }

    /// The low halves of eight 64-bit numbers, in order.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in super::super) fn halves(first: __m256i, second: __m256i) -> __m256i {
        let mixed = _mm256_shuffle_ps::<0x88>(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second));
        _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(mixed))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Lanes read from 1 TiB on, in halves of the warp that go their own ways.
    #[test]
    fn all_lanes_take_words_wherever_they_lie() {
        if !has_avx2() {
            return;
        }
        let bytes: Vec<u8> = (0..600).map(|index| (index * 7) as u8).collect();
        let base = 1_u64 << 40;
        let places: [fn(usize) -> i64; 6] = [
            |lane| 8 + 4 * lane as i64,
            |lane| 4 * (lane as i64 / 16),
            |lane| 4 * (lane as i64 % 8),
            |lane| 4 * (lane * lane % 97) as i64,
            |lane| 4 * lane as i64 - 64,
            |lane| 3 * lane as i64,
        ];
        for (place, other) in (0..6).flat_map(|first| (0..6).map(move |second| (first, second))) {
            let offset = |lane: usize| places[if lane < 16 { place } else { other }](lane);
            let addresses: [u64; 32] = std::array::from_fn(|lane| base.wrapping_add_signed(offset(lane)));
            for length in [600, 140, 100] {
                let bytes = &bytes[..length];
                let inside = |lane| (0..=length as i64 - 4).contains(&offset(lane));
                let is_done = (0..32).all(inside);
                let aligned = (0..32).all(|lane| offset(lane) % 4 == 0);
                let word = |lane| {
                    let start = offset(lane) as usize;
                    bytes[start..start + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
                };
                let expected = |is_done| if is_done { std::array::from_fn(word) } else { [7; 32] };
                let (mut gathered, mut wide, mut narrow) = ([7; 32], [7; 32], [7; 32]);
                let low = addresses.map(|address| address as u32);
                // SAFETY: the host has AVX2, and all rows have 32 words.
                let done = unsafe {
                    [
                        host::gather(&addresses, base, bytes, &mut gathered),
                        host::load_wide(
                            addresses.as_ptr().cast(),
                            base.wrapping_neg(),
                            bytes,
                            wide.as_mut_ptr(),
                        ),
                        host::load_narrow(low.as_ptr().cast(), 64, 64, bytes, narrow.as_mut_ptr()),
                    ]
                };
                // Words of 32 bits wrap to places beyond the bytes where those of 64 bits lie before them.
                assert_eq!(done, [is_done, is_done && aligned, is_done && aligned], "{place}, {other}");
                assert_eq!(gathered, expected(is_done), "{place} and {other} of {length} bytes");
                assert_eq!([wide, narrow], [expected(is_done && aligned); 2], "{place}, {other}");
            }
        }
    }
}
