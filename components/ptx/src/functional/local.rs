//! Local memory of a block's threads, which lies one thread's behind the other's.
//!
//! Frames of functions grow from the beginning of a thread's part and allocations on the stack from its end, so that of a large stack
//! mostly the middle stays as it is, and costs nothing.

use super::cta::serve;
use super::shadow::Shadow;
use crate::execute::Access;
use crate::program::Row;

/// The local memory of a block.
pub(super) struct Local {
    bytes: Vec<u8>,
    /// Bytes of each thread.
    size: usize,
    /// Written bytes; a thread's part begins with a word.
    shadow: Shadow,
    /// Bytes at the beginning and at the end of each part in which all accesses so far lie.
    used: (usize, usize),
}

impl Local {
    /// Zeros, so many bytes for each thread.
    pub(super) fn new(size: usize, threads: usize) -> Self {
        let shadow = Shadow::new(size.next_multiple_of(64) * threads);
        Local { bytes: vec![0; size * threads], size, shadow, used: (0, 0) }
    }

    /// Bytes of each thread.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The bytes of all threads.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Zeros again, which nobody has written.
    pub(super) fn restart(&mut self) {
        let (first, last) = std::mem::take(&mut self.used);
        if first + last == 0 {
            return;
        }
        let (size, step) = (self.size, self.size.next_multiple_of(64));
        for part in self.bytes.chunks_exact_mut(size) {
            part[..first].fill(0);
            part[size - last..].fill(0);
        }
        let parts = (0..self.bytes.len() / size).map(|thread| thread * step);
        let ranges = parts.flat_map(|start| [start..start + first, start + size - last..start + size]);
        self.shadow.reset_within(ranges);
    }

    /// Performs an access for the one lane that a thread is; gives whether it reads unwritten bytes, or nothing if it lies outside.
    pub(super) fn access(
        &mut self,
        access: &Access,
        (thread, lane): (usize, usize),
        words: &mut [Row; 4],
    ) -> Option<bool> {
        let bytes = &mut self.bytes[thread * self.size..][..self.size];
        if serve(access, 1 << lane, 0, bytes, words) == 0 {
            return None;
        }
        let offset = access.addresses[lane] as usize;
        let (first, last) = &mut self.used;
        match offset < self.size / 2 {
            true => *first = (*first).max(offset + usize::from(access.width)),
            false => *last = (*last).max(self.size - offset),
        }
        let part = (thread * self.size.next_multiple_of(64)) as u64;
        Some(self.shadow.note(access, 1 << lane, 0_u64.wrapping_sub(part)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::AccessKind;

    #[test]
    fn whatever_was_written_is_zero_and_unwritten_again() {
        for size in [4, 20, 4096] {
            let (mut local, mut words) = (Local::new(size, 64), [Row::ZERO; 4]);
            let mut access = Access { values: [Row([7; 32]); 4], mask: !0, ..Access::default() };
            for round in 0..3 {
                for offset in [0, size / 16 * 4, size / 8 * 4, size - 4] {
                    for thread in [0, 1, 63] {
                        let at = (thread, thread % 32);
                        access.addresses[at.1] = offset as u64;
                        access.kind = AccessKind::Load;
                        assert_eq!(
                            local.access(&access, at, &mut words),
                            Some(true),
                            "{size} {round} {offset}"
                        );
                        assert_eq!(words[0].0[at.1], 0);
                        access.kind = AccessKind::Store;
                        assert_eq!(local.access(&access, at, &mut words), Some(false));
                        access.kind = AccessKind::Load;
                        assert_eq!(local.access(&access, at, &mut words), Some(false));
                        assert_eq!(words[0].0[at.1], 7);
                        access.addresses[at.1] = size as u64;
                        assert_eq!(local.access(&access, at, &mut words), None);
                    }
                    local.restart();
                }
                assert!(local.bytes().iter().all(|byte| *byte == 0));
            }
        }
    }
}
