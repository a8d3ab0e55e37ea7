//! What strong writes pass on (PTX ISA 8.9, release and acquire patterns, and observation order).
//!
//! A record belongs to a place that was last written strongly. A strong read of it, in each other's scope, has seen what the
//! writer released; atomics hand on what those before them did.

use std::collections::BTreeMap;

use super::cells::Mark;
use super::clock::Clock;
use super::facts::Fact;
use super::threads::{BLOCK, DEVICE, Group, Seen};

/// Blocks whose releases within the block are remembered at a place.
const BLOCKS: usize = 4;

static NOTHING: Clock = Clock::NOTHING;

#[derive(Clone, Debug, Default)]
struct Record {
    writer: Mark,
    /// What the writer knew.
    knew: Clock,
    /// What was released to the device.
    device: Clock,
    /// What was released to the threads of a block.
    blocks: Vec<(u32, Clock)>,
    /// There have been more blocks than are remembered.
    crowded: bool,
}

impl Record {
    /// What has been released to a block's threads. Where that was forgotten, what all can see counts.
    fn within(&self, block: u32) -> &Clock {
        let found = self.blocks.iter().find(|(known, _)| *known == block);
        match found {
            Some((_, clock)) => clock,
            None if self.crowded => &self.device,
            None => &NOTHING,
        }
    }

    fn release_within(&mut self, block: u32, clock: &Clock) {
        if let Some((_, known)) = self.blocks.iter_mut().find(|(known, _)| *known == block) {
            known.learn(clock);
            return;
        }
        if self.blocks.len() == BLOCKS {
            self.blocks.remove(0);
            self.crowded = true;
        }
        self.blocks.push((block, clock.clone()));
    }
}

/// A side of an observation: the block and the instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) block: u32,
    pub(super) fact: Fact,
}

/// The records of a memory by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    places: BTreeMap<u64, Record>,
}

impl Records {
    pub(super) fn clear(&mut self) {
        self.places.clear();
    }

    /// A weak write has taken the place of what lay there.
    pub(super) fn forget(&mut self, start: u64, width: u64) {
        for byte in start..start + width {
            self.places.remove(&byte);
        }
    }

    /// The last writer of a place.
    pub(super) fn writer(&self, place: u64) -> Option<Mark> {
        self.places.get(&place).map(|record| record.writer)
    }

    /// A group has read a place by an instruction. `writer` is the side of [`Records::writer`].
    pub(super) fn read(&self, place: u64, group: &mut Group, reader: Side, writer: Side, pc: u32) {
        let Some(record) = self.places.get(&place) else { return };
        let released = [record.within(reader.block), &record.device];
        group.known.see(Seen {
            writer: record.writer,
            knew: record.knew.clone(),
            released: [record.within(writer.block).clone(), record.device.clone()],
            acquired: [reader.fact.acquires, reader.fact.acquires && reader.fact.is_wide()],
            pc,
        });
        if !writer.fact.is_strong_with(&reader.fact, writer.block == reader.block) {
            return;
        }
        for reach in [BLOCK, DEVICE] {
            group.known.pending[reach].learn(released[reach]);
            if reader.fact.acquires && (reach == BLOCK || reader.fact.is_wide()) {
                group.known.clock.learn(released[reach]);
            }
        }
    }

    /// A group has written a place; `all` is what it knows, its own accesses included. `before` is the side of the last writer
    /// where this write hands on what that one released: it is an atomic, or of the same thread.
    pub(super) fn write(
        &mut self,
        place: u64,
        mark: Mark,
        (group, all): (&Group, &Clock),
        writer: Side,
        before: Option<Side>,
    ) {
        let record = self.places.entry(place).or_default();
        let goes_on = before
            .is_some_and(|before| before.fact.is_strong_with(&writer.fact, before.block == writer.block));
        if !goes_on {
            *record = Record::default();
        }
        (record.writer, record.knew) = (mark, group.known.clock.clone());
        let releases = |reach: usize| {
            let reaches = writer.fact.releases && (reach == BLOCK || writer.fact.is_wide());
            if reaches { all } else { &group.known.released[reach] }
        };
        record.device.learn(releases(DEVICE));
        if !releases(BLOCK).is_empty() {
            record.release_within(writer.block, releases(BLOCK));
        }
    }
}
