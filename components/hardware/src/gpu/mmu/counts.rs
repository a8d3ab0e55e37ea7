//! Where reference counts lie in device memory, and the accesses that change them.
//!
//! What a page's owner has left lies in the page's entry of the page tables, 8 bytes; what the kernels behind it have lies in the
//! page's list, in blocks of 8 entries of 8 bytes that are taken from a pool as kernels count their blocks. The MMU knows all of
//! it by itself, so the bytes need no meaning; what is modelled is the traffic, and when a change is done. A range whose
//! pages' entries lie in one line changes them all at once, by one atomic access.

use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::memory::{AtomicLane, AtomicOperation, AtomicType, line_of};
use counterpoint_protocols::translation::RangeCount;

/// Bytes of an entry, and entries of a block.
const ENTRY: u64 = 8;
const BLOCK: usize = 8;

/// Accesses of one line at most: an atomic names its parts by 5 bits.
const PARTS: usize = 32;

/// A page's list: the kernels that have counted blocks for it, and the blocks of the pool that hold them.
#[derive(Default)]
struct List {
    kernels: Vec<LaunchId>,
    blocks: Vec<u64>,
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
}

impl Counts {
    /// With entries of pages at one place, and a pool of so many bytes at another.
    pub(super) fn new(entries: u64, pool: u64, bytes: u64) -> Self {
        let room = bytes / (BLOCK as u64 * ENTRY);
        Counts { entries, pool, room, taken: 0, lists: Vec::new() }
    }

    /// The accesses of a change, line by line; `owned` says which pages have their counts in their entry.
    ///
    /// # Errors
    /// If the pool is exhausted.
    pub(super) fn accesses(
        &mut self,
        pages: impl Iterator<Item = u64>,
        count: &RangeCount,
        owned: impl Fn(u64) -> bool,
    ) -> Result<Vec<(u64, Vec<AtomicLane>)>, String> {
        let mut lines: Vec<(u64, Vec<AtomicLane>)> = Vec::new();
        for page in pages {
            let address =
                if owned(page) { self.entries + page * ENTRY } else { self.place(page, count.kernel)? };
            let line = line_of(address);
            let (offset, operand) = ((address - line) as u8, 1);
            let (operation, kind) = (AtomicOperation::Add, AtomicType::U64);
            let part = |lane| AtomicLane { lane, offset, operation, kind, operand, swap: 0 };
            match lines.last_mut() {
                Some((last, parts)) if *last == line && parts.len() < PARTS => {
                    parts.push(part(parts.len() as u8));
                }
                _ => lines.push((line, vec![part(0)])),
            }
        }
        Ok(lines)
    }

    /// Where a kernel's entry in a page's list lies.
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
    use counterpoint_protocols::translation::Change;

    use super::*;

    fn count(kernel: u32) -> RangeCount {
        let (start, end) = (0, 1);
        let kernel = LaunchId(kernel);
        RangeCount { kernel, change: Change::Set, start, end, reads: true, writes: false, tag: 0 }
    }

    #[test]
    fn neighbours_share_lines_and_the_pool_has_an_end() {
        let mut counts = Counts::new(1 << 20, 1 << 21, 5 * 64);
        let places = |counts: &mut Counts, pages: std::ops::Range<u64>, kernel| {
            let lines = counts.accesses(pages, &count(kernel), |_| false).unwrap();
            lines
                .iter()
                .map(|(line, parts)| (*line, parts.iter().map(|it| it.offset).collect()))
                .collect::<Vec<_>>()
        };
        let base = 1 << 21;
        let first: Vec<(u64, Vec<u8>)> = vec![(base, vec![0, 64]), (base + 128, vec![0])];
        assert_eq!(places(&mut counts, 7..10, 1), first);
        assert_eq!(places(&mut counts, 8..9, 2), [(base, vec![72])]);
        for kernel in 3..9 {
            places(&mut counts, 8..9, kernel);
        }
        assert_eq!(places(&mut counts, 8..9, 9), [(base + 128, vec![64])], "a second block");
        let owned = counts.accesses(7..40, &count(1), |_| true).unwrap();
        assert_eq!(owned[0].0, 1 << 20);
        assert_eq!(owned.iter().map(|(_, parts)| parts.len()).collect::<Vec<_>>(), [9, 16, 8]);
        assert!(counts.accesses(90..93, &count(1), |_| false).unwrap_err().contains("is full"));
    }
}
