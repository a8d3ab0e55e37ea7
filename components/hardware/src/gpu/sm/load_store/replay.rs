//! Replay of accesses: an access to several lines takes turns with the others, and one for which the L1 has no room is looked up again
//! when it has (US patent application 2013/0159684, "Batched replays of divergent operations").
//!
//! An access does not pass an older one of its own warp, nor an older one of another warp to its line if one of the two writes: a
//! barrier may lie between them.

use std::collections::VecDeque;

use counterpoint_ptx::AccessKind;

use super::in_flight::InFlight;
use super::l1::{L1, Transaction};
use crate::memory::table::Table;

/// An access with lines that are still to be made into transactions: those of these lanes.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    pub(super) instruction: u32,
    pub(super) lanes: u32,
    /// Index of the next word of the first lane, if a lane's words are in several lines.
    pub(super) part: u32,
}

/// An access that is replayed: its warp, its place in the order of issue, and whether it writes.
#[derive(Clone, Copy)]
struct Replayed {
    warp: u32,
    order: u64,
    writes: bool,
}

impl Replayed {
    fn of(instruction: &InFlight) -> Self {
        let InFlight { warp, order, access, .. } = instruction;
        Replayed { warp: *warp, order: *order, writes: access.kind != AccessKind::Load }
    }

    /// Whether this access must not pass another one: an older one; `same_line` says whether they meet.
    fn waits_for(&self, older: &Replayed, same_line: impl FnOnce() -> bool) -> bool {
        older.order < self.order && (older.warp == self.warp || (older.writes || self.writes) && same_line())
    }
}

/// The accesses of an SM that others pass.
pub(super) struct Replays {
    /// Accesses with lines to come, in the order of their turns.
    rests: VecDeque<(Replayed, Rest)>,
    /// Transactions that wait for the end of any miss, in the order of their lookups.
    by_misses: VecDeque<(Replayed, Transaction)>,
    /// Transactions that wait for room in their set, or for an older access.
    others: VecDeque<(Replayed, Transaction)>,
    /// Transactions of `others` that may be looked up again.
    news: usize,
    /// The orders of the transactions that wait, by their warps.
    waiting: Vec<Vec<u64>>,
    /// Accesses here that write.
    writers: usize,
    /// The next transaction is one of the queue, if it has one.
    pub(super) queue_is_next: bool,
    /// The next lookup is one of the pipeline, if it has one.
    pipeline_is_next: bool,
}

impl Replays {
    /// Those of an SM with places for a number of warps: none.
    pub(super) fn new(warps: usize) -> Self {
        Replays {
            rests: VecDeque::new(),
            by_misses: VecDeque::new(),
            others: VecDeque::new(),
            news: 0,
            waiting: vec![Vec::new(); warps],
            writers: 0,
            queue_is_next: false,
            pipeline_is_next: false,
        }
    }

    /// The lines of an access are to take turns with the others.
    pub(super) fn add_rest(&mut self, rest: Rest, instructions: &mut Table<InFlight>) {
        let place = Replayed::of(instructions.get(rest.instruction));
        self.writers += usize::from(place.writes);
        self.rests.push_back((place, rest));
    }

    /// The access whose turn it is, in `rests`: a warp's oldest, of which no transaction waits.
    fn next_rest(&self) -> Option<usize> {
        self.rests.iter().position(|(place, _)| {
            let older = |other: &Replayed| other.warp == place.warp && other.order < place.order;
            self.waiting[place.warp as usize].iter().all(|&order| order > place.order)
                && !self.rests.iter().any(|(other, _)| older(other))
        })
    }

    /// Whether an access is there whose turn it is.
    pub(super) fn has_rest(&self) -> bool {
        self.next_rest().is_some()
    }

    /// Takes the access whose turn it is.
    pub(super) fn take_rest(&mut self) -> Option<Rest> {
        let (place, rest) = self.next_rest().and_then(|index| self.rests.remove(index))?;
        self.writers -= usize::from(place.writes);
        Some(rest)
    }

    /// Whether a transaction must not be looked up before one that is replayed, or is still in the L1's pipeline.
    pub(super) fn holds_back(
        &self,
        transaction: &Transaction,
        l1: &L1,
        instructions: &mut Table<InFlight>,
    ) -> bool {
        let (mine, line) = (Replayed::of(instructions.get(transaction.instruction)), transaction.line);
        let alone = self.waiting[mine.warp as usize].is_empty();
        if alone && !mine.writes && self.writers == 0 && !l1.has_writes() {
            return false;
        }
        let older = |other: &&Transaction| other.order < mine.order;
        for other in l1.pipeline().filter(older) {
            if mine.waits_for(&Replayed::of(instructions.get(other.instruction)), || other.line == line) {
                return true;
            }
        }
        let mut waiting = self.by_misses.iter().chain(&self.others);
        waiting.any(|(place, other)| mine.waits_for(place, || other.line == line))
            || self.rests.iter().any(|(place, rest)| {
                let access = &instructions.get(rest.instruction).access;
                mine.waits_for(place, || access.lanes_within(rest.lanes, line, l1.size().transfer()) != 0)
            })
    }

    /// A transaction waits.
    fn wait(&mut self, transaction: &Transaction, instructions: &mut Table<InFlight>) -> Replayed {
        let place = Replayed::of(instructions.get(transaction.instruction));
        self.writers += usize::from(place.writes);
        self.waiting[place.warp as usize].push(place.order);
        place
    }

    /// A transaction is to be looked up again when any miss has ended.
    pub(super) fn await_miss(&mut self, transaction: Transaction, instructions: &mut Table<InFlight>) {
        let place = self.wait(&transaction, instructions);
        self.by_misses.push_back((place, transaction));
    }

    /// A transaction is to be looked up again when there are news.
    pub(super) fn await_news(&mut self, transaction: Transaction, instructions: &mut Table<InFlight>) {
        let place = self.wait(&transaction, instructions);
        self.others.push_back((place, transaction));
    }

    /// A transaction that was taken is still to be looked up, before all others.
    pub(super) fn put_back(&mut self, transaction: Transaction, instructions: &mut Table<InFlight>) {
        let place = self.wait(&transaction, instructions);
        self.others.push_front((place, transaction));
        self.news += 1;
    }

    /// News: a miss has ended, or an access that others may wait for has been looked up.
    pub(super) fn room_made(&mut self) {
        self.news = self.others.len();
    }

    /// Whether a transaction may be looked up again.
    pub(super) fn has_ready(&self, l1: &L1) -> bool {
        self.news > 0 || !self.by_misses.is_empty() && l1.has_free_miss()
    }

    /// Takes a transaction that may be looked up again, unless it is the turn of one that has arrived at the end of the pipeline.
    pub(super) fn take_ready(&mut self, arrived: bool, l1: &L1) -> Option<Transaction> {
        if arrived && std::mem::take(&mut self.pipeline_is_next) {
            return None;
        }
        let taken = if self.news > 0 {
            self.news -= 1;
            self.others.pop_front()
        } else if l1.has_free_miss() {
            self.by_misses.pop_front()
        } else {
            None
        };
        self.pipeline_is_next = taken.is_some();
        let (place, transaction) = taken?;
        self.writers -= usize::from(place.writes);
        let waiting = &mut self.waiting[place.warp as usize];
        if let Some(index) = waiting.iter().position(|&order| order == place.order) {
            waiting.swap_remove(index);
        }
        Some(transaction)
    }
}
