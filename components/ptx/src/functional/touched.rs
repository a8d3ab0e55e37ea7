//! Which bytes of an allocation a launch has read, written and changed by atomics.

use std::ops::Range;

use crate::execute::{Access, AccessKind};

/// What has been done to the bytes of an allocation: a bit for each, by what was done.
#[derive(Clone, Debug)]
pub struct Touched {
    bytes: usize,
    reads: Vec<u64>,
    writes: Vec<u64>,
    atomics: Vec<u64>,
}

/// Bytes that two have touched in ways that need an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The first of them, counted from the beginning of the allocation.
    pub first: u64,
    /// How many they are.
    pub bytes: u64,
    /// What either of them does to the first.
    pub did: [&'static str; 2],
}

impl Touched {
    /// Nothing of an allocation of so many bytes.
    pub fn nothing(bytes: usize) -> Self {
        Touched { bytes, reads: Vec::new(), writes: Vec::new(), atomics: Vec::new() }
    }

    /// A range of an allocation of so many bytes has been read.
    pub fn reads(bytes: usize, range: Range<usize>) -> Self {
        let mut touched = Touched::nothing(bytes);
        touched.note_read(range);
        touched
    }

    /// A range of an allocation of so many bytes has been written.
    pub fn writes(bytes: usize, range: Range<usize>) -> Self {
        let mut touched = Touched::nothing(bytes);
        insert(set(&mut touched.writes, bytes), range);
        touched
    }

    /// Learns that a range has been read.
    pub(super) fn note_read(&mut self, range: Range<usize>) {
        insert(set(&mut self.reads, self.bytes), range);
    }

    /// Learns of an access by those lanes to the allocation, which begins at `base`, a multiple of 16.
    pub(super) fn note(&mut self, access: &Access, lanes: u32, base: u64) {
        let done = match access.kind {
            AccessKind::Load => &mut self.reads,
            AccessKind::Store => &mut self.writes,
            AccessKind::Atomic(..) => &mut self.atomics,
        };
        let done = set(done, self.bytes);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let start = access.addresses[lane].wrapping_sub(base) as usize;
            insert(done, start..start + usize::from(access.width));
        }
    }

    /// The bytes that both touch, one of them writing, and not both by atomics.
    pub fn conflict(&self, other: &Touched) -> Option<Conflict> {
        let word = |set: &[u64], index: usize| set.get(index).copied().unwrap_or(0);
        let (mut first, mut bytes) = (None, 0);
        for index in 0..self.bytes.div_ceil(64) {
            let each = |it: &Touched| [&it.reads, &it.writes, &it.atomics].map(|set| word(set, index));
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

    /// What was done to a byte that needs an order with what the other did.
    fn did(&self, byte: usize, other: &Touched) -> &'static str {
        let has = |set: &[u64]| set.get(byte / 64).is_some_and(|word| word >> (byte % 64) & 1 != 0);
        if has(&self.writes) {
            "writes"
        } else if has(&self.atomics) && (has(&other.reads) || has(&other.writes)) {
            "changes by atomics"
        } else {
            "reads"
        }
    }
}

/// A set of that many bytes, made when it is first needed.
fn set(bits: &mut Vec<u64>, bytes: usize) -> &mut [u64] {
    bits.resize(bytes.div_ceil(64), 0);
    bits
}

fn insert(bits: &mut [u64], range: Range<usize>) {
    let mut start = range.start;
    while start < range.end {
        let (word, bit) = (start / 64, start % 64);
        let count = (64 - bit).min(range.end - start);
        bits[word] |= (u64::MAX >> (64 - count)) << bit;
        start += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{AtomicOperation, AtomicType};

    /// So many words of four bytes, one after another from `start` on.
    fn touched(kind: AccessKind, start: u64, words: u32) -> Touched {
        let access = Access {
            addresses: std::array::from_fn(|lane| 4096 + start + 4 * lane as u64),
            kind,
            width: 4,
            ..Access::default()
        };
        let mut touched = Touched::nothing(200);
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
    fn a_conflict_begins_where_both_have_been() {
        let store = touched(AccessKind::Store, 40, 10);
        assert_eq!(store.conflict(&Touched::reads(200, 0..40)), None);
        assert_eq!(store.conflict(&Touched::reads(200, 80..200)), None);
        let Some(Conflict { first, bytes, .. }) = store.conflict(&Touched::writes(200, 61..200)) else {
            panic!("a conflict")
        };
        assert_eq!((first, bytes), (61, 19));
    }
}
