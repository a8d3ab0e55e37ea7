//! A warp's memory access on its way to memory, and the bytes of the answer on their way back.

use super::vector;
use crate::execute::allocations::bytes_of;
use crate::isa::{AtomicOperation, AtomicType, CacheOperator, Reach, Space};
use crate::program::Row;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes `values`.
    Store,
    /// Reads, combines with `values` and writes, in one step.
    Atomic(AtomicOperation, AtomicType),
}

/// One memory instruction of one warp.
///
/// Reuse one `Access` for every [`Warp::issue`](crate::Warp::issue): it has 800 bytes.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Access {
    /// Address of each lane; of lanes outside `mask`, anything.
    pub addresses: [u64; 32],
    /// Data of a store, or operands of an atomic: word `k` of each lane in row `k`. An element of fewer
    /// than 32 bits has a word of its own, one of 64 bits two, low word first; an atomic's second operand
    /// follows its first.
    pub values: [Row; 4],
    /// Words that a compare-and-swap of 128 bits stores; `values` has those that it compares.
    pub swap: Option<Box<[Row; 4]>>,
    /// The instruction.
    pub pc: u32,
    /// The lanes that take part.
    pub mask: u32,
    /// The space; generic addresses are resolved.
    pub space: Space,
    /// Its kind.
    pub kind: AccessKind,
    /// Must not be answered from a cache that others do not see.
    pub volatile: bool,
    /// The scope of its acquire.
    pub acquires: Reach,
    /// Its cache operator.
    pub cache: CacheOperator,
    /// Bytes a lane.
    pub width: u8,
    /// Elements a lane: 1, 2 or 4.
    pub elements: u8,
    /// Bytes of one element.
    pub element_bytes: u8,
    /// A load or atomic whose result some register takes.
    pub wants_value: bool,
    /// Whether the addresses of all lanes, active or not, are consecutive, beginning with lane 0.
    pub contiguous: bool,
    /// A load of global memory for shared memory, where its addresses are in the first row of `values`.
    pub copies: bool,
    /// The group of a copy among its warp's, which the warp's owner counts.
    pub group: u32,
    /// Lanes of a copy that write zeros and read nothing.
    pub zeros: u32,
    /// Of a copy, the lanes that read fewer bytes than they write: the count is in the second row of `values`, and zeros fill the rest.
    /// They are not in `mask`; the owner of the warp reads these bytes for them.
    pub parts: u32,
    /// In: the value of `%clock`.
    pub clock: u64,
    /// In: the time of the run, for `%globaltimer`.
    pub picoseconds: u64,
}

impl Default for Access {
    fn default() -> Self {
        Access {
            addresses: [0; 32],
            values: [Row::ZERO; 4],
            swap: None,
            pc: 0,
            mask: 0,
            space: Space::Global,
            kind: AccessKind::Load,
            volatile: false,
            acquires: Reach::None,
            cache: CacheOperator::Default,
            width: 4,
            elements: 1,
            element_bytes: 4,
            wants_value: false,
            contiguous: false,
            copies: false,
            group: 0,
            zeros: 0,
            parts: 0,
            clock: 0,
            picoseconds: 0,
        }
    }
}

impl Access {
    /// The lanes that read or write.
    #[inline]
    pub fn lanes(&self) -> u32 {
        if self.copies { self.mask | self.parts } else { self.mask }
    }

    /// First lane and number of lanes, if these access one run of memory.
    #[inline]
    pub(crate) fn run(&self, lanes: u32) -> Option<(usize, usize)> {
        if !self.contiguous || lanes == 0 {
            return None;
        }
        let first = lanes.trailing_zeros();
        let shifted = lanes >> first;
        (shifted & shifted.wrapping_add(1) == 0).then(|| (first as usize, shifted.trailing_ones() as usize))
    }

    /// A lane's access and its address in the space, for messages.
    pub fn describe(&self, lane: u32) -> String {
        let verb = match self.kind {
            AccessKind::Load => "reads",
            AccessKind::Store => "writes",
            AccessKind::Atomic(..) => "changes",
        };
        format!("{verb} {} at {:#x}", bytes_of(self.width.into()), self.addresses[lane as usize])
    }

    /// The lowest address of the lanes that take part, and the highest one.
    #[inline]
    pub fn extent(&self) -> (u64, u64) {
        if self.contiguous && self.mask != 0 {
            let (first, last) = (self.mask.trailing_zeros(), 31 - self.mask.leading_zeros());
            let (low, high) = (self.addresses[first as usize], self.addresses[last as usize]);
            if low <= high {
                return (low, high);
            }
        }
        vector::extent(&self.addresses, self.mask)
    }

