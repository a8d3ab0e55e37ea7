//! Bytes of an allocation that a launch has read, written and changed by atomics.

use std::ops::Range;

use crate::execute::{Access, AccessKind};

/// Accesses to the bytes of an allocation: a bit for each byte, by kind.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    reads: Bytes,
    writes: Bytes,
    atomics: Bytes,
}

/// Bytes that two have touched in ways that need an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The first of them, counted from the beginning of the allocation.
    pub first: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The access of each side to the first.
    pub did: [&'static str; 2],
}

impl Touched {
    /// A range of an allocation has been read.
    pub fn reads(range: Range<usize>) -> Self {
        let mut touched = Touched::default();
        touched.note_read(range);
        touched
    }

    /// A range of an allocation has been written.
    pub fn writes(range: Range<usize>) -> Self {
        let mut touched = Touched::default();
        touched.note_write(range);
        touched
    }

    /// Learns that a range has been written.
    pub fn note_write(&mut self, range: Range<usize>) {
        self.writes.insert(range);
    }

    /// Learns that a range has been read.
    pub fn note_read(&mut self, range: Range<usize>) {
        self.reads.insert(range);
    }

    /// Learns of an access by those lanes to the allocation, which begins at `base`, a multiple of 16.
    pub(super) fn note(&mut self, access: &Access, lanes: u32, base: u64) {
        let done = match access.kind {
            AccessKind::Load => &mut self.reads,
            AccessKind::Store => &mut self.writes,
            AccessKind::Atomic(..) => &mut self.atomics,
        };
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let start = access.addresses[lane].wrapping_sub(base) as usize;
            done.insert(start..start + usize::from(access.width));
        }
    }

    /// The bytes that both touch, one of them writing, and not both by atomics.
    pub fn conflict(&self, other: &Touched) -> Option<Conflict> {
        let (mut first, mut bytes) = (None, 0);
        let (own, others) = (self.span(), other.span());
        for index in own.start.max(others.start)..own.end.min(others.end) {
            let each = |it: &Touched| [&it.reads, &it.writes, &it.atomics].map(|set| set.word(index));
            let ([reads, writes, atomics], [others_reads, others_writes, others_atomics]) =
                (each(self), each(other));
            let both = writes & (others_reads | others_writes | others_atomics)
                | reads & (others_writes | others_atomics)
                | atomics & (others_reads | others_writes);
            if both != 0 {
                first.get_or_insert(index * 64 + both.trailing_zeros() as usize);
                bytes += u64::from(both.count_ones());
            }
        }
        first.map(|first| {
            let did = [self.did(first, other), other.did(first, self)];
            Conflict { first: first as u64, bytes, did }
        })
    }

    /// The words in which anything was done.
    fn span(&self) -> Range<usize> {
        let spans = [&self.reads, &self.writes, &self.atomics].map(Bytes::span);
        let used = spans.iter().filter(|span| !span.is_empty());
        used.cloned().reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default()
    }

    /// The access to a byte that needs an order with the other's.
    fn did(&self, byte: usize, other: &Touched) -> &'static str {
        let has = |set: &Bytes| set.has(byte);
        if has(&self.writes) {
            "writes"
        } else if has(&self.atomics) && (has(&other.reads) || has(&other.writes)) {
            "changes by atomics"
        } else {
            "reads"
        }
    }
}

/// A set of bytes, as the words of bits from its first to its last one: a copy of a small part takes little room.
#[derive(Clone, Debug, Default)]
struct Bytes {
    /// The number of the first word.
    from: usize,
    words: Vec<u64>,
}

impl Bytes {
    fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.reach(range.start / 64, (range.end - 1) / 64);
        let mut start = range.start;
        while start < range.end {
            let (word, bit) = (start / 64 - self.from, start % 64);
            let count = (64 - bit).min(range.end - start);
            self.words[word] |= (u64::MAX >> (64 - count)) << bit;
            start += count;
        }
    }

    /// Grows the record to the words from `first` to `last`.
    fn reach(&mut self, first: usize, last: usize) {
        if self.words.is_empty() {
            self.from = first;
        }
        if first < self.from {
            // Doubles the length, so that going downwards word by word does not move them all every time.
            let more = (self.from - first).max(self.words.len()).min(self.from);
            self.words.splice(0..0, std::iter::repeat_n(0, more));
            self.from -= more;
        }
        let length = last + 1 - self.from;
        if length > self.words.len() {
            self.words.resize(length, 0);
        }
    }

    fn word(&self, index: usize) -> u64 {
        index.checked_sub(self.from).and_then(|index| self.words.get(index)).copied().unwrap_or(0)
    }

    fn has(&self, byte: usize) -> bool {
        self.word(byte / 64) >> (byte % 64) & 1 != 0
    }

    fn span(&self) -> Range<usize> {
        self.from..self.from + self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{AtomicOperation, AtomicType};

    /// `words` consecutive words of four bytes, beginning at `start`.
    fn touched(kind: AccessKind, start: u64, words: u32) -> Touched {
        let access = Access {
            addresses: std::array::from_fn(|lane| 4096 + start + 4 * lane as u64),
            kind,
            width: 4,
            ..Access::default()
        };
        let mut touched = Touched::default();
        touched.note(&access, (1 << words) - 1, 4096);
        touched
    }

    const ADD: AccessKind = AccessKind::Atomic(AtomicOperation::Add, AtomicType::U32);

    #[test]
    fn only_what_needs_an_order_is_a_conflict() {
        let [load, store, add] = [AccessKind::Load, AccessKind::Store, ADD].map(|kind| touched(kind, 40, 10));
        for (one, other) in [(&load, &load), (&add, &add)] {
            assert_eq!(one.conflict(other), None);
        }
        let conflict = |did| Some(Conflict { first: 40, bytes: 40, did });
        assert_eq!(store.conflict(&store), conflict(["writes", "writes"]));
        assert_eq!(load.conflict(&store), conflict(["reads", "writes"]));
        assert_eq!(add.conflict(&load), conflict(["changes by atomics", "reads"]));
        assert_eq!(store.conflict(&add), conflict(["writes", "changes by atomics"]));
    }

    #[test]
    fn a_set_grows_both_ways_and_holds_what_was_put_in() {
        let mut set = Bytes::default();
        for start in [6400, 130, 7000, 0, 64 * 90] {
            set.insert(start..start + 70);
        }
        set.insert(5..5);
        let expected = |byte: usize| {
            [6400, 130, 7000, 0, 64 * 90].iter().any(|start| (*start..start + 70).contains(&byte))
        };
        assert!((0..8000).all(|byte| set.has(byte) == expected(byte)));
        let mut part = Bytes::default();
        part.insert(1 << 30..(1 << 30) + 100);
        assert!(part.words.len() < 4, "as small as what is in it");
    }

    #[test]
    fn a_conflict_begins_where_both_have_been() {
        let store = touched(AccessKind::Store, 40, 10);
        assert_eq!(store.conflict(&Touched::reads(0..40)), None);
        assert_eq!(store.conflict(&Touched::reads(80..200)), None);
        let Some(Conflict { first, bytes, .. }) = store.conflict(&Touched::writes(61..200)) else {
            panic!("a conflict")
        };
        assert_eq!((first, bytes), (61, 19));
    }
}
