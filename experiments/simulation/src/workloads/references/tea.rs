//! `tea`: the Tiny Encryption Algorithm as Wheeler and Needham print it.

use super::{ReferenceInput, bytes_of_u32s};

/// The key that the application passes to its kernel.
const KEY: [u32; 4] = [0x0123_4567, 0x89ab_cdef, 0xfedc_ba98, 0x7654_3210];

/// The reference as applications name it: parameter `n` in blocks of two words, input buffer `plain`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let plain = input.u32s_of("plain", 2 * input.size("n")?)?;
    let blocks = plain.as_chunks::<2>().0.iter();
    Ok(bytes_of_u32s(&blocks.flat_map(|block| encrypt(*block, KEY)).collect::<Vec<_>>()))
}

fn encrypt([mut y, mut z]: [u32; 2], key: [u32; 4]) -> [u32; 2] {
    let mix = |word: u32, sum: u32, a: u32, b: u32| {
        (word << 4).wrapping_add(a) ^ word.wrapping_add(sum) ^ (word >> 5).wrapping_add(b)
    };
    for cycle in 1..=32_u32 {
        let sum = cycle.wrapping_mul(0x9e37_79b9);
        y = y.wrapping_add(mix(z, sum, key[0], key[1]));
        z = z.wrapping_add(mix(y, sum, key[2], key[3]));
    }
    [y, z]
}

#[cfg(test)]
mod tests {
    use super::encrypt;

    #[test]
    fn the_published_value_for_zeros() {
        assert_eq!(encrypt([0, 0], [0; 4]), [0x41ea_3a0a, 0x94ba_a940]);
    }
}
