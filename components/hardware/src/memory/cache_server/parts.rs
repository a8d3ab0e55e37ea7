//! Requests to a cache whose lines are smaller than the 128 bytes of a request: each is divided into requests for one line, whose answers
//! are merged.

use std::collections::VecDeque;

use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, MemAccess, MemReply, MemRequest, MemResult, Tag, merge,
};

use crate::memory::cache::LineSize;
use crate::memory::table::Table;

/// A request of which parts are under way.
struct Divided {
    tag: Tag,
    /// Parts that are not answered.
    left: u32,
    /// The cycle in which all answers so far are ready, and the merged answer.
    answers: Option<(u64, MemReply)>,
}

/// Requests by lines.
pub(super) struct Parts {
    size: LineSize,
    /// Parts of one request that wait for the cache.
    next: VecDeque<MemRequest>,
    /// Requests under way; their parts carry the index of the request in this table as tag.
    under_way: Table<Divided>,
}

/// The first byte that an access touches, or 0.
pub(super) fn first_byte(access: &MemAccess) -> u64 {
    match access.bytes() {
        0 => 0,
        bytes => bytes.trailing_zeros().into(),
    }
}

/// The part of an access that touches some of its bytes.
fn part(access: &MemAccess, line: ByteMask) -> MemAccess {
    match access {
        MemAccess::Read(mask) => MemAccess::Read(mask & line),
        MemAccess::Write(mask, values) => MemAccess::Write(mask & line, values.clone()),
        MemAccess::Atomic(lanes) => {
            let lanes = lanes.iter().filter(|lane| line >> lane.offset & 1 != 0);
            MemAccess::Atomic(lanes.copied().collect())
        }
    }
}

impl Parts {
    pub(super) fn new(size: LineSize) -> Self {
        Parts { size, next: VecDeque::new(), under_way: Table::default() }
    }

    /// Whether a part waits for the cache.
    pub(super) fn has_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// The next part that waits.
    pub(super) fn take_next(&mut self) -> Option<MemRequest> {
        self.next.pop_front()
    }

    /// Divides a request; gives its first part.
    pub(super) fn divide(&mut self, request: MemRequest) -> Option<MemRequest> {
        let (size, mut rest) = (self.size, request.access.bytes());
        // An access that touches nothing is about the first line.
        let first_of = |rest: ByteMask| size.bytes_of(u64::from(rest.trailing_zeros()) % LINE_BYTES);
        let place = self.under_way.insert(Divided { tag: request.tag, left: 1, answers: None });
        let request = MemRequest { tag: Tag(place), ..request };
        if rest & !first_of(rest) == 0 {
            return Some(request);
        }
        let MemRequest { line, tag, client, label, fresh, access } = request;
        while rest != 0 {
            let bytes = first_of(rest);
            let access = part(&access, bytes);
            self.next.push_back(MemRequest { line, tag, client, label, fresh, access });
            rest &= !bytes;
        }
        self.under_way.get(place).left = self.next.len() as u32;
        self.take_next()
    }

    /// Adds the answer to a part, which is ready in a cycle; gives that to the request if it was the last.
    pub(super) fn join(&mut self, ready: u64, reply: MemReply) -> Option<(u64, MemReply)> {
        let place = reply.tag.0;
        let divided = self.under_way.get(place);
        divided.left -= 1;
        let (tag, is_last) = (divided.tag, divided.left == 0);
        let joined = match divided.answers.take() {
            None => (ready, MemReply { tag, ..reply }),
            Some((before, so_far)) => (before.max(ready), add(so_far, reply)),
        };
        if is_last {
            self.under_way.take(place);
            return Some(joined);
        }
        self.under_way.get(place).answers = Some(joined);
        None
    }
}

/// The answer to parts of a request, by those to some of them and to another.
fn add(mut sum: MemReply, other: MemReply) -> MemReply {
    sum.far += other.far;
    sum.result = match (sum.result, other.result) {
        (MemResult::Line(mask, mut values), MemResult::Line(more, others)) => {
            merge(&mut values, more, &others);
            MemResult::Line(mask | more, values)
        }
        (MemResult::Written(sectors), MemResult::Written(more)) => MemResult::Written(sectors + more),
        (MemResult::Old(lanes), MemResult::Old(more)) => {
            MemResult::Old(lanes.into_iter().chain(more).collect())
        }
        (result, _) => result,
    };
    sum
}