    /// The bytes that `lanes` touch among the 128 bytes at `base`, one bit each; all these lanes are within them.
    pub fn bytes_within(&self, lanes: u32, base: u64) -> u128 {
        if let Some((first, count)) = self.run(lanes) {
            let length = count as u32 * u32::from(self.width);
            return (u128::MAX >> (128 - length)) << (self.addresses[first] - base);
        }
        let (width, mut mask, mut rest) = ((1 << self.width) - 1, 0, lanes);
        while rest != 0 {
            mask |= width << (self.addresses[rest.trailing_zeros() as usize] - base);
            rest &= rest - 1;
        }
        mask
    }

    /// The lanes of `lanes` whose bytes are all within the `length` bytes at `base`.
    pub fn lanes_within(&self, lanes: u32, base: u64, length: u64) -> u32 {
        match length.checked_sub(u64::from(self.width)) {
            Some(last) => vector::lanes_within(&self.addresses, base, last) & lanes,
            None => 0,
        }
    }

    /// Copies the bytes of those `lanes` that are within `bytes`, which starts at `base`, into `words`; returns the lanes
    /// served. Elements of fewer than 32 bits are filled with zeros.
    #[inline]
    pub fn gather(&self, lanes: u32, base: u64, bytes: &[u8], words: &mut [Row; 4]) -> u32 {
        if self.width <= 4 && self.elements == 1 {
            return self.gather_row(lanes, base, bytes, &mut words[0]);
        }
        if self.element_bytes >= 4 {
            return if self.width == 8 {
                self.gather_wide::<2>(lanes, base, bytes, words)
            } else {
                self.gather_wide::<4>(lanes, base, bytes, words)
            };
        }
        let (width, piece) = (usize::from(self.width), usize::from(self.element_bytes));
        self.each_within(lanes, (base, bytes.len()), width, |lane, start| {
            for (index, part) in bytes[start..][..width].chunks_exact(piece).enumerate() {
                let whole = part.iter().rev().fold(0, |whole, byte| whole << 8 | u32::from(*byte));
                words[index & 3].0[lane] = whole;
            }
        })
    }

