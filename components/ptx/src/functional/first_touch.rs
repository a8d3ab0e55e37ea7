//! Pages whose first bytes are made on first touch: an untouched page costs nothing.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Makes the initial bytes of a page, before anybody writes to it, from the address of its first byte. A page has [`PAGE`]
/// bytes.
pub type FirstBytes = Arc<dyn Fn(u64, &mut [u8]) + Send + Sync>;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// The pages of a memory that begins at address 0, made as far as they have been touched.
#[derive(Clone)]
pub(super) struct FirstTouch {
    make: FirstBytes,
    /// A bit for each page that has been made.
    made: Vec<u64>,
}

impl FirstTouch {
    pub(super) fn new(make: FirstBytes) -> Self {
        FirstTouch { make, made: Vec::new() }
    }

    /// Makes the pages that contain a range of the memory's bytes; bytes behind the end are left out. The
    /// memory is a whole number of pages.
    #[inline]
    pub(super) fn touch(&mut self, memory: &mut [u8], range: Range<usize>) {
        for page in range.start / PAGE..range.end.min(memory.len()).div_ceil(PAGE) {
            if self.made.get(page / 64).is_none_or(|word| word >> (page % 64) & 1 == 0) {
                self.make(memory, page);
            }
        }
    }

    #[cold]
    fn make(&mut self, memory: &mut [u8], page: usize) {
        if page / 64 >= self.made.len() {
            self.made.resize(memory.len().div_ceil(64 * PAGE), 0);
        }
        self.made[page / 64] |= 1 << (page % 64);
        (self.make)((page * PAGE) as u64, &mut memory[page * PAGE..][..PAGE]);
    }

    /// The bytes of the pages that have been made.
    pub(super) fn made(&self) -> impl Iterator<Item = Range<usize>> {
        let made = |page: &usize| self.made[page / 64] >> (page % 64) & 1 != 0;
        let pages = (0..64 * self.made.len()).filter(made);
        pages.map(|page| page * PAGE..(page + 1) * PAGE)
    }
}

impl fmt::Debug for FirstTouch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages: u32 = self.made.iter().map(|word| word.count_ones()).sum();
        write!(f, "{pages} pages made")
    }
}
