//! Coalescing: the lanes of an access that fall into one line become one transaction.

use counterpoint_protocols::memory::{LINE_BYTES, line_of};

/// The lanes among `lanes` whose address lies in the same line as that of the first of them, with that line.
#[inline]
pub(super) fn next_line(lanes: u32, addresses: &[u64; 32]) -> (u64, u32) {
    let line = line_of(addresses[lanes.trailing_zeros() as usize]);
    let mut same = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        same |= u32::from(address.wrapping_sub(line) < LINE_BYTES) << lane;
    }
    (line, same & lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_grouped_by_line_in_the_order_of_their_first() {
        let mut addresses = [0; 32];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = 0x1000 + 8 * lane as u64;
        }
        let (line, lanes) = next_line(u32::MAX, &addresses);
        assert_eq!((line, lanes), (0x1000, 0xffff));
        assert_eq!(next_line(!lanes, &addresses), (0x1080, 0xffff_0000));
        assert_eq!(next_line(0b100, &addresses), (0x1000, 0b100));
    }
}
