//! The data availability tracker (DAT) at the host's memory controller: it tracks the words of a page that the CPU has written.
//!
//! An entry for each page of a copy that goes page by page has the page's frame, a counter of words written, and a bit for each
//! word of four bytes, full or empty. The first write to a word sets its bit and counts; others change nothing. When all words
//! of the copy in the page are written, the page goes to the device and the entry is gone. Entries are in host DRAM; those used
//! last are on chip as well, with LRU replacement (Kim et al., PACT 2016, section 3.2 and Figure 5).
//!
//! A copy that ends within a page has an entry for its words in that page. Pure: no time, no messages.

use std::collections::BTreeMap;

use counterpoint_protocols::bus::Copy;

/// Bytes of a word.
const WORD: u64 = 4;

/// A page that is being filled.
#[derive(Clone, Debug)]
struct Entry {
    device: u32,
    /// The part of the copy that is in the page.
    copy: Copy,
    /// Words written.
    counter: u64,
    /// A bit for each word of the page: it has been written.
    full: Vec<u64>,
}

/// A page that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complete {
    /// Device to which the page goes.
    pub device: u32,
    /// The copy of the page.
    pub copy: Copy,
}

/// Result of a write or a new copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Pages that are complete now.
    pub complete: Vec<Complete>,
    /// Entries read from host DRAM because they were not on chip.
    pub fetched: u64,
    /// Entries written there: new ones, and those that made room.
    pub spilled: u64,
}

/// The tracker.
pub struct Dat {
    page: u64,
    /// By frame.
    entries: BTreeMap<u64, Entry>,
    /// Frames whose entries are on chip, the one used longest ago first.
    on_chip: Vec<u64>,
    room: usize,
}

impl Dat {
    /// A tracker for pages of `page` bytes, with `room` entries on chip.
    pub fn new(page: u64, room: usize) -> Self {
        Dat { page, entries: BTreeMap::new(), on_chip: Vec::with_capacity(room), room }
    }

    /// Bytes of an entry: frame and counter in 8 bytes, and the bits.
    pub fn entry_bytes(&self) -> u64 {
        8 + self.page / WORD / 8
    }

    /// Pages that are not complete.
    pub fn pending(&self) -> usize {
        self.entries.len()
    }

    /// The words written of a page that is not complete, and its bits.
    pub fn entry(&self, address: u64) -> Option<(u64, &[u64])> {
        self.entries.get(&(address / self.page)).map(|entry| (entry.counter, entry.full.as_slice()))
    }

    /// Watches for the words of a copy to the device.
    ///
    /// # Errors
    /// If it does not begin with a word, or a page has another copy's words already.
    pub fn track(&mut self, device: u32, copy: Copy) -> Result<Outcome, String> {
        if !copy.host.is_multiple_of(WORD) {
            return Err(format!("a copy from {:#x} does not begin with a word of {WORD} bytes", copy.host));
        }
        let (mut outcome, end) = (Outcome::default(), copy.host + copy.bytes);
        let mut at = copy.host;
        while at < end {
            let frame = at / self.page;
            let stop = ((frame + 1) * self.page).min(end);
            let part = Copy { host: at, device: copy.device + (at - copy.host), bytes: stop - at, ..copy };
            if self.entries.contains_key(&frame) {
                return Err(format!("the page at {:#x} holds words of two copies", frame * self.page));
            }
            let full = vec![0; (self.page / WORD).div_ceil(64) as usize];
            self.entries.insert(frame, Entry { device, copy: part, counter: 0, full });
            outcome.spilled += 1;
            at = stop;
        }
        Ok(outcome)
    }

    /// The CPU writes some bytes.
    ///
    /// # Errors
    /// If it writes part of a word that is tracked.
    pub fn write(&mut self, address: u64, bytes: u64) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        let end = address + bytes;
        for frame in address / self.page..end.div_ceil(self.page) {
            let Some(entry) = self.entries.get_mut(&frame) else { continue };
            let Copy { host, bytes: length, .. } = entry.copy;
            let (from, to) = (address.max(host), end.min(host + length));
            if from >= to {
                continue;
            }
            if !from.is_multiple_of(WORD) || (!to.is_multiple_of(WORD) && to != host + length) {
                return Err(format!(
                    "{bytes} bytes at {address:#x} are part of a word whose first write is waited for"
                ));
            }
            let base = frame * self.page;
            let words = (from - base) / WORD..(to - base).div_ceil(WORD);
            entry.counter += set(&mut entry.full, words);
            let complete = entry.counter == length.div_ceil(WORD);
            outcome.fetched += u64::from(!self.touch(frame, &mut outcome.spilled));
            if complete && let Some(Entry { device, copy, .. }) = self.entries.remove(&frame) {
                self.on_chip.retain(|&known| known != frame);
                outcome.complete.push(Complete { device, copy });
            }
        }
        Ok(outcome)
    }

    /// Uses an entry; false if it was not on chip.
    fn touch(&mut self, frame: u64, spilled: &mut u64) -> bool {
        let place = self.on_chip.iter().position(|&known| known == frame);
        match place {
            Some(place) => self.on_chip[place..].rotate_left(1),
            None => {
                if self.on_chip.len() == self.room {
                    self.on_chip.remove(0);
                    *spilled += 1;
                }
                self.on_chip.push(frame);
            }
        }
        place.is_some()
    }
}

