//! The numbers of matrices, and the sums of products. Of factors, the first elements of all words come before the second ones, and
//! so on; sums are by row and then by column.

use std::mem::MaybeUninit;

use crate::isa::matrix::Element;
use crate::isa::narrow::{Brain, E4M3, E5M2, Half, Rounding, Tensor, decode, encode, round};

/// The numbers in a factor's words, whose elements have `BITS` bits.
#[inline(always)]
fn unpack<const BITS: usize, N>(words: &[u32], to: &mut [MaybeUninit<N>], of: impl Fn(u32) -> N) {
    for (item, to) in to.chunks_exact_mut(words.len()).take(32 / BITS).enumerate() {
        for (to, word) in to.iter_mut().zip(words) {
            to.write(of(word >> (item * BITS)));
        }
    }
}

/// The numbers of a factor of floats of at most 32 bits.
#[inline(always)]
pub(super) fn floats(element: Element, words: &[u32], to: &mut [MaybeUninit<f64>]) {
    match element {
        Element::F16 => unpack::<16, f64>(words, to, |word| decode::<Half>(word, false)),
        Element::Bf16 => unpack::<16, f64>(words, to, |word| decode::<Brain>(word, false)),
        Element::E4m3 => unpack::<8, f64>(words, to, |word| decode::<E4M3>(word, false)),
        Element::E5m2 => unpack::<8, f64>(words, to, |word| decode::<E5M2>(word, false)),
        // The unit reads the high 19 bits of the word of a `.tf32`.
        _ => unpack::<32, f64>(words, to, |word| decode::<Tensor>(word >> 13, false)),
    }
}

/// The numbers of a factor of integers of at most 8 bits, which single precision holds.
#[inline(always)]
pub(super) fn integers(element: Element, words: &[u32], to: &mut [MaybeUninit<f32>]) {
    match element {
        Element::S8 => unpack::<8, f32>(words, to, |word| f32::from(word as i8)),
        Element::U8 => unpack::<8, f32>(words, to, |word| f32::from(word as u8)),
        Element::S4 => unpack::<4, f32>(words, to, |word| ((word << 28) as i32 >> 28) as f32),
        _ => unpack::<4, f32>(words, to, |word| f32::from(word as u8 & 15)),
    }
}

/// The bits of a sum in single precision.
#[inline(always)]
pub(super) fn single(sum: f64) -> u32 {
    if sum.is_nan() { 0x7fff_ffff } else { (sum as f32).to_bits() }
}

/// The bits of a sum in half precision.
#[inline(always)]
pub(super) fn half(sum: f64) -> u32 {
    encode::<Half>(round::<Half>(sum, Rounding::Nearest), false)
}

/// The bits of a sum in double precision.
#[inline(always)]
pub(super) fn double(sum: f64) -> u64 {
    if sum.is_nan() { 0x7ff8_0000_0000_0000 } else { sum.to_bits() }
}

/// Adds all products to the sums of `m` rows and `n` columns, in the order of k. A word of a factor has `packed` elements. Sums
/// of `ROWS` by eight are in registers meanwhile.
#[inline(always)]
pub(super) fn multiply<const ROWS: usize, F: Copy, S: Copy + Default>(
    a: &[F],
    b: &[F],
    packed: usize,
    sums: &mut [S],
    [m, n]: [usize; 2],
    add: impl Fn(S, F, F) -> S,
) {
    let words = a.len() / m / packed;
    let (fits, is_whole) =
        (b.len() >= words * packed * n && sums.len() >= m * n, m % ROWS == 0 && n % 8 == 0);
    assert!(fits && is_whole, "blocks divide matrices");
    for block in 0..m / ROWS * (n / 8) {
        let (row, column) = (block / (n / 8) * ROWS, block % (n / 8) * 8);
        let mut block = [[S::default(); 8]; ROWS];
        for (next, block) in block.iter_mut().enumerate() {
            block.copy_from_slice(&sums[(row + next) * n + column..][..8]);
        }
        for word in 0..words {
            for item in 0..packed {
                let step = item * words + word;
                // SAFETY: the lengths have been compared with the extents.
                let (left, right): (&[F; ROWS], &[F; 8]) = unsafe {
                    (&*a.as_ptr().add(step * m + row).cast(), &*b.as_ptr().add(step * n + column).cast())
                };
                for next in 0..ROWS {
                    for index in 0..8 {
                        block[next][index] = add(block[next][index], left[next], right[index]);
                    }
                }
            }
        }
        for (next, block) in block.iter().enumerate() {
            sums[(row + next) * n + column..][..8].copy_from_slice(block);
        }
    }
}

/// The addition of a product to a sum in double precision; the product must be exact where `FUSES`, so that both forms give the same.
#[inline(always)]
pub(super) fn add<const FUSES: bool>(sum: f64, a: f64, b: f64) -> f64 {
    if FUSES { a.mul_add(b, sum) } else { sum + a * b }
}

/// The addition of a product of small integers to a sum of few; all are exact.
#[inline(always)]
pub(super) fn add_integers<const FUSES: bool>(sum: f32, a: f32, b: f32) -> f32 {
    if FUSES { a.mul_add(b, sum) } else { sum + a * b }
}
