//! The written bytes of a memory: one bit for each byte, dropped once all bytes are written.

use std::ops::Range;

use super::space::Space;
use crate::execute::{Access, AccessKind};

/// A bit for each byte of a memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    written: Words,
    /// Bytes that nobody has written.
    missing: usize,
    bytes: usize,
    /// A range known to be written, which contains most accesses.
    known: Range<usize>,
}

/// Words of 64 bits.
#[derive(Clone, Debug)]
enum Words {
    Few(Vec<u64>),
    /// Shadow of a memory so large that not all of it may be touched.
    Many(Space),
}

/// Bytes of memory from which on it is large.
const LARGE: usize = 1 << 24;

impl Default for Words {
    fn default() -> Self {
        Words::Few(Vec::new())
    }
}

impl Words {
    fn new(bytes: usize) -> Self {
        let words = bytes.div_ceil(64);
        let many = if bytes < LARGE { None } else { Space::zeroed(8 * words).ok() };
        many.map_or_else(|| Words::Few(vec![0; words]), Words::Many)
    }

    fn as_words(&self) -> &[u64] {
        match self {
            Words::Few(words) => words,
            Words::Many(space) => bytemuck::cast_slice(space),
        }
    }

    #[inline]
    fn all(&mut self) -> &mut [u64] {
        match self {
            Words::Few(words) => words,
            Words::Many(space) => bytemuck::cast_slice_mut(space),
        }
    }
}

impl Shadow {
    /// The shadow of a memory that nobody has written.
    pub(super) fn new(bytes: usize) -> Self {
        Shadow { written: Words::new(bytes), missing: bytes, bytes, known: 0..0 }
    }

    /// The shadow of a memory whose bytes are all written.
    pub(super) fn complete(bytes: usize) -> Self {
        let mut shadow = Shadow::new(bytes);
        shadow.write(0, bytes);
        shadow
    }

    /// A bit for each byte of a range, the first one lowest, set for an unwritten byte; `None` if there are none.
    pub(super) fn missing(&self, range: Range<usize>) -> Option<Vec<u8>> {
        let words = self.written.as_words();
        let is_missing = |byte: usize| words[byte / 64] >> (byte % 64) & 1 == 0;
        let is_whole = words[range.start / 64..range.end.div_ceil(64)].iter().all(|word| *word == u64::MAX);
        if is_whole || !range.clone().any(is_missing) {
            return None;
        }
        let mut bits = vec![0; range.len().div_ceil(8)];
        range
            .enumerate()
            .filter(|(_, byte)| is_missing(*byte))
            .for_each(|(index, _)| bits[index / 8] |= 1 << (index % 8));
        Some(bits)
    }

    /// Nobody has written the bytes of a range whose bits are set.
    pub(super) fn forget(&mut self, range: Range<usize>, bits: &[u8]) {
        let set = |index: usize| bits[index / 8] >> (index % 8) & 1 != 0;
        for (_, byte) in range.enumerate().filter(|(index, _)| set(*index)) {
            let (word, bit) = (&mut self.written.all()[byte / 64], 1 << (byte % 64));
            self.missing += usize::from(*word & bit != 0);
            *word &= !bit;
        }
        self.known = 0..0;
    }

    /// Nobody has written anything any more.
    pub(super) fn reset(&mut self) {
        self.written.all().fill(0);
        self.missing = self.bytes;
        self.known = 0..0;
    }

    /// Like `reset`, if all written bytes are within these ranges.
    pub(super) fn reset_within(&mut self, ranges: impl Iterator<Item = Range<usize>>) {
        let words = self.written.all();
        ranges.for_each(|bytes| words[bytes.start / 64..bytes.end.div_ceil(64)].fill(0));
        self.missing = self.bytes;
        self.known = 0..0;
    }

    /// Whether every byte has been written, so that nothing is left to find.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// The shadow after a write to a range; `None` if every byte is then written.
    pub(super) fn without(mut self, range: Range<usize>) -> Option<Self> {
        self.write(range.start, range.len());
        (!self.is_complete()).then_some(self)
    }

    /// Records an access by these lanes, which are within a memory that begins at `base`, a multiple of 16. Returns the
    /// lanes that read unwritten bytes.
    #[inline]
    pub(super) fn note(&mut self, access: &Access, lanes: u32, base: u64) -> u32 {
        if access.contiguous && lanes != 0 {
            let (first, last) = (lanes.trailing_zeros() as usize, 31 - lanes.leading_zeros() as usize);
            let start = access.addresses[first].wrapping_sub(base) as usize;
            let end = (access.addresses[last].wrapping_sub(base) as usize).wrapping_add(access.width.into());
            if self.known.start <= start && end <= self.known.end {
                return 0;
            }
        }
        self.note_unknown(access, lanes, base)
    }

    /// Like `note`, if not all bytes are known to be written.
    fn note_unknown(&mut self, access: &Access, lanes: u32, base: u64) -> u32 {
        if !access.contiguous {
            let known = base + self.known.start as u64;
            let inside = access.lanes_within(lanes, known, self.known.len() as u64);
            return self.note_lanes(access, lanes & !inside, base);
        }
        // Lanes without a gap between them access one range.
        let width = usize::from(access.width);
        let (mut unwritten, mut rest) = (0, lanes);
        while rest != 0 {
            let first = rest.trailing_zeros();
            let count = (!(rest >> first)).trailing_zeros();
            let run = (u32::MAX >> (32 - count)) << first;
            rest &= !run;
            let start = access.addresses[first as usize & 31].wrapping_sub(base) as usize;
            match access.kind {
                AccessKind::Store => self.write(start, count as usize * width),
                AccessKind::Load if self.has(start, count as usize * width) => {}
                _ => unwritten |= self.note_lanes(access, run, base),
            }
        }
        unwritten
    }

