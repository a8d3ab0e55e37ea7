//! The Data Encryption Standard (FIPS 46-3), from the tables of the standard, whose bits are counted from the highest, from 1.

use std::array;
use std::sync::LazyLock;

/// The keys of the rounds of one pass, of 48 bits each.
pub(crate) type Rounds = [u64; 16];

/// The round keys of a key of 64 bits.
pub(crate) fn rounds_of(key: u64) -> Rounds {
    let chosen = permuted(key, 64, &FIRST_CHOICE);
    let (mut high, mut low) = (chosen >> 28, chosen & HALF_KEY);
    let turned = |half: u64, by: u32| (half << by | half >> (28 - by)) & HALF_KEY;
    SHIFTS.map(|by| {
        (high, low) = (turned(high, by), turned(low, by));
        permuted(high << 28 | low, 56, &SECOND_CHOICE)
    })
}

/// A block of 64 bits behind one pass.
pub(crate) fn pass(block: u64, rounds: &Rounds) -> u64 {
    let begun = permuted(block, 64, &INITIAL);
    let (mut left, mut right) = ((begun >> 32) as u32, begun as u32);
    for key in rounds {
        (left, right) = (right, left ^ mixed(right, *key));
    }
    let end = u64::from(right) << 32 | u64::from(left);
    (0..64).filter(|&bit| end >> (63 - bit) & 1 != 0).map(|bit| 1 << (64 - u64::from(INITIAL[bit]))).sum()
}

/// The round function, applied to a half.
fn mixed(half: u32, key: u64) -> u32 {
    (0..8).fold(0, |mixed, index| {
        // Four bits of the half in their order, and on either side the next one: the standard's expansion.
        let six = u64::from(half.rotate_left(4 * index + 5)) ^ key >> (42 - 6 * index);
        mixed | BOXED[index as usize][(six & 63) as usize]
    })
}

/// Bits that each input of each S-box sets after the permutation that follows the boxes.
static BOXED: LazyLock<[[u32; 64]; 8]> = LazyLock::new(|| {
    array::from_fn(|index| {
        array::from_fn(|six| {
            let (row, column) = (six >> 4 & 2 | six & 1, six >> 1 & 15);
            permuted(u64::from(BOXES[index][16 * row + column]) << (28 - 4 * index), 32, &PERMUTATION) as u32
        })
    })
});

/// The bits of a number of `bits` bits that a table names, in its order.
fn permuted(from: u64, bits: u32, table: &[u8]) -> u64 {
    table.iter().fold(0, |made, &bit| made << 1 | from >> (bits - u32::from(bit)) & 1)
}

/// The bits of half a key.
const HALF_KEY: u64 = (1 << 28) - 1;
/// Bits by which the halves of the key rotate before each round.
const SHIFTS: [u32; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48,
    40, 32, 24, 16, 8, 57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61, 53, 45, 37, 29, 21,
    13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];
/// The permutation behind the boxes.
const PERMUTATION: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6,
    22, 11, 4, 25,
];
/// The bits of the key that count.
const FIRST_CHOICE: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44,
    36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20,
    12, 4,
];
/// The bits of these that a round uses.
const SECOND_CHOICE: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37,
    47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
/// The eight boxes: four rows of 16 each.
const BOXES: [[u8; 64]; 8] = [
    [
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7, 0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5,
        3, 8, 4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0, 15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14,
        10, 0, 6, 13,
    ],
    [
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10, 3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9,
        11, 5, 0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15, 13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12,
        0, 5, 14, 9,
    ],
    [
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8, 13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11,
        15, 1, 13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7, 1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3,
        11, 5, 2, 12,
    ],
    [
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15, 13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10,
        14, 9, 10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4, 3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11,
        12, 7, 2, 14,
    ],
    [
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9, 14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9,
        8, 6, 4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14, 11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9,
        10, 4, 5, 3,
    ],
    [
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11, 10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11,
        3, 8, 9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6, 4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7,
        6, 0, 8, 13,
    ],
    [
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1, 13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15,
        8, 6, 1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2, 6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15,
        14, 2, 3, 12,
    ],
    [
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7, 1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14,
        9, 2, 7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8, 2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0,
        3, 5, 6, 11,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_by_hand() {
        // Known from J. Orlin Grabbe's walk through the algorithm, "The DES Algorithm Illustrated".
        let rounds = rounds_of(0x1334_5779_9bbc_dff1);
        assert_eq!(rounds[0], 0b000110_110000_001011_101111_111111_000111_000001_110010);
        assert_eq!(pass(0x0123_4567_89ab_cdef, &rounds), 0x85e8_1354_0f0a_b405);
    }

    #[test]
    fn a_pass_with_the_rounds_reversed_leads_back() {
        let rounds = rounds_of(0x0123_4567_89ab_cdef);
        let mut reversed = rounds;
        reversed.reverse();
        assert_eq!(pass(pass(42, &rounds), &reversed), 42);
    }
}
