//! Knowledge that strong writes pass on (PTX ISA 8.9, release and acquire patterns, and observation order).
//!
//! A record belongs to an address that was last written strongly. A strong read of it, in each other's scope, has seen the
//! knowledge that the writer released; atomics pass on the knowledge of the atomics before them.

use std::collections::BTreeMap;

use super::cells::Mark;
use super::clock::Clock;
use super::facts::Fact;
use super::threads::{BLOCK, DEVICE, Group, Seen};

/// Number of blocks whose releases within the block are remembered at an address.
const BLOCKS: usize = 4;

static NOTHING: Clock = Clock::NOTHING;

#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The last writer; none if there was none yet.
    pub(super) writer: Mark,
    /// Knowledge of the writer.
    knew: Clock,
    /// Times released to the device.
    device: Clock,
    /// Times released to the threads of a block.
    blocks: Vec<(u32, Clock)>,
    /// Whether there have been more blocks than are remembered.
    crowded: bool,
}

impl Record {
    /// Knowledge released to a block's threads. If that was forgotten, the knowledge released to all counts.
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

    /// A group has read the place by an instruction; `writer` is the side of the last writer. The sight is kept for explanations where a
    /// register takes the value.
    pub(super) fn read(&self, group: &mut Group, reader: Side, writer: Side, pc: u32, taken: bool) {
        let released = [self.within(reader.block), &self.device];
        if taken {
            group.known.see(Seen {
                writer: self.writer,
                knew: self.knew.clone(),
                released: [self.within(writer.block).clone(), self.device.clone()],
                acquired: [reader.fact.acquires, reader.fact.acquires && reader.fact.is_wide()],
                pc,
            });
        }
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

    /// A group has written the address; `all` is its knowledge, its own accesses included, if the write releases it. `before` is the
    /// side of the last writer if this write passes on the knowledge which that writer released: this write is an atomic, or of the
    /// same thread.
    pub(super) fn write(
        &mut self,
        mark: Mark,
        (group, all): (&Group, &Clock),
        writer: Side,
        before: Option<Side>,
    ) {
        let same_block = |before: Side| before.block == writer.block;
        if !before.is_some_and(|before| before.fact.is_strong_with(&writer.fact, same_block(before))) {
            *self = Record::default();
        }
        (self.writer, self.knew) = (mark, group.known.clock.clone());
        let releases = |reach: usize| {
            let reaches = writer.fact.releases && (reach == BLOCK || writer.fact.is_wide());
            if reaches { all } else { &group.known.released[reach] }
        };
        self.device.learn(releases(DEVICE));
        if !releases(BLOCK).is_empty() {
            self.release_within(writer.block, releases(BLOCK));
        }
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

    /// Removes the records of bytes that a weak write has overwritten.
    pub(super) fn forget(&mut self, start: u64, width: u64) {
        for byte in start..start + width {
            self.places.remove(&byte);
        }
    }

    /// The record of an address, if it was last written strongly.
    pub(super) fn find(&self, place: u64) -> Option<&Record> {
        self.places.get(&place)
    }

    /// The record of an address that is about to be written.
    pub(super) fn of(&mut self, place: u64) -> &mut Record {
        self.places.entry(place).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::Deed;
    use super::super::clock::Entry;
    use super::super::threads::Known;
    use super::*;
    use crate::isa::Scope;

    /// A group that has released, to its block and to the device, what warp 7 did until then.
    fn group(times: [u32; 2]) -> Group {
        let clock = |time: u32| {
            let mut clock = Clock::default();
            clock.note(7, Entry::of(u32::MAX, time));
            clock
        };
        let released = times.map(clock);
        Group { lanes: u32::MAX, known: Known { released, ..Known::default() } }
    }

    fn side(block: u32, scope: Scope) -> Side {
        Side { block, fact: Fact { scope: Some(scope), bytes: 4, ..Fact::default() } }
    }

    const MARK: fn(u32) -> Mark = |epoch| Mark::new(epoch, 0, 1, Deed::Changes);

    /// Up to when a reader may learn of warp 7, by a fence of its block and of the device.
    fn learned(records: &Records, reader: Side, writer: Side) -> [u32; 2] {
        let mut group = group([0, 0]);
        records.find(64).unwrap().read(&mut group, reader, writer, 3, true);
        group.known.pending.map(|clock| (1..10).take_while(|time| clock.covers(7, 0, *time)).count() as u32)
    }

    #[test]
    fn a_reader_learns_what_was_released_as_far_as_it() {
        let mut records = Records::default();
        let (writer, nobody) = (side(0, Scope::Gpu), Clock::default());
        records.of(64).write(MARK(1), (&group([5, 3]), &nobody), writer, None);
        assert_eq!(learned(&records, side(0, Scope::Gpu), writer), [5, 3]);
        assert_eq!(learned(&records, side(1, Scope::Gpu), writer), [0, 3]);
        assert_eq!(
            learned(&records, side(1, Scope::Block), writer),
            [0, 0],
            "its scope does not include the writer"
        );
        assert_eq!(learned(&records, side(0, Scope::Block), writer), [5, 3]);
    }

    #[test]
    fn atomics_hand_on_what_they_find_and_stores_do_not() {
        let (first, second, nobody) = (side(0, Scope::Gpu), side(1, Scope::Gpu), Clock::default());
        for (before, expected) in
            [(Some(first), [0, 3]), (None, [0, 0]), (Some(side(0, Scope::Block)), [0, 0])]
        {
            let mut records = Records::default();
            records.of(64).write(MARK(1), (&group([5, 3]), &nobody), first, None);
            records.of(64).write(MARK(2), (&group([0, 0]), &nobody), second, before);
            assert_eq!(learned(&records, side(2, Scope::Gpu), second), expected, "{before:?}");
            assert_eq!(records.find(64).unwrap().writer, MARK(2));
        }
        let mut records = Records::default();
        records.of(64).write(MARK(1), (&group([5, 3]), &nobody), first, None);
        records.forget(62, 4);
        assert!(records.find(64).is_none(), "a weak write takes its place");
    }

    #[test]
    fn of_many_blocks_the_last_are_known_and_the_others_see_what_all_see() {
        let (mut records, nobody) = (Records::default(), Clock::default());
        let mut before = None;
        for block in 0..6 {
            let writer = side(block, Scope::Gpu);
            records.of(64).write(MARK(1), (&group([5, 3]), &nobody), writer, before);
            before = Some(writer);
        }
        let last = side(5, Scope::Gpu);
        assert_eq!(learned(&records, side(5, Scope::Gpu), last), [5, 3]);
        assert_eq!(learned(&records, side(0, Scope::Gpu), last), [3, 3]);
    }
}
