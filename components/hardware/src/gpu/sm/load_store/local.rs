//! Local memory: addresses of the lanes' bytes in device memory, and the words that are stored and loaded there.
//!
//! Words of four bytes are interleaved among the lanes, so an element of eight bytes is in two lines, and a vector of
//! four words in four: a warp's access falls into parts, one for each word, a [stride](LocalMemory::stride) apart from
//! each other.

use std::ops::Range;

use counterpoint_protocols::local::LocalMemory;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Line};
use counterpoint_ptx::Access;

use crate::memory::cache::LineSize;

/// Bytes of a word.
const WORD: u8 = 4;

/// Turns offsets within the lanes' local memory into addresses of their first words, for the warp in a slot of an SM.
pub(in crate::gpu::sm) fn translate(access: &mut Access, local: &LocalMemory, sm: u32, slot: u32) {
    for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
        let address = &mut access.addresses[lane as usize];
        *address = local.address(sm, slot, lane, *address as u32);
    }
    access.contiguous = false;
}

/// Number of words that a lane accesses.
pub(super) fn parts(access: &Access) -> u32 {
    access.width.div_ceil(WORD).into()
}

/// The lanes among `lanes` whose first word is in the same line as that of the first lane, with the line of word
/// `part`; words are `stride` bytes apart.
pub(super) fn next_line(lanes: u32, part: u32, stride: u64, access: &Access, size: LineSize) -> (u64, u32) {
    let line = |lane: u32| size.transfer_of(access.addresses[lane as usize]);
    let first = line(lanes.trailing_zeros());
    let alike = |&lane: &u32| lanes >> lane & 1 != 0 && line(lane) == first;
    let group = (0..32).filter(alike).fold(0, |group, lane| group | 1 << lane);
    (first + u64::from(part) * stride, group)
}

/// Offset of the bytes of a lane's word in their line.
fn offset(access: &Access, lane: u32) -> usize {
    (access.addresses[lane as usize] % LINE_BYTES) as usize
}

/// The bytes of a line that hold a word of these lanes.
pub(super) fn bytes(access: &Access, lanes: u32) -> ByteMask {
    let width = (1 << access.width.min(WORD)) - 1;
    let set = (0..32).filter(|lane| lanes >> lane & 1 != 0);
    set.fold(0, |mask, lane| mask | width << offset(access, lane))
}

/// Each element, or half of one, in a word of these lanes: its bytes in the line, its row among the values, its lane.
fn pieces(
    access: &Access,
    part: u32,
    lanes: u32,
) -> impl Iterator<Item = (Range<usize>, usize, usize)> + use<> {
    let (bytes, each) = (access.width.min(WORD), access.element_bytes.min(WORD));
    let first = part as usize * usize::from(WORD / each);
    let offsets = std::array::from_fn::<usize, 32, _>(|lane| offset(access, lane as u32));
    let lanes = (0..32).filter(move |lane| lanes >> lane & 1 != 0);
    lanes.flat_map(move |lane| {
        (0..usize::from(bytes / each)).map(move |piece| {
            let start = offsets[lane] + piece * usize::from(each);
            (start..start + usize::from(each), first + piece, lane)
        })
    })
}

/// Copies a word of these lanes from its line to the access's values, which a load does not use.
pub(super) fn gather(access: &mut Access, part: u32, lanes: u32, line: &Line) {
    for (bytes, row, lane) in pieces(access, part, lanes) {
        let mut word = [0; WORD as usize];
        word[..bytes.len()].copy_from_slice(&line[bytes]);
        access.values[row].0[lane] = u32::from_le_bytes(word);
    }
}

/// The bytes of a line that a store writes from a word of these lanes.
pub(super) fn scatter(access: &Access, part: u32, lanes: u32) -> (ByteMask, Line) {
    let mut line = [0; LINE_BYTES as usize];
    for (bytes, row, lane) in pieces(access, part, lanes) {
        let word = access.values[row].0[lane].to_le_bytes();
        let length = bytes.len();
        line[bytes].copy_from_slice(&word[..length]);
    }
    (bytes(access, lanes), line)
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::time::Bytes;
    use counterpoint_protocols::local::Capacity;

    use super::*;

    const LOCAL: LocalMemory =
        LocalMemory { base: 4096, bytes_per_thread: 32, capacity: Capacity { sms: 2, warps: 4 } };

    fn sized(bytes: u64) -> LineSize {
        LineSize::new(Bytes::new(bytes)).unwrap()
    }

    /// Elements at an offset within the lanes' memory.
    fn access(width: u8, element_bytes: u8, offset: u64) -> Access {
        let elements = width / element_bytes;
        let mut access =
            Access { addresses: [offset; 32], mask: !0, width, elements, element_bytes, ..Access::default() };
        for (row, values) in access.values.iter_mut().enumerate() {
            values.0 = std::array::from_fn(|lane| 0x0101_0101 * (32 * row + lane) as u32);
        }
        access
    }

    #[test]
    fn a_word_of_all_lanes_is_a_line_and_every_word_has_one() {
        let mut access = access(16, 8, 16);
        translate(&mut access, &LOCAL, 1, 2);
        // The fifth word of eight warps; this one is the third of the second SM.
        let lines = [0, 3].map(|part| next_line(!0, part, LOCAL.stride(), &access, sized(128)));
        assert_eq!(lines, [(4096 + (4 * 8 + 2 * 2 + 1) * 128, !0), (4096 + (7 * 8 + 2 * 2 + 1) * 128, !0)]);
        assert_eq!((parts(&access), bytes(&access, !0)), (4, ByteMask::MAX));
        access.addresses[5] += 128;
        assert_eq!(next_line(!0, 0, LOCAL.stride(), &access, sized(128)).1, !(1 << 5));
        assert_eq!(next_line(!0, 0, LOCAL.stride(), &access, sized(32)).1, 0xff & !(1 << 5));
    }

    #[test]
    fn what_is_stored_is_loaded() {
        for (width, element_bytes) in
            [(1, 1), (2, 2), (4, 4), (8, 8), (2, 1), (4, 2), (8, 2), (8, 4), (16, 4), (16, 8)]
        {
            let mut store = access(width, element_bytes, 0);
            translate(&mut store, &LOCAL, 0, 0);
            let mut load = store.clone();
            load.values.iter_mut().for_each(|row| row.0 = [0; 32]);
            for part in 0..parts(&store) {
                let (_, line) = scatter(&store, part, 0xffff);
                gather(&mut load, part, 0xffff, &line);
            }
            let rows = usize::from(width) / usize::from(element_bytes.min(4));
            let mask = u32::MAX >> (32 - 8 * u32::from(element_bytes.min(4)));
            for (row, (stored, loaded)) in store.values.iter().zip(&load.values).enumerate() {
                for lane in 0..32 {
                    let expected = if row < rows && lane < 16 { stored.0[lane] & mask } else { 0 };
                    assert_eq!(
                        loaded.0[lane], expected,
                        "{width} B of {element_bytes}: row {row}, lane {lane}"
                    );
                }
            }
        }
    }

    #[test]
    fn lanes_of_small_elements_share_no_byte() {
        let mut access = access(1, 1, 3);
        translate(&mut access, &LOCAL, 0, 0);
        let (mask, line) = scatter(&access, 0, 0b11);
        assert_eq!((mask, line[3], line[7]), (1 << 3 | 1 << 7, 0, 1));
    }
}
