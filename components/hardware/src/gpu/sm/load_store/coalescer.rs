//! Coalescing: the lanes of an access that fall into one line, or one segment of it, become one transaction.

use counterpoint_protocols::memory::LINE_BYTES;
use counterpoint_ptx::Access;

use crate::gpu::sm::params::Coalescing;
use crate::memory::cache::LineSize;

/// The lanes among `lanes` whose address is in the same line as that of the first lane, and in the same segment if
/// segments count, with that line; of lines of 256 bytes, in the same half.
#[inline]
pub(super) fn next_line(lanes: u32, access: &Access, coalescing: Coalescing, size: LineSize) -> (u64, u32) {
    let first = access.addresses[lanes.trailing_zeros() as usize];
    let length = match (coalescing, access.element_bytes) {
        (Coalescing::Segments, 1) => LINE_BYTES / 4,
        (Coalescing::Segments, 2) => LINE_BYTES / 2,
        _ => LINE_BYTES,
    };
    let length = length.min(size.transfer());
    (size.transfer_of(first), access.lanes_within(lanes, first & !(length - 1), length))
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::time::Bytes;

    use super::*;

    /// Elements of a size, each beside the other.
    fn access(start: u64, element_bytes: u8) -> Access {
        let addresses = std::array::from_fn(|lane| start + u64::from(element_bytes) * lane as u64);
        Access { addresses, mask: u32::MAX, width: element_bytes, element_bytes, ..Access::default() }
    }

    fn lines(bytes: u64) -> LineSize {
        LineSize::new(Bytes::new(bytes)).unwrap()
    }

    #[test]
    fn lanes_are_grouped_by_line_in_the_order_of_their_first() {
        let access = access(0x1000, 8);
        let next = |lanes| next_line(lanes, &access, Coalescing::Lines, lines(128));
        let (line, lanes) = next(u32::MAX);
        assert_eq!((line, lanes), (0x1000, 0xffff));
        assert_eq!(next(!lanes), (0x1080, 0xffff_0000));
        assert_eq!(next(0b100), (0x1000, 0b100));
    }

    #[test]
    fn small_elements_have_small_segments_where_these_count() {
        let groups = |start, bytes, coalescing| {
            let (access, mut rest, mut groups) = (access(start, bytes), u32::MAX, Vec::new());
            while rest != 0 {
                let (line, lanes) = next_line(rest, &access, coalescing, lines(128));
                assert_eq!(line, 0x1000);
                groups.push(lanes.count_ones());
                rest &= !lanes;
            }
            groups
        };
        assert_eq!(groups(0x1010, 2, Coalescing::Lines), [32]);
        assert_eq!(groups(0x1010, 2, Coalescing::Segments), [24, 8]);
        assert_eq!(groups(0x1010, 1, Coalescing::Segments), [16, 16]);
        assert_eq!(groups(0x1000, 1, Coalescing::Segments), [32]);
        assert_eq!(groups(0x1000, 4, Coalescing::Segments), [32]);
    }

    #[test]
    fn lines_of_other_sizes_are_transactions_of_128_bytes_at_most() {
        let groups = |bytes, coalescing| {
            let (access, mut rest, mut groups) = (access(0x1010, 4), u32::MAX, Vec::new());
            while rest != 0 {
                let (line, lanes) = next_line(rest, &access, coalescing, lines(bytes));
                groups.push((line, lanes.count_ones()));
                rest &= !lanes;
            }
            groups
        };
        for coalescing in [Coalescing::Lines, Coalescing::Segments] {
            let quarters = [(0x1000, 4), (0x1020, 8), (0x1040, 8), (0x1060, 8), (0x1080, 4)];
            assert_eq!(groups(32, coalescing), quarters);
            assert_eq!(groups(64, coalescing), [(0x1000, 12), (0x1040, 16), (0x1080, 4)]);
            assert_eq!(groups(256, coalescing), [(0x1000, 28), (0x1080, 4)]);
        }
    }
}
