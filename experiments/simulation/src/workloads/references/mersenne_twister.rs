//! `mersenne-twister`: the sequence of each twister by its recurrence, without a ring, and Box and Muller's transform in
//! double precision.

use std::f64::consts::TAU;

use super::{ReferenceInput, bytes_of_f32s};

/// Words of a state; of the first one only the highest 31 bits count.
const STATE: usize = 19;

/// The reference as applications name it: parameters `batches`, `twisters`, `skipped` and `n`, input buffer `seeds`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (batches, twisters) = (input.size("batches")?, input.size("twisters")?);
    let (skipped, n) = (input.size("skipped")?, input.size("n")?);
    let seeds = input.u32s_of("seeds", batches * twisters)?;
    let mut numbers = vec![0.0; batches * n * twisters];
    for (batch, seeds) in numbers.chunks_mut(n * twisters).zip(seeds.chunks(twisters)) {
        for (twister, seed) in seeds.iter().enumerate() {
            let words = sequence(*seed, skipped + n);
            let drawn: Vec<f32> = words[skipped..].iter().map(|word| unit(tempered(*word))).collect();
            for (k, pair) in drawn.as_chunks::<2>().0.iter().enumerate() {
                let [first, second] = normal(pair.map(f64::from));
                batch[2 * k * twisters + twister] = first as f32;
                batch[(2 * k + 1) * twisters + twister] = second as f32;
            }
        }
    }
    Ok(bytes_of_f32s(&numbers))
}

/// `count` words of a twister, behind those of its first state.
fn sequence(seed: u32, count: usize) -> Vec<u32> {
    let mut words = vec![seed];
    for i in 1..STATE as u32 {
        let last = words[i as usize - 1];
        words.push((last ^ last >> 30).wrapping_mul(1_812_433_253).wrapping_add(i));
    }
    for k in 0..count {
        let both = words[k] & !1 | words[k + 1] & 1;
        let matrix = if both & 1 == 1 { 0xc52c_a600 } else { 0 };
        words.push(words[k + 9] ^ both >> 1 ^ matrix);
    }
    words.split_off(STATE)
}

/// The tempering of MT19937, with a first shift of 12.
fn tempered(word: u32) -> u32 {
    let word = word ^ word >> 12;
    let word = word ^ word << 7 & 0x9d2c_5680;
    let word = word ^ word << 15 & 0xefc6_0000;
    word ^ word >> 18
}

/// A number above 0 and at most 1, computed in f32.
fn unit(word: u32) -> f32 {
    (word as f32 + 1.0) / 4_294_967_296.0
}

/// Two normal numbers of two evenly spread ones.
fn normal([first, second]: [f64; 2]) -> [f64; 2] {
    let radius = (-2.0 * libm::log(first)).sqrt();
    [radius * libm::cos(TAU * second), radius * libm::sin(TAU * second)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of a state.
    const DEGREE: usize = 607;

    /// The shortest recurrence that makes these bits, by Berlekamp and Massey: bit k is the sum of those k - i for which
    /// element i of it is set.
    fn recurrence(bits: &[bool]) -> Vec<bool> {
        let add = |to: &mut [bool], what: &[bool], by: usize| {
            to[by..].iter_mut().zip(what).for_each(|(to, what)| *to ^= what);
        };
        let mut found = vec![false; bits.len() + 1];
        found[0] = true;
        let (mut before, mut length, mut since) = (found.clone(), 0, 1);
        for n in 0..bits.len() {
            let wrong = (0..=length).filter(|i| found[*i] && bits[n - i]).count() % 2 == 1;
            if wrong && 2 * length <= n {
                let kept = found.clone();
                add(&mut found, &before, since);
                (before, length, since) = (kept, n + 1 - length, 0);
            } else if wrong {
                add(&mut found, &before, since);
            }
            since += 1;
        }
        found.truncate(length + 1);
        found
    }

    /// The square of a polynomial, modulo another.
    fn squared(polynomial: &[bool], modulus: &[bool]) -> Vec<bool> {
        let mut square = vec![false; 2 * DEGREE];
        polynomial.iter().enumerate().for_each(|(power, set)| square[2 * power] = *set);
        for power in (DEGREE..2 * DEGREE).rev() {
            if square[power] {
                square[power - DEGREE..=power].iter_mut().zip(modulus).for_each(|(to, what)| *to ^= what);
            }
        }
        square.truncate(DEGREE);
        square
    }

    #[test]
    fn the_period_is_two_to_the_power_of_607_less_1() {
        // The recurrence has degree 607 and is irreducible: taking 607 squares of x leads back to x, and 607 is a prime.
        // As 2^607 - 1 is one, too (Robinson, 1952), no sequence but that of zeros has a shorter period.
        let bits: Vec<bool> = sequence(1, 2 * DEGREE).iter().map(|word| word & 1 == 1).collect();
        let modulus = recurrence(&bits);
        assert_eq!(modulus.len(), DEGREE + 1);
        assert!(modulus[0] && modulus[DEGREE]);
        let mut x = vec![false; DEGREE];
        x[1] = true;
        let mut power = x.clone();
        for _ in 0..DEGREE {
            power = squared(&power, &modulus);
        }
        assert!(power == x);
    }

    #[test]
    fn known_pairs() {
        let near = |found: [f64; 2], expected: [f64; 2]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        near(normal([(-2.0_f64).exp(), 0.25]), [0.0, 2.0]);
        near(normal([1.0, 0.3]), [0.0, 0.0]);
        assert_eq!([unit(0), unit(u32::MAX)], [1.0 / 4_294_967_296.0, 1.0]);
    }
}
