//! The bytes of one channel: sparse pages, allocated when first written.
//!
//! What nobody wrote reads as poison, a pattern that depends on the address, so that a program that relies on it is
//! caught by its values.

use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Line, merge};

const PAGE_LINES: u64 = 32;

type Page = [Line; PAGE_LINES as usize];

/// The bytes of a channel, addressed by line number within the channel.
#[derive(Default)]
pub struct Backing {
    pages: Vec<Option<Box<Page>>>,
    lines: u64,
}

impl Backing {
    /// A memory of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Backing { pages: Vec::new(), lines: bytes / LINE_BYTES }
    }

    /// Whether the channel has this line.
    pub fn holds(&self, line: u64) -> bool {
        line < self.lines
    }

    /// The values of a line.
    pub fn read(&self, line: u64) -> Line {
        let page = self.pages.get((line / PAGE_LINES) as usize).and_then(Option::as_ref);
        page.map_or_else(|| poison(line), |page| page[(line % PAGE_LINES) as usize])
    }

    /// Writes the masked bytes of a line.
    pub fn write(&mut self, line: u64, mask: ByteMask, data: &Line) {
        let number = (line / PAGE_LINES) as usize;
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        let page = self.pages[number].get_or_insert_with(|| {
            let first = number as u64 * PAGE_LINES;
            Box::new(std::array::from_fn(|offset| poison(first + offset as u64)))
        });
        merge(&mut page[(line % PAGE_LINES) as usize], mask, data);
    }
}

/// What a line holds before anything was written to it.
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
        assert_eq!(backing.read(77), poison(77));
        assert_ne!(poison(77), poison(78));
        backing.write(77, 0b10, &[3; 128]);
        let line = backing.read(77);
        assert_eq!((line[0], line[1], line[2]), (poison(77)[0], 3, poison(77)[2]));
        assert_eq!(backing.read(76), poison(76));
        assert!(backing.holds((1 << 13) - 1) && !backing.holds(1 << 13));
    }
}