    /// Like `note`, lane by lane.
    fn note_lanes(&mut self, access: &Access, lanes: u32, base: u64) -> u32 {
        let width = usize::from(access.width);
        let mut unwritten = 0;
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let start = access.addresses[lane as usize & 31].wrapping_sub(base) as usize;
            // Accesses are aligned and at most 16 bytes wide, so each is within one word.
            let bits = ((1 << width) - 1) << (start % 64);
            let Some(word) = self.written.all().get_mut(start / 64) else { continue };
            if access.kind != AccessKind::Store {
                unwritten |= u32::from(*word & bits != bits) << lane;
            }
            if access.kind != AccessKind::Load {
                self.missing -= (bits & !*word).count_ones() as usize;
                *word |= bits;
            }
        }
        unwritten
    }

    /// Calls `look` with each word of a range of bytes, and the bits of the range in it, while `look` returns true.
    #[inline]
    fn words(
        &mut self,
        start: usize,
        count: usize,
        mut look: impl FnMut(&mut u64, u64, &mut usize) -> bool,
    ) -> bool {
        let (last, end) = ((start + count - 1) / 64, u64::MAX >> (63 - (start + count - 1) % 64));
        let mut bits = u64::MAX << (start % 64);
        let Some(words) = self.written.all().get_mut(start / 64..=last) else { return false };
        let left = words.len() - 1;
        for (index, word) in words.iter_mut().enumerate() {
            if !look(word, if index == left { bits & end } else { bits }, &mut self.missing) {
                return false;
            }
            bits = u64::MAX;
        }
        true
    }

    fn write(&mut self, start: usize, count: usize) {
        self.words(start, count, |word, bits, missing| {
            *missing -= (bits & !*word).count_ones() as usize;
            *word |= bits;
            true
        });
        self.know(start..start + count);
    }

    fn has(&mut self, start: usize, count: usize) -> bool {
        let has = self.words(start, count, |word, bits, _| *word & bits == bits);
        if has {
            self.know(start..start + count);
        }
        has
    }

    fn know(&mut self, range: Range<usize>) {
        if range.start <= self.known.end && self.known.start <= range.end {
            self.known = self.known.start.min(range.start)..self.known.end.max(range.end);
        } else if range.len() > self.known.len() {
            self.known = range;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{AtomicOperation, AtomicType};

    /// An access of `width` bytes a lane, `stride` apart.
    fn access(kind: AccessKind, start: u64, stride: u64, width: u8) -> Access {
        Access {
            addresses: std::array::from_fn(|lane| 4096 + start + lane as u64 * stride),
            contiguous: stride == u64::from(width),
            mask: !0,
            kind,
            width,
            ..Access::default()
        }
    }

    #[test]
    fn a_read_before_the_write_is_told_lane_by_lane() {
        let mut shadow = Shadow::new(1000);
        let load = |start, stride, width| access(AccessKind::Load, start, stride, width);
        assert_eq!(shadow.note(&load(0, 4, 4), 0xff, 4096), 0xff);
        assert_eq!(shadow.note(&access(AccessKind::Store, 40, 4, 4), !0, 4096), 0);
        // Bytes 40 to 167 are written.
        assert_eq!(shadow.note(&load(0, 4, 4), !0, 4096), 0x3ff);
        assert_eq!(shadow.note(&load(40, 4, 4), !0, 4096), 0);
        assert_eq!(shadow.note(&load(32, 16, 16), 0xffff, 4096), 0xff01, "half of lanes 0 and 8 is there");
        assert_eq!(shadow.note(&load(168, 0, 1), 1, 4096), 1);
    }

    #[test]
    fn an_atomic_reads_and_writes() {
        let mut shadow = Shadow::new(8);
        let add = AccessKind::Atomic(AtomicOperation::Add, AtomicType::U32);
        assert_eq!(shadow.note(&access(add, 0, 0, 4), 7, 4096), 1, "the first lane writes for the others");
        assert_eq!(shadow.note(&access(AccessKind::Load, 0, 4, 4), 3, 4096), 2);
        assert!(!shadow.is_complete());
        shadow.note(&access(AccessKind::Store, 4, 9, 4), 1, 4096);
        assert!(shadow.is_complete());
        shadow.reset();
        assert_eq!(shadow.note(&access(AccessKind::Load, 0, 4, 4), 3, 4096), 3);
    }

    #[test]
    fn every_byte_counts_once_however_it_is_written() {
        for width in [1_u8, 2, 4, 8, 16] {
            for stride in [u64::from(width), 3 * u64::from(width)] {
                let mut shadow = Shadow::new(32 * 48);
                for _ in 0..2 {
                    shadow.note(&access(AccessKind::Store, 0, stride, width), !0, 4096);
                }
                assert_eq!(shadow.missing, 32 * 48 - 32 * usize::from(width), "{width} {stride}");
            }
        }
    }
}