    /// Calls `serve` with each of those `lanes` whose `width` bytes are within `length` bytes at `base`, and with the place of its first
    /// byte there; returns these lanes.
    #[inline(always)]
    fn each_within(
        &self,
        lanes: u32,
        (base, length): (u64, usize),
        width: usize,
        mut serve: impl FnMut(usize, usize),
    ) -> u32 {
        let Some(last) = length.checked_sub(width) else { return 0 };
        let mut served = 0;
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize & 31;
            rest &= rest - 1;
            // An address below the base wraps to a large distance.
            let start = self.addresses[lane].wrapping_sub(base);
            if start > last as u64 {
                continue;
            }
            served |= 1 << lane;
            serve(lane, start as usize);
        }
        served
    }

    /// Like [`Access::gather`], for one element of at most 32 bits in each lane.
    #[inline]
    pub(crate) fn gather_row(&self, lanes: u32, base: u64, bytes: &[u8], row: &mut Row) -> u32 {
        // One run of memory serves a run of lanes: the case that decides the speed.
        if self.width == 4
            && let Some((first, count)) = self.run(lanes)
        {
            let start = self.addresses[first].wrapping_sub(base) as usize;
            let end = start.wrapping_add(4 * count);
            if start <= end
                && let Some(found) = bytes.get(start..end)
            {
                if let Some(line) = found.as_array::<128>() {
                    row.0 = bytemuck::cast(*line);
                } else {
                    bytemuck::cast_slice_mut(&mut row.0[first..first + count]).copy_from_slice(found);
                }
                return lanes;
            }
        }
        vector::gather(&self.addresses, lanes, base, bytes, self.width, &mut row.0)
    }

    /// Like [`Access::gather`], for elements that are `WORDS` words in each lane.
    #[inline(always)]
    fn gather_wide<const WORDS: usize>(
        &self,
        lanes: u32,
        base: u64,
        bytes: &[u8],
        words: &mut [Row; 4],
    ) -> u32 {
        self.each_within(lanes, (base, bytes.len()), 4 * WORDS, |lane, start| {
            let found = &bytes[start..][..4 * WORDS];
            for index in 0..WORDS {
                let word = &found[4 * index..][..4];
                words[index & 3].0[lane] = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            }
        })
    }

    /// Writes the data of those `lanes` that are within `bytes`, which starts at `base`, to `bytes`, calling `wrote` with
    /// the first byte and the number of bytes; the highest lane wins if several write one byte.
    #[inline]
    fn put(&self, lanes: u32, base: u64, bytes: &mut [u8], mut wrote: impl FnMut(usize, usize)) -> u32 {
        if self.width == 4
            && self.element_bytes == 4
            && let Some((first, count)) = self.run(lanes)
        {
            let start = self.addresses[first].wrapping_sub(base) as usize;
            let end = start.wrapping_add(4 * count);
            if start <= end
                && let Some(place) = bytes.get_mut(start..end)
            {
                let values = &self.values[0].0;
                if let Some(line) = place.as_mut_array::<128>() {
                    *line = bytemuck::cast(*values);
                } else {
                    place.copy_from_slice(bytemuck::cast_slice(&values[first..first + count]));
                }
                wrote(start, 4 * count);
                return lanes;
            }
        }
        match (self.element_bytes >= 4, self.width) {
            (true, 4) => self.put_wide::<1>(lanes, base, bytes, wrote),
            (true, 8) => self.put_wide::<2>(lanes, base, bytes, wrote),
            (true, _) => self.put_wide::<4>(lanes, base, bytes, wrote),
            _ => self.put_pieces(lanes, base, bytes, wrote),
        }
    }

    /// Like [`Access::put`], lane by lane, for elements that are `WORDS` words in each lane.
    #[inline(always)]
    fn put_wide<const WORDS: usize>(
        &self,
        lanes: u32,
        base: u64,
        bytes: &mut [u8],
        mut wrote: impl FnMut(usize, usize),
    ) -> u32 {
        self.each_within(lanes, (base, bytes.len()), 4 * WORDS, |lane, start| {
            let place = &mut bytes[start..][..4 * WORDS];
            for index in 0..WORDS {
                place[4 * index..][..4].copy_from_slice(&self.values[index & 3].0[lane].to_le_bytes());
            }
            wrote(start, 4 * WORDS);
        })
    }

    /// Like [`Access::put`], lane by lane, for elements of fewer than 32 bits.
    #[inline(always)]
    fn put_pieces(
        &self,
        lanes: u32,
        base: u64,
        bytes: &mut [u8],
        mut wrote: impl FnMut(usize, usize),
    ) -> u32 {
        let (width, piece) = (usize::from(self.width), usize::from(self.element_bytes));
        self.each_within(lanes, (base, bytes.len()), width, |lane, start| {
            for (index, part) in bytes[start..][..width].chunks_exact_mut(piece).enumerate() {
                part.copy_from_slice(&self.values[index & 3].0[lane].to_le_bytes()[..piece]);
            }
            wrote(start, width);
        })
    }

    /// Puts store data into a line of at most 128 bytes and marks the bytes written; returns the lanes
    /// served.
    #[inline]
    pub fn scatter(&self, lanes: u32, base: u64, bytes: &mut [u8], byte_mask: &mut u128) -> u32 {
        self.put(lanes, base, bytes, |start, count| {
            let ones = if count >= 128 { u128::MAX } else { (1 << count) - 1 };
            *byte_mask |= ones.checked_shl(start as u32).unwrap_or(0);
        })
    }

    /// Puts store data into memory of any size; returns the lanes served.
    #[inline]
    pub fn store(&self, lanes: u32, base: u64, bytes: &mut [u8]) -> u32 {
        self.put(lanes, base, bytes, |_, _| {})
    }

    /// An atomic's operands of one lane: the first, and the second of a compare-and-swap.
    pub fn atomic_operands(&self, lane: usize) -> (u64, u64) {
        let word = |row: usize| u64::from(self.values[row].0[lane]);
        if self.width == 8 { (word(0) | word(1) << 32, word(2) | word(3) << 32) } else { (word(0), word(1)) }
    }

    /// The operands of an atomic of 128 bits.
    pub fn wide_operands(&self, lane: usize) -> (u128, u128) {
        let number =
            |rows: &[Row; 4]| rows.iter().rev().fold(0, |all, row| all << 32 | u128::from(row.0[lane]));
        (number(&self.values), self.swap.as_ref().map_or(0, |swap| number(swap)))
    }

    /// Executes an atomic's lanes that are within `bytes`, lowest lane first, and leaves the old values in `words`; returns
    /// the lanes served.
    pub fn atomic(&self, lanes: u32, base: u64, bytes: &mut [u8], words: &mut [Row; 4]) -> u32 {
        let AccessKind::Atomic(operation, kind) = self.kind else { return 0 };
        if kind == AtomicType::B128 {
            return self.wide_atomic(operation, lanes, base, bytes, words);
        }
        let width = usize::from(self.width);
        let mut served = 0;
        for lane in (0..32).filter(|lane| lanes & (1 << lane) != 0) {
            let start = self.addresses[lane].wrapping_sub(base) as usize;
            let Some(place) = bytes.get_mut(start..start.wrapping_add(width)) else { continue };
            let mut old = [0; 8];
            old[..width].copy_from_slice(place);
            let old = u64::from_le_bytes(old);
            let (b, c) = self.atomic_operands(lane);
            let new = operation.apply(kind, old, b, c);
            place.copy_from_slice(&new.to_le_bytes()[..width]);
            words[0].0[lane] = old as u32;
            words[1].0[lane] = (old >> 32) as u32;
            served |= 1 << lane;
        }
        served
    }
}

