//! Division by a number that is known when the machine is built, as a multiplication.

/// A divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    divisor: u64,
    /// (2^64 − 1) / divisor.
    inverse: u64,
}

/// Below this the multiplication is exact: (n + 1) × divisor must not exceed 2^64 (Hacker's Delight, chapter 10).
const EXACT: u64 = 1 << 32;

impl Divisor {
    /// A divisor from 1 to 2^32 − 1.
    pub const fn new(divisor: u32) -> Self {
        let divisor = divisor as u64;
        Divisor { divisor, inverse: u64::MAX / divisor }
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.divisor
    }

    /// Quotient and remainder.
    #[inline]
    pub const fn divide(self, number: u64) -> (u64, u64) {
        let quotient = if number < EXACT {
            (((number + 1) as u128 * self.inverse as u128) >> 64) as u64
        } else {
            number / self.divisor
        };
        (quotient, number - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_edges_are_exact() {
        for divisor in [1, 2, 3, 6, 7, 12, 255, 256, 65_535, u32::MAX - 1, u32::MAX] {
            let by = u64::from(divisor);
            for number in [0, 1, by - 1, by, by + 1, EXACT - 1, EXACT, EXACT + 1, u64::MAX - 1, u64::MAX] {
                let expected = (number / by, number % by);
                assert_eq!(Divisor::new(divisor).divide(number), expected, "{number} / {by}");
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_division(number: u64, bits in 0_u32..64, divisor in 1_u32..) {
            let number = number >> bits;
            let by = u64::from(divisor);
            prop_assert_eq!(Divisor::new(divisor).divide(number), (number / by, number % by));
        }
    }
}
