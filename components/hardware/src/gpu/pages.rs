//! The pages that a TLB holds: any page in any entry, the least recently used one goes.

/// The entries of a TLB.
#[derive(Default)]
pub(crate) struct Pages {
    pages: Vec<u64>,
    used: Vec<u64>,
    clock: u64,
    entries: usize,
    /// The entry that was found last: as a rule the next one is the same.
    last: usize,
}

impl Pages {
    /// Room for so many pages.
    pub(crate) fn new(entries: u32) -> Self {
        Pages { entries: entries as usize, ..Pages::default() }
    }

    /// Whether a page is here; if so, it has been used now.
    #[inline]
    pub(crate) fn find(&mut self, page: u64) -> bool {
        if self.pages.get(self.last) != Some(&page) {
            let Some(found) = self.pages.iter().position(|&known| known == page) else { return false };
            self.last = found;
        }
        self.clock += 1;
        self.used[self.last] = self.clock;
        true
    }

    /// Takes a page in.
    pub(crate) fn insert(&mut self, page: u64) {
        self.clock += 1;
        if self.pages.len() < self.entries {
            self.pages.push(page);
            self.used.push(self.clock);
            return;
        }
        let oldest = (0..self.pages.len()).min_by_key(|&entry| self.used[entry]);
        if let Some(oldest) = oldest {
            (self.pages[oldest], self.used[oldest]) = (page, self.clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_goes_that_was_used_longest_ago() {
        let mut pages = Pages::new(2);
        pages.insert(7);
        pages.insert(8);
        assert!(pages.find(7) && !pages.find(9));
        pages.insert(9);
        assert!(pages.find(9) && pages.find(7) && !pages.find(8));
    }
}
