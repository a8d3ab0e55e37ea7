//! Contents of device memory before time 0: states made without time, for studies that begin on the device,
//! and the variables, constants and code of modules.

use std::sync::{PoisonError, RwLock};

use bytes::Bytes;

use crate::memory::{ByteMask, LINE_BYTES, Line, line_of};

/// Contents of allocations by number: that of the buffer, or the one that the application gives a module's
/// variables.
pub type Contents = Vec<(u32, Bytes)>;

/// Contents of device memory, given to a run as a resource. The allocator places each piece; memories read
/// from here the lines that nobody has written yet. All is placed before the first read, and holds for the
/// whole run, so that the lock cannot show in a result.
#[derive(Debug, Default)]
pub struct Preloaded {
    contents: Contents,
    placed: RwLock<Vec<Placed>>,
}

#[derive(Debug)]
struct Placed {
    device: String,
    address: u64,
    bytes: Bytes,
    /// A buffer that a program would have copied, and not part of a module.
    is_buffer: bool,
}

impl Preloaded {
    /// With these contents, which nobody has placed yet.
    pub fn new(contents: Contents) -> Self {
        Preloaded { contents, placed: RwLock::default() }
    }

    /// Contents of an allocation, if they were made before the run.
    pub fn contents(&self, number: u32) -> Option<&Bytes> {
        self.contents.iter().find(|(known, _)| *known == number).map(|(_, bytes)| bytes)
    }

    /// Puts bytes of a module into the memory of the device whose components' paths begin with `device`, at `address`.
    pub fn place(&self, device: &str, address: u64, bytes: Bytes) {
        self.put(Placed { device: device.to_owned(), address, bytes, is_buffer: false });
    }

    /// Sets the address of a buffer, likewise.
    pub fn place_buffer(&self, number: u32, device: &str, address: u64) {
        if let Some(bytes) = self.contents(number).cloned() {
            self.put(Placed { device: device.to_owned(), address, bytes, is_buffer: true });
        }
    }

    fn put(&self, placed: Placed) {
        self.placed.write().unwrap_or_else(PoisonError::into_inner).push(placed);
    }

    /// Puts the preloaded bytes of the line at `address`, of the memory at `path`, over those that it would
    /// hold otherwise; gives which these are.
    pub fn fill(&self, path: &str, address: u64, line: &mut Line) -> ByteMask {
        let all = self.placed.read().unwrap_or_else(PoisonError::into_inner);
        let mut filled = 0;
        for Placed { device, address: begin, bytes, .. } in all.iter() {
            // Both ends are in bytes of the piece, which may begin or end within the line.
            let start = address.max(*begin);
            let end = (address + LINE_BYTES).min(begin + bytes.len() as u64);
            if start < end && is_part(path, device) {
                let from = (start - begin) as usize..(end - begin) as usize;
                line[(start - address) as usize..(end - address) as usize].copy_from_slice(&bytes[from]);
                filled |= ByteMask::MAX >> (LINE_BYTES - (end - start)) << (start - address);
            }
        }
        filled
    }

    /// Lines that hold something of a buffer, of the memory at `path`, in the order in which the buffers were placed; a line
    /// that two buffers share occurs twice.
    pub fn lines(&self, path: &str) -> Vec<u64> {
        let all = self.placed.read().unwrap_or_else(PoisonError::into_inner);
        let buffers = all.iter().filter(|placed| placed.is_buffer && !placed.bytes.is_empty());
        let here = buffers.filter(|placed| is_part(path, &placed.device));
        let lines = here.flat_map(|Placed { address, bytes, .. }| {
            (line_of(*address)..address + bytes.len() as u64).step_by(LINE_BYTES as usize)
        });
        lines.collect()
    }
}

/// Whether a component is a part of the one with the other path.
pub(crate) fn is_part(path: &str, whole: &str) -> bool {
    whole.is_empty() || path.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_what_lies_in_them() {
        let preloaded =
            Preloaded::new(vec![(4, vec![1; 200].into()), (7, vec![2; 8].into()), (9, vec![3; 999].into())]);
        preloaded.place_buffer(4, "gpu[1]", 1024 + 100);
        preloaded.place_buffer(7, "gpu[1]", 1024 + 90);
        preloaded.place_buffer(5, "gpu[1]", 1024);
        preloaded.place("gpu[1]", 4096, vec![3; 100].into());
        let line = |path: &str, address: u64| {
            let mut line = [9; LINE_BYTES as usize];
            let filled = preloaded.fill(path, address, &mut line);
            assert!(line.iter().enumerate().all(|(byte, &value)| (value != 9) == (filled >> byte & 1 == 1)));
            [1, 2, 3, 9].map(|value| line.iter().filter(|byte| **byte == value).count())
        };
        assert_eq!(line("gpu[1].dram[0]", 1024), [28, 8, 0, 92]);
        assert_eq!(line("gpu[1].dram[0]", 1152), [128, 0, 0, 0]);
        assert_eq!(line("gpu[1].memory.dram[3]", 1280), [44, 0, 0, 84]);
        assert_eq!(line("gpu[1].dram[0]", 1408), [0, 0, 0, 128]);
        assert_eq!(line("gpu[1].dram[0]", 4096), [0, 0, 100, 28]);
        assert_eq!(preloaded.lines("gpu[1].l2[0]"), [1024, 1152, 1280, 1024], "a module is no buffer");
        assert_eq!(preloaded.lines("gpu[10].l2[0]"), [0; 0], "another device");
        assert_eq!(line("gpu[10].dram[0]", 1152), [0, 0, 0, 128], "another device");
        assert_eq!(line("gpu[0].dram[0]", 1152), [0, 0, 0, 128], "another device");
    }
}