impl Access {
    /// Like [`Access::atomic`], for atomics of 128 bits.
    #[cold]
    fn wide_atomic(
        &self,
        operation: AtomicOperation,
        lanes: u32,
        base: u64,
        bytes: &mut [u8],
        words: &mut [Row; 4],
    ) -> u32 {
        let mut served = 0;
        for lane in (0..32).filter(|lane| lanes & (1 << lane) != 0) {
            let start = self.addresses[lane].wrapping_sub(base) as usize;
            let place = bytes.get_mut(start..).and_then(<[u8]>::first_chunk_mut);
            let Some(place) = place else { continue };
            let old = u128::from_le_bytes(*place);
            let (b, c) = self.wide_operands(lane);
            *place = operation.apply_wide(old, b, c).to_le_bytes();
            for (index, row) in words.iter_mut().enumerate() {
                row.0[lane] = (old >> (32 * index)) as u32;
            }
            served |= 1 << lane;
        }
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(base: u64) -> Access {
        Access {
            addresses: std::array::from_fn(|lane| base + 4 * lane as u64),
            mask: !0,
            ..Access::default()
        }
    }

    #[test]
    fn fast_and_slow_paths_agree() {
        let bytes: Vec<u8> = (0..=255).collect();
        for lanes in [!0u32, 0xffff_0000, 0x00ff_ff00, 0x8000_0001, 1, 0x5555_5555] {
            for base in [0u64, 64, 100, 996] {
                let mut access = words(100);
                let (mut fast, mut slow) = ([Row::ZERO; 4], [Row::ZERO; 4]);
                let expected = access.gather(lanes, base, &bytes[..128], &mut slow);
                access.contiguous = true;
                assert_eq!(access.gather(lanes, base, &bytes[..128], &mut fast), expected);
                assert_eq!(fast, slow);
                assert_eq!(access.lanes_within(lanes, base, 128), expected);
            }
        }
    }

    #[test]
    fn scatter_marks_what_it_writes() {
        let mut access = words(128 - 8);
        access.values[0] = Row(std::array::from_fn(|lane| lane as u32 + 1));
        for contiguous in [false, true] {
            access.contiguous = contiguous;
            let (mut line, mut mask) = ([0u8; 128], 0u128);
            assert_eq!(access.scatter(!0, 128, &mut line, &mut mask), !3);
            assert_eq!(mask, (1 << 120) - 1);
            assert_eq!((line[0], line[4]), (3, 4));
            mask = 0;
            assert_eq!(access.scatter(3, 0, &mut line, &mut mask), 3);
            assert_eq!(mask, 0xff << 120);
        }
    }

    #[test]
    fn vectors_and_small_elements() {
        let mut access = words(0);
        access.addresses = std::array::from_fn(|lane| 16 * lane as u64);
        (access.width, access.elements) = (16, 4);
        let bytes: Vec<u8> = (0..512).map(|i| i as u8).collect();
        let mut got = [Row::ZERO; 4];
        assert_eq!(access.gather(!0, 0, &bytes, &mut got), !0);
        assert_eq!(got[3].0[1], u32::from_le_bytes([28, 29, 30, 31]));
        (access.width, access.element_bytes, access.elements) = (2, 1, 2);
        access.gather(!0, 0, &bytes, &mut got);
        assert_eq!((got[0].0[2], got[1].0[2]), (32, 33));
    }

    #[test]
    fn atomics_go_lane_by_lane() {
        let mut access = words(0);
        access.addresses = [8; 32];
        access.kind = AccessKind::Atomic(AtomicOperation::Add, AtomicType::U32);
        access.values[0] = Row([1; 32]);
        let (mut bytes, mut old) = ([0u8; 16], [Row::ZERO; 4]);
        assert_eq!(access.atomic(!0, 0, &mut bytes, &mut old), !0);
        assert_eq!(bytes[8], 32);
        assert_eq!(old[0].0[31], 31);
    }
}
