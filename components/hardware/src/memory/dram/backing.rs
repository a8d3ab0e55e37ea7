//! The bytes of one channel: sparse pages, allocated when first written.
//!
//! Memory that nobody wrote reads as poison, a pattern that depends on the address, so that a program that
//! relies on it is caught by its values; unless a state was loaded before the run.

use std::sync::Arc;

use counterpoint_framework::model::{Context, Stats};
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Line, merge};
use counterpoint_protocols::preload::Preloaded;
use counterpoint_ptx::functional::{FirstBytes, Space};

const PAGE_LINES: u64 = 32;

/// Consecutive lines in memory. A channel that has few of them stores few.
#[derive(Clone)]
struct Page {
    /// Index of each line among the stored lines.
    places: [u32; PAGE_LINES as usize],
    /// Bit mask of the lines that were written; the contents of the others are not known here.
    written: u32,
}

impl Page {
    const EMPTY: Page = Page { places: [0; PAGE_LINES as usize], written: 0 };
}

/// Lines of one chunk of storage; only stored lines cost memory.
const CHUNK: usize = 1 << 13;

/// A state from before the run, and the path of the memory that takes its part of it.
struct Before {
    preloaded: Arc<Preloaded>,
    path: String,
}

/// The bytes of a channel, addressed by line number within the channel, or within the memory.
#[derive(Default)]
pub struct Backing {
    pages: Vec<Option<Box<Page>>>,
    /// The lines that somebody has written to, in chunks of [`CHUNK`].
    kept: Vec<Space>,
    count: usize,
    lines: u64,
    before: Option<Before>,
}

impl Backing {
    /// A memory of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Backing { pages: Vec::new(), kept: Vec::new(), count: 0, lines: bytes / LINE_BYTES, before: None }
    }

    /// Whether the channel has this line.
    pub fn holds(&self, line: u64) -> bool {
        line < self.lines
    }

    /// Lets lines that nobody has written hold what was loaded for the memory at `path`.
    pub fn begin_with(&mut self, preloaded: Arc<Preloaded>, path: &str) {
        self.before = Some(Before { preloaded, path: path.to_owned() });
    }

    /// The values of a line, which has this address on the device.
    pub fn read(&self, line: u64, address: u64) -> Line {
        let (page, place) = ((line / PAGE_LINES) as usize, line % PAGE_LINES);
        match self.pages.get(page) {
            Some(Some(page)) if page.written >> place & 1 != 0 => {
                let kept = page.places[place as usize] as usize;
                self.kept[kept / CHUNK].as_chunks().0[kept % CHUNK]
            }
            _ => self.first(line, address),
        }
    }

    /// Contents of a line before anything was written to it.
    #[cold]
    fn first(&self, line: u64, address: u64) -> Line {
        let mut values = [0; LINE_BYTES as usize];
        let before = self.before.as_ref();
        let known = before.map_or(0, |before| before.preloaded.fill(&before.path, address, &mut values));
        if known != ByteMask::MAX {
            merge(&mut values, !known, &poison(line));
        }
        values
    }

    /// Writes the masked bytes of a line, which has this address on the device.
    pub fn write(&mut self, line: u64, address: u64, mask: ByteMask, data: &Line) {
        let number = (line / PAGE_LINES) as usize;
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        let place = (line % PAGE_LINES) as usize;
        let page = &self.pages[number];
        let known = page.as_ref().is_some_and(|page| page.written >> place & 1 != 0);
        // A line that is written whole needs nothing of its first values.
        let first = (!known && mask != ByteMask::MAX).then(|| self.first(line, address));
        let page = self.pages[number].get_or_insert_with(|| Box::new(Page::EMPTY));
        if !known {
            if self.count == self.kept.len() * CHUNK {
                let chunk = Space::zeroed(CHUNK * LINE_BYTES as usize);
                self.kept.push(chunk.expect("memory for what the simulated one holds"));
            }
            page.places[place] = self.count as u32;
            page.written |= 1 << place;
            self.count += 1;
        }
        let kept = page.places[place] as usize;
        let values: &mut Line = &mut self.kept[kept / CHUNK].as_chunks_mut().0[kept % CHUNK];
        if let Some(first) = first {
            *values = first;
        }
        merge(values, mask, data);
    }
}

/// Contents of a component's memory before a write: contents from before the run, else bytes that are unlikely to be right by chance.
pub fn unwritten<S: Stats>(sim: &Context<S>) -> FirstBytes {
    let (before, path) = (sim.resource::<Preloaded>(), sim.path().to_owned());
    Arc::new(move |address, page| {
        let lines = page.chunks_exact_mut(LINE_BYTES as usize);
        for (place, address) in lines.zip((address..).step_by(LINE_BYTES as usize)) {
            let mut line = poison(address / LINE_BYTES);
            if let Some(before) = &before {
                before.fill(&path, address, &mut line);
            }
            place.copy_from_slice(&line);
        }
    })
}

/// Contents of a line that nobody wrote: poison.
fn poison(line: u64) -> Line {
    std::array::from_fn(|byte| {
        let mixed = (line * LINE_BYTES + byte as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        0x80 | (mixed >> 57) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_there() {
        let mut backing = Backing::new(1 << 20);
        assert_eq!(backing.read(77, 0), poison(77));
        assert_ne!(poison(77), poison(78));
        backing.write(77, 0, 0b10, &[3; 128]);
        let line = backing.read(77, 0);
        assert_eq!((line[0], line[1], line[2]), (poison(77)[0], 3, poison(77)[2]));
        assert_eq!(backing.read(76, 0), poison(76));
        assert!(backing.holds((1 << 13) - 1) && !backing.holds(1 << 13));
    }

    #[test]
    fn what_was_loaded_is_there_until_it_is_written() {
        let preloaded = Arc::new(Preloaded::default());
        let mut backing = Backing::new(1 << 20);
        backing.begin_with(Arc::clone(&preloaded), "gpu.dram[0]");
        preloaded.place("gpu", 4096, vec![5; 256].into());
        // The channel's lines 8 and 9 have these addresses on the device; other lines of their page have not been accessed.
        assert_eq!(backing.read(8, 4096), [5; 128]);
        backing.write(9, 4224, 0b1, &[7; 128]);
        let line = backing.read(9, 4224);
        assert_eq!((line[0], line[1], line[127]), (7, 5, 5));
        assert_eq!((backing.read(8, 4096), backing.read(10, 4352)), ([5; 128], poison(10)));
        backing.write(8, 4096, ByteMask::MAX, &[1; 128]);
        assert_eq!(backing.read(8, 4096), [1; 128]);
    }
}
