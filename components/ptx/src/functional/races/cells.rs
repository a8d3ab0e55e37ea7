//! The remembered accesses to a memory: those to each word since it was last written, in pages that exist only for
//! touched addresses.
//!
//! A word has one cell, until its page sees an access to a part of a word: then each byte of the page has a cell.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::execute::AccessKind;

/// Bytes of a page.
const PAGE: u64 = 1024;
/// Bytes of a cell in a page of words.
const WORD: u64 = 4;

/// Effect of an access on its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Reads,
    Writes,
    /// By an atomic.
    Changes,
}

impl Deed {
    pub(super) fn of(kind: AccessKind) -> Deed {
        match kind {
            AccessKind::Load => Deed::Reads,
            AccessKind::Store => Deed::Writes,
            AccessKind::Atomic(..) => Deed::Changes,
        }
    }

    /// In the third person.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Deed::Reads => "reads",
            Deed::Writes => "writes",
            Deed::Changes => "changes",
        }
    }
}

/// An access: its instruction, lane and deed, and the number of its warp's epoch. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::functional) struct Mark(u64);

impl Mark {
    const LANE: u32 = 24;
    const SEVERAL: u32 = 29;
    const DEED: u32 = 30;
    const EPOCH: u32 = 32;

    pub(super) fn new(epoch: u32, lane: u32, pc: u32, deed: Deed) -> Self {
        let below = u64::from(pc) & ((1 << Self::LANE) - 1) | u64::from(lane) << Self::LANE;
        Mark(below | (deed as u64) << Self::DEED | u64::from(epoch) << Self::EPOCH)
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) fn pc(self) -> u32 {
        (self.0 & ((1 << Self::LANE) - 1)) as u32
    }

    /// Its lane; the last one if there are several.
    pub(super) fn lane(self) -> u32 {
        (self.0 >> Self::LANE & 31) as u32
    }

    /// Whether other lanes of the warp did the same in that epoch.
    pub(super) fn several(self) -> bool {
        self.0 >> Self::SEVERAL & 1 != 0
    }

    pub(super) fn deed(self) -> Deed {
        match self.0 >> Self::DEED & 3 {
            0 => Deed::Reads,
            1 => Deed::Writes,
            _ => Deed::Changes,
        }
    }

    pub(super) fn epoch(self) -> u32 {
        (self.0 >> Self::EPOCH) as u32
    }

    fn of_several(self) -> Mark {
        Mark(self.0 | 1 << Self::SEVERAL)
    }
}

/// The accesses to some bytes with which later accesses may race.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The last weak write.
    pub(super) write: Mark,
    /// Strong writes since then: the first and the last of those that are in no order.
    pub(super) strong: [Mark; 2],
    /// Reads since then, likewise. A write that left the bytes as they were counts as one: to a reader it makes no difference.
    pub(super) reads: [Mark; 2],
}

/// Remembers an access, in place of the remembered ones that are ordered before it.
pub(super) fn remember(marks: &mut [Mark; 2], mut mark: Mark, comes_before: impl Fn(Mark) -> bool) {
    for place in marks.iter_mut().filter(|place| !place.is_none()) {
        if place.epoch() == mark.epoch() {
            if place.lane() != mark.lane() || place.several() {
                mark = mark.of_several();
            }
            *place = Mark::default();
        } else if comes_before(*place) {
            *place = Mark::default();
        }
    }
    if marks[0].is_none() {
        marks[0] = std::mem::take(&mut marks[1]);
    }
    let at = usize::from(!marks[0].is_none());
    marks[at] = mark;
}

#[derive(Clone, Debug)]
struct Page {
    /// Bytes of a cell.
    grain: u64,
    cells: Vec<Cell>,
}

impl Page {
    fn split(&mut self) {
        self.cells = self.cells.iter().flat_map(|cell| [*cell; WORD as usize]).collect();
        self.grain = 1;
    }
}

/// The cells of a memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    pages: Vec<Page>,
    places: BTreeMap<u64, usize>,
    /// Pages that can be reused.
    spare: Vec<Page>,
    /// The page of the last access: its number and place.
    last: Option<(u64, usize)>,
}

impl Cells {
    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        self.spare.append(&mut self.pages);
        self.places.clear();
        self.last = None;
    }

    /// The cells of an access to an aligned range of at most 16 bytes, each with its bytes.
    pub(super) fn of(&mut self, start: u64, width: u64) -> impl Iterator<Item = (Range<u64>, &mut Cell)> {
        let number = start / PAGE;
        let place = match self.last {
            Some((last, place)) if last == number => place,
            _ => self.find(number),
        };
        self.last = Some((number, place));
        let page = &mut self.pages[place];
        if page.grain > width || !start.is_multiple_of(page.grain) {
            page.split();
        }
        let grain = page.grain;
        let first = ((start % PAGE) / grain) as usize;
        let last = (first + (width / grain) as usize).min(page.cells.len());
        let cells = page.cells[first..last].iter_mut().enumerate();
        cells.map(move |(index, cell)| {
            let byte = start + index as u64 * grain;
            (byte..byte + grain, cell)
        })
    }

    fn find(&mut self, number: u64) -> usize {
        let Cells { pages, places, spare, .. } = self;
        *places.entry(number).or_insert_with(|| {
            let mut page = spare.pop().unwrap_or_else(|| Page { grain: WORD, cells: Vec::new() });
            page.grain = WORD;
            page.cells.clear();
            page.cells.resize((PAGE / WORD) as usize, Cell::default());
            pages.push(page);
            pages.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(epoch: u32, lane: u32) -> Mark {
        Mark::new(epoch, lane, 7, Deed::Reads)
    }

    #[test]
    fn a_mark_holds_its_parts() {
        let mark = Mark::new(u32::MAX, 31, (1 << 24) - 1, Deed::Changes);
        assert_eq!(
            (mark.epoch(), mark.lane(), mark.pc(), mark.deed()),
            (u32::MAX, 31, (1 << 24) - 1, Deed::Changes)
        );
        assert!(!mark.several() && mark.of_several().several());
    }

    #[test]
    fn words_become_bytes_where_a_part_is_touched() {
        let mut cells = Cells::default();
        cells.of(4096, 8).for_each(|(_, cell)| cell.write = mark(3, 0));
        assert_eq!(cells.of(4096, 16).count(), 4);
        for (bytes, cell) in cells.of(4102, 2) {
            assert_eq!((bytes.end - bytes.start, cell.write.epoch()), (1, 3));
        }
        assert_eq!(cells.of(4096, 16).filter(|(_, cell)| !cell.write.is_none()).count(), 8);
        assert_eq!(cells.of(8192, 4).filter(|(_, cell)| cell.write.is_none()).count(), 1, "another page");
    }

    #[test]
    fn the_first_and_the_last_of_those_in_no_order_are_remembered() {
        let mut marks = [Mark::default(); 2];
        for epoch in 1..=5 {
            remember(&mut marks, mark(epoch, 0), |_| false);
        }
        assert_eq!(marks.map(Mark::epoch), [1, 5]);
        remember(&mut marks, mark(6, 0), |other| other.epoch() == 1);
        assert_eq!(marks.map(Mark::epoch), [5, 6]);
        remember(&mut marks, mark(6, 1), |_| false);
        assert!(marks[1].several() && !marks[0].several());
    }
}
