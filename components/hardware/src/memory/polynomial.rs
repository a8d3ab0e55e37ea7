//! Remainders of numbers by irreducible polynomials over two elements, which spread numbers of any stride of a power of
//! two evenly (Rau, "Pseudo-randomly interleaved memory", ISCA 1991).

/// Irreducible polynomials of degree 2 to 10, the smallest primitive one of each.
const IRREDUCIBLE: [u64; 9] = [0x7, 0xb, 0x13, 0x25, 0x43, 0x83, 0x11d, 0x211, 0x409];

const DEGREE: usize = IRREDUCIBLE.len() + 1;

/// The polynomials of [`IRREDUCIBLE`].
static POLYNOMIALS: [Polynomial; IRREDUCIBLE.len()] = {
    let mut all = [Polynomial::new(IRREDUCIBLE[0]); IRREDUCIBLE.len()];
    let mut place = 1;
    while place < all.len() {
        all[place] = Polynomial::new(IRREDUCIBLE[place]);
        place += 1;
    }
    all
};

#[derive(Clone, Copy, Debug)]
pub(super) struct Polynomial {
    /// For each bit of the remainder, the bits of a number whose parity gives it; `degree` entries are used.
    parities: [u64; DEGREE],
    degree: u32,
}

impl Polynomial {
    /// The polynomial with this number of remainders, a power of two from 4 to 1024.
    pub(super) fn of_remainders(count: u64) -> Option<Self> {
        let degree = if count.is_power_of_two() { count.trailing_zeros() } else { 0 };
        POLYNOMIALS.get(degree.checked_sub(2)? as usize).copied()
    }

    const fn new(polynomial: u64) -> Self {
        let degree = polynomial.ilog2();
        let (mut parities, mut power) = ([0; DEGREE], 1);
        let mut bit = 0;
        while bit < u64::BITS {
            let mut place = 0;
            while place < DEGREE {
                parities[place] |= (power >> place & 1) << bit;
                place += 1;
            }
            power <<= 1;
            if power >> degree & 1 != 0 {
                power ^= polynomial;
            }
            bit += 1;
        }
        Polynomial { parities, degree }
    }

    #[inline]
    pub(super) fn remainder(&self, number: u64) -> u64 {
        let bit = |(place, mask): (usize, &u64)| u64::from((number & mask).count_ones() & 1) << place;
        self.parities[..self.degree as usize].iter().enumerate().map(bit).sum()
    }

    /// The remainder of a number shifted left by the degree: the bits of the number are above the bits of a remainder.
    #[inline]
    pub(super) fn remainder_above(&self, number: u64) -> u64 {
        self.remainder(number << self.degree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_powers_of_two_meet_every_remainder() {
        let polynomial = Polynomial::of_remainders(64).unwrap();
        for stride in [1, 16, 64, 128, 1024, 4096] {
            let met: std::collections::BTreeSet<u64> =
                (0..64).map(|number| polynomial.remainder(number * stride)).collect();
            assert_eq!(met.len(), 64, "stride {stride}");
        }
        // x^6 = x + 1 and x^12 = x^2 + 1 by x^6 + x + 1.
        assert_eq!([1, 32, 64, 4096, 64 | 1].map(|number| polynomial.remainder(number)), [1, 32, 3, 5, 2]);
    }

    #[test]
    fn only_powers_of_two_have_one() {
        assert!([0, 1, 2, 3, 24, 2048].iter().all(|&count| Polynomial::of_remainders(count).is_none()));
        assert!([4, 1024].iter().all(|&count| Polynomial::of_remainders(count).is_some()));
    }
}
