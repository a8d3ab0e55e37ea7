//! The running hash of what a process has seen: equal hashes mean equal runs.
//!
//! Each process hashes the messages that it takes, with time and port, in its own order; a run's hash combines the
//! processes by their position in the machine. Neither hash depends on islands, threads or the order of polling.

use std::hash::Hasher;

/// A fast 64-bit hasher whose result is the same on every machine and in every build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHasher(u64);

impl Default for EventHasher {
    #[inline]
    fn default() -> Self {
        EventHasher(0x9e37_79b9_7f4a_7c15)
    }
}

impl EventHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        // A widening multiplication spreads every input bit over the state (the finaliser of wyhash).
        let product = u128::from(self.0 ^ word) * u128::from(0xa076_1d64_78bd_642f_u64);
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ word.rotate_left(29);
    }
}

impl Hasher for EventHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.mix(value as u64);
        self.mix((value >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_integer_counts_as_its_bytes() {
        let value = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128;
        let (mut whole, mut bytes) = (EventHasher::default(), EventHasher::default());
        whole.write_u128(value);
        bytes.write(&value.to_le_bytes());
        assert_eq!(whole, bytes);
    }

    #[test]
    fn every_bit_and_the_order_matter() {
        let hash = |words: &[u64]| {
            let mut hasher = EventHasher::default();
            words.iter().for_each(|&word| hasher.write_u64(word));
            hasher.finish()
        };
        let mut seen: Vec<u64> = (0..64).map(|bit| hash(&[1 << bit, 5])).collect();
        seen.extend([hash(&[5, 1]), hash(&[0, 5]), hash(&[5]), hash(&[])]);
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}
