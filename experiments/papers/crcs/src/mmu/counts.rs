//! Addresses of reference counts in device memory, and the lines of counts that the MMU holds.
//!
//! The owner's remaining counts are in the page's entry of the page tables, 8 bytes; the counts of the
//! kernels behind the owner are in the page's list, in blocks of 4 entries of 4 bytes (a kernel's number and
//! two counts, of 10 bits each: section 5.4) that are taken from a pool as kernels count their blocks.
//! Neighbouring pages of one kernel thus share a line. The MMU keeps the most recently used lines, changes a
//! limited number of them per cycle, and writes them back. The model holds all counts apart from these bytes,
//! which therefore have no meaning; the lines model the traffic, and the time at which a change is done.

use counterpoint::messages::launch::LaunchId;
use counterpoint::messages::memory::line_of;
use counterpoint::messages::translation::RangeClaim;

/// Bytes of a page's entry in the tables.
const PAGE_ENTRY: u64 = 8;
/// Bytes of an entry of a list, and entries of a block.
const ENTRY: u64 = 4;
const BLOCK: usize = 4;

/// A page's list: the kernels that have counted blocks for it, and the blocks of the pool that hold them.
#[derive(Default)]
struct List {
    kernels: Vec<LaunchId>,
    blocks: Vec<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) lines: u64,
    /// Lines that have to be read first.
    pub(super) reads: Vec<u64>,
    /// Lines that were evicted, and are written back.
    pub(super) writes: Vec<u64>,
}

/// The counts of all pages.
pub(super) struct Counts {
    /// The entries of pages, by number.
    entries: u64,
    /// The pool of blocks, and how many there are.
    pool: u64,
    room: u64,
    taken: u64,
    lists: Vec<List>,
    /// The lines at hand, the one used longest ago first.
    at_hand: Vec<u64>,
    most: usize,
}

impl Counts {
    /// Counts whose page entries begin at the address `entries`, with a pool of `bytes` bytes at the address
    /// `pool`; the MMU holds up to `most` lines.
    pub(super) fn new(entries: u64, (pool, bytes): (u64, u64), most: usize) -> Self {
        let room = bytes / (BLOCK as u64 * ENTRY);
        Counts { entries, pool, room, taken: 0, lists: Vec::new(), at_hand: Vec::new(), most }
    }

    /// Changes the counts of pages; `owned` tells whether a page's count is in its page-table entry.
    ///
    /// # Errors
    /// If the pool is exhausted.
    pub(super) fn change(
        &mut self,
        pages: impl Iterator<Item = u64>,
        count: &RangeClaim,
        owned: impl Fn(u64) -> bool,
    ) -> Result<Cost, String> {
        let (mut cost, mut last) = (Cost::default(), None);
        for page in pages {
            let address =
                if owned(page) { self.entries + page * PAGE_ENTRY } else { self.place(page, count.kernel)? };
            let line = line_of(address);
            if last.replace(line) != Some(line) {
                self.touch(line, &mut cost);
            }
        }
        Ok(cost)
    }

    fn touch(&mut self, line: u64, cost: &mut Cost) {
        cost.lines += 1;
        match self.at_hand.iter().rposition(|&known| known == line) {
            Some(place) => self.at_hand[place..].rotate_left(1),
            None => {
                if self.at_hand.len() == self.most {
                    cost.writes.push(self.at_hand.remove(0));
                }
                self.at_hand.push(line);
                cost.reads.push(line);
            }
        }
    }

    /// The place of a kernel's entry in a page's list.
    fn place(&mut self, page: u64, kernel: LaunchId) -> Result<u64, String> {
        if page as usize >= self.lists.len() {
            self.lists.resize_with(page as usize + 1, List::default);
        }
        let List { kernels, blocks } = &mut self.lists[page as usize];
        let place = match kernels.iter().rposition(|&known| known == kernel) {
            Some(place) => place,
            None => {
                if kernels.len() == BLOCK * blocks.len() {
                    if self.taken == self.room {
                        return Err(format!(
                            "the table of reference counts is full: {} blocks of {} bytes (counts)",
                            self.room,
                            BLOCK as u64 * ENTRY
                        ));
                    }
                    blocks.push(self.taken);
                    self.taken += 1;
                }
                kernels.push(kernel);
                kernels.len() - 1
            }
        };
        let block = self.pool + blocks[place / BLOCK] * BLOCK as u64 * ENTRY;
        Ok(block + (place % BLOCK) as u64 * ENTRY)
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::messages::translation::Change;

    use super::*;

    fn count(kernel: u32) -> RangeClaim {
        let (start, end) = (0, 1);
        let kernel = LaunchId(kernel);
        RangeClaim { kernel, change: Change::Claim, start, end, reads: true, writes: false, tag: 0 }
    }

    const POOL: u64 = 1 << 21;

    fn set(counts: &mut Counts, pages: std::ops::Range<u64>, kernel: u32) -> Cost {
        counts.change(pages, &count(kernel), |_| false).unwrap()
    }

    #[test]
    fn neighbours_share_lines_and_lines_stay_at_hand() {
        let mut counts = Counts::new(1 << 20, (POOL, 1 << 16), 2);
        // Eight pages in a line.
        let first = set(&mut counts, 7..17, 1);
        assert_eq!(first, Cost { lines: 2, reads: vec![POOL, POOL + 128], writes: vec![] });
        assert_eq!(set(&mut counts, 8..16, 2), Cost { lines: 2, reads: vec![], writes: vec![] });
        assert_eq!(set(&mut counts, 7..8, 3).lines, 1);
        // The fifth kernel of page 7 needs a second block: the eleventh of all.
        for kernel in 4..6 {
            set(&mut counts, 7..8, kernel);
        }
        let fifth = set(&mut counts, 7..8, 6);
        assert_eq!(fifth, Cost { lines: 1, reads: vec![], writes: vec![] }, "the line of pages 15 and 16");
        let owned = counts.change(7..40, &count(1), |_| true).unwrap();
        let entries = [1 << 20, (1 << 20) + 128, (1 << 20) + 256];
        assert_eq!(
            owned,
            Cost { lines: 3, reads: entries.to_vec(), writes: vec![POOL, POOL + 128, entries[0]] }
        );
    }

    #[test]
    fn the_pool_has_an_end() {
        let mut counts = Counts::new(1 << 20, (POOL, 5 * 16), 2);
        set(&mut counts, 0..5, 1);
        let error = counts.change(5..6, &count(1), |_| false).unwrap_err();
        assert_eq!(error, "the table of reference counts is full: 5 blocks of 16 bytes (counts)");
    }
}