/// Sets bits; gives how many were not.
fn set(bits: &mut [u64], range: std::ops::Range<u64>) -> u64 {
    let mut new = 0;
    let mut at = range.start;
    while at < range.end {
        let (word, first) = ((at / 64) as usize, at % 64);
        let count = (64 - first).min(range.end - at);
        let mask = if count == 64 { u64::MAX } else { ((1 << count) - 1) << first };
        new += u64::from((mask & !bits[word]).count_ones());
        bits[word] |= mask;
        at += count;
    }
    new
}

#[cfg(test)]
mod tests {
    use counterpoint_protocols::extra::LineTag;

    use counterpoint_protocols::bus::Direction;
    use proptest::prelude::*;

    use super::*;

    fn copy(host: u64, bytes: u64) -> Copy {
        Copy { direction: Direction::HostToDevice, host, device: host + (1 << 20), bytes, tag: LineTag::NONE }
    }

    /// Figure 5 of the paper: six words written make the counter 6 and the vector 1111110000…
    #[test]
    fn first_writes_count_and_a_page_goes_with_its_last_word() {
        let mut dat = Dat::new(4096, 8);
        dat.track(0, copy(0x12000, 4096)).unwrap();
        for word in 0..6 {
            assert_eq!(dat.write(0x12000 + 4 * word, 4).unwrap().complete, []);
        }
        let six = dat.entry(0x12000).map(|(counter, bits)| (counter, bits[0]));
        assert_eq!(six, Some((6, 0b11_1111)));
        dat.write(0x12000, 24).unwrap();
        assert_eq!(dat.entry(0x12000).map(|(counter, bits)| (counter, bits[0])), six, "they were written");
        for word in 6..1023 {
            assert_eq!(dat.write(0x12000 + 4 * word, 4).unwrap().complete, []);
        }
        assert_eq!(dat.entry(0x12000).map(|(counter, _)| counter), Some(1023));
        let last = dat.write(0x12000 + 4092, 4).unwrap().complete;
        assert_eq!(last, [Complete { device: 0, copy: copy(0x12000, 4096) }]);
        assert_eq!((dat.pending(), dat.entry(0x12000)), (0, None), "the entry is gone");
    }

    #[test]
    fn the_last_page_of_an_array_goes_with_the_arrays_last_word() {
        let mut dat = Dat::new(4096, 8);
        // One whole page, and 10 bytes: two words and a half.
        dat.track(3, copy(0x4000, 4106)).unwrap();
        assert_eq!(dat.pending(), 2);
        let whole = dat.write(0x4000, 4104).unwrap().complete;
        assert_eq!(whole, [Complete { device: 3, copy: copy(0x4000, 4096) }]);
        let rest = dat.write(0x5008, 2).unwrap().complete;
        assert_eq!(rest, [Complete { device: 3, copy: copy(0x5000, 10) }]);
        assert_eq!(dat.write(0x4000, 4096).unwrap(), Outcome::default(), "nobody waits for it any more");
    }

    #[test]
    fn entries_used_longest_ago_make_room() {
        let mut dat = Dat::new(4096, 2);
        assert_eq!(dat.track(0, copy(0, 4 * 4096)).unwrap().spilled, 4, "new entries go to DRAM");
        let mut touch = |page: u64, word: u64| {
            let Outcome { fetched, spilled, .. } = dat.write(page * 4096 + 4 * word, 4).unwrap();
            (fetched, spilled)
        };
        assert_eq!([touch(0, 0), touch(1, 0), touch(0, 1)], [(1, 0), (1, 0), (0, 0)]);
        assert_eq!([touch(2, 0), touch(0, 2), touch(1, 1)], [(1, 1), (0, 0), (1, 1)], "1 made room for 2");
        assert_eq!(dat.entry_bytes(), 136);
    }

    #[test]
    fn parts_of_words_and_pages_of_two_copies_are_refused() {
        let mut dat = Dat::new(4096, 2);
        dat.track(0, copy(0, 100)).unwrap();
        assert!(dat.track(0, copy(200, 8)).unwrap_err().contains("two copies"));
        assert!(dat.track(0, copy(0x2002, 8)).unwrap_err().contains("word"));
        assert!(dat.write(2, 4).unwrap_err().contains("part of a word"));
        assert!(dat.write(0, 6).unwrap_err().contains("part of a word"));
        assert!(dat.write(104, 1).unwrap().complete.is_empty(), "beyond the copy");
    }

    proptest! {
        /// Whatever the order and however often words are written, a page goes with the last of them and not before.
        #[test]
        fn a_page_goes_exactly_with_its_last_word(
            words in 1_u64..40,
            writes in prop::collection::vec((0_u64..40, 1_u64..9), 1..60),
        ) {
            let mut dat = Dat::new(64, 2);
            dat.track(0, copy(0, words * 4)).unwrap();
            let mut written = std::collections::BTreeSet::new();
            let page = |number: u64| number * 16..words.min((number + 1) * 16);
            let full = |written: &std::collections::BTreeSet<u64>, number: u64| {
                page(number).all(|word| written.contains(&word))
            };
            for (first, count) in writes {
                let before: Vec<bool> = (0..words.div_ceil(16)).map(|number| full(&written, number)).collect();
                written.extend(first..first + count);
                let gone = dat.write(first * 4, count * 4).unwrap().complete;
                let expected: Vec<u64> = (0..words.div_ceil(16))
                    .filter(|&number| full(&written, number) && !before[number as usize])
                    .collect();
                let gone: Vec<u64> = gone.iter().map(|page| page.copy.host / 64).collect();
                prop_assert_eq!(gone, expected);
            }
        }
    }
}
