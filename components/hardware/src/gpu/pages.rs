//! The pages in a TLB with their users: fully associative, with LRU replacement.

/// The entries of a TLB.
#[derive(Default)]
pub(crate) struct Pages {
    /// Pages, and who may access them.
    pages: Vec<(u64, u32)>,
    used: Vec<u64>,
    clock: u64,
    entries: usize,
    /// The entry that was found last: as a rule the next one is the same.
    last: usize,
}

impl Pages {
    /// Room for `entries` pages.
    pub(crate) fn new(entries: u32) -> Self {
        Pages { entries: entries as usize, ..Pages::default() }
    }

    /// Whether a page is here for somebody; if so, it has been used now.
    #[inline]
    pub(crate) fn find(&mut self, page: u64, who: u32) -> bool {
        if self.pages.get(self.last) != Some(&(page, who)) {
            let Some(found) = self.pages.iter().position(|&known| known == (page, who)) else { return false };
            self.last = found;
        }
        self.clock += 1;
        self.used[self.last] = self.clock;
        true
    }

    /// Inserts a page for a user, in place of an earlier user of the page.
    pub(crate) fn insert(&mut self, page: u64, who: u32) {
        self.clock += 1;
        if let Some(found) = self.pages.iter().position(|(known, _)| *known == page) {
            (self.pages[found], self.used[found]) = ((page, who), self.clock);
            return;
        }
        if self.pages.len() < self.entries {
            self.pages.push((page, who));
            self.used.push(self.clock);
            return;
        }
        let oldest = (0..self.pages.len()).min_by_key(|&entry| self.used[entry]);
        if let Some(oldest) = oldest {
            (self.pages[oldest], self.used[oldest]) = ((page, who), self.clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_goes_that_was_used_longest_ago() {
        let mut pages = Pages::new(2);
        pages.insert(7, 0);
        pages.insert(8, 0);
        assert!(pages.find(7, 0) && !pages.find(9, 0));
        pages.insert(9, 0);
        assert!(pages.find(9, 0) && pages.find(7, 0) && !pages.find(8, 0));
        pages.insert(9, 1);
        assert!(pages.find(9, 1) && !pages.find(9, 0) && pages.find(7, 0), "it changes hands");
    }
}
