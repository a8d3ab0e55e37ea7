//! The host's copy of a buffer at the current step of the application, and the parts of it that were copied
//! back.

use std::ops::Range;

use crate::ranges::Ranges;
use crate::record::Region;

/// Changed bytes with no more equal ones than this between them are one change, and changes of a copy at most.
const NEAR: u64 = 4096;
const MOST_CHANGES: usize = 16;
/// Bytes that are compared at once.
const LINE: usize = 256;

pub(crate) struct Held {
    pub(crate) bytes: Vec<u8>,
    /// Bytes that were copied back, and had been written.
    pub(crate) received: Ranges,
    /// The copy has no contents yet.
    is_new: bool,
}

impl Held {
    /// The host's copy of a buffer: zeros.
    pub(crate) fn new(bytes: u64) -> Self {
        Held { bytes: vec![0; bytes as usize], received: Ranges::default(), is_new: true }
    }

    /// Stores rows that the host copies to the device, from `offset` in the buffer on. Returns the ranges
    /// that the host has changed since.
    pub(crate) fn send(&mut self, offset: u64, device: Region, contents: &[u8]) -> Vec<Range<u64>> {
        let changed = self.put(offset, device, contents);
        let all = offset..offset + device.extent();
        let is_new = std::mem::replace(&mut self.is_new, false);
        let is_little = all.end - all.start <= NEAR;
        if (is_new || is_little) && changed.iter().next().is_some() {
            return vec![all];
        }
        changed.groups(NEAR, MOST_CHANGES)
    }

    /// Puts rows there that come from the device. A bit of `unwritten` is set for each byte that nobody has written.
    pub(crate) fn receive(&mut self, offset: u64, device: Region, contents: &[u8], unwritten: Option<&[u8]>) {
        self.put(offset, device, contents);
        self.is_new = false;
        for (row, start) in (0..).zip(device.starts()) {
            let at = start - device.address + offset;
            self.received.insert(at..at + device.width);
            let is_unwritten = |byte: u64| {
                let bit = row * device.width + byte;
                unwritten.is_some_and(|bits| bits[bit as usize / 8] >> (bit % 8) & 1 != 0)
            };
            let mut byte = 0;
            while unwritten.is_some() && byte < device.width {
                let end = (byte..device.width).find(|byte| !is_unwritten(*byte)).unwrap_or(device.width);
                self.received.remove(at + byte..at + end);
                byte = (end..device.width).find(|byte| is_unwritten(*byte)).unwrap_or(device.width);
            }
        }
    }

    /// Stores rows. Returns the ranges of bytes that differ, including equal bytes between them.
    fn put(&mut self, offset: u64, device: Region, contents: &[u8]) -> Ranges {
        let mut changed = Ranges::default();
        for (start, row) in device.starts().zip(contents.chunks_exact(device.width.max(1) as usize)) {
            let at = (start - device.address + offset) as usize;
            let place = &mut self.bytes[at..at + row.len()];
            for (index, (old, new)) in place.chunks(LINE).zip(row.chunks(LINE)).enumerate() {
                let differs = |(old, new): (&u8, &u8)| old != new;
                if let Some(first) = old.iter().zip(new).position(differs) {
                    let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
                    let line = (at + index * LINE) as u64;
                    changed.insert(line + first as u64..line + last as u64 + 1);
                }
            }
            place.copy_from_slice(row);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_sent_again_and_nothing_else() {
        let mut held = Held::new(1 << 20);
        let line = Region::line(0, 1 << 20);
        let mut contents = vec![0; 1 << 20];
        assert!(held.send(0, line, &contents).is_empty(), "zeros are there");
        contents[70_000] = 1;
        contents[70_900] = 2;
        contents[500_000] = 3;
        assert_eq!(held.send(0, line, &contents), [70_000..70_901, 500_000..500_001]);
        assert!(held.send(0, line, &contents).is_empty());
        let mut other = Held::new(64);
        let sent = other.send(8, Region::line(0, 8), &[0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!((sent.len(), sent.first()), (1, Some(&(8..16))), "all of the first copy");
    }

    #[test]
    fn bytes_that_nobody_wrote_are_not_received() {
        let mut held = Held::new(64);
        let rows = Region { address: 0, width: 4, rows: 2, pitch: 16 };
        held.receive(8, rows, &[1; 8], Some(&[0b0110_0010]));
        assert_eq!(held.received.iter().collect::<Vec<_>>(), [8..9, 10..12, 24..25, 27..28]);
        held.receive(8, Region::line(0, 4), &[1; 4], None);
        assert_eq!(held.received.iter().next(), Some(8..12), "written since");
    }
}
