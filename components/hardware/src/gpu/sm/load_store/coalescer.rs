//! Coalescing: the lanes of an access that fall into one line become one transaction.

use counterpoint_protocols::memory::{LINE_BYTES, line_of};
use counterpoint_ptx::Access;

/// The lanes among `lanes` whose address lies in the same line as that of the first of them, with that line.
#[inline]
pub(super) fn next_line(lanes: u32, access: &Access) -> (u64, u32) {
    let line = line_of(access.addresses[lanes.trailing_zeros() as usize]);
    (line, access.lanes_within(lanes, line, LINE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_grouped_by_line_in_the_order_of_their_first() {
        let addresses = std::array::from_fn(|lane| 0x1000 + 8 * lane as u64);
        let access = Access { addresses, mask: u32::MAX, width: 8, ..Access::default() };
        let (line, lanes) = next_line(u32::MAX, &access);
        assert_eq!((line, lanes), (0x1000, 0xffff));
        assert_eq!(next_line(!lanes, &access), (0x1080, 0xffff_0000));
        assert_eq!(next_line(0b100, &access), (0x1000, 0b100));
    }
}
