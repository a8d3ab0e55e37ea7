//! Local memory of a block's threads; the parts of the threads are consecutive.
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
    /// Bytes at the beginning and at the end of each part that contain all accesses so far.
    used: (usize, usize),
}

impl Local {
    /// Local memory of `size` bytes for each of `threads` threads, all zeros.
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

    /// Performs an access of a warp whose threads begin with `first`; returns the lanes that read unwritten bytes.
    ///
    /// # Errors
    /// The first lane whose access is outside.
    #[inline]
    pub(super) fn access(&mut self, access: &Access, first: usize, words: &mut [Row; 4]) -> Result<u32, u32> {
        let (size, step) = (self.size, self.size.next_multiple_of(64));
        let (mut unwritten, mut used) = (0, self.used);
        let mut rest = access.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let thread = first + lane as usize;
            let bytes = &mut self.bytes[thread * size..][..size];
            let served = serve(access, 1 << lane, 0, bytes, words);
            if served == 0 {
                self.used = used;
                return Err(lane);
            }
            let offset = access.addresses[lane as usize & 31] as usize;
            if offset < size / 2 {
                used.0 = used.0.max(offset + usize::from(access.width));
            } else {
                used.1 = used.1.max(size - offset);
            }
            unwritten |= self.shadow.note(access, served, 0_u64.wrapping_sub((thread * step) as u64));
        }
        self.used = used;
        Ok(unwritten)
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
            let mut access = Access { values: [Row([7; 32]); 4], ..Access::default() };
            for round in 0..3 {
                for offset in [0, size / 16 * 4, size / 8 * 4, size - 4] {
                    for thread in [0, 1, 63] {
                        let lane = thread % 32;
                        (access.mask, access.addresses[lane]) = (1 << lane, offset as u64);
                        access.kind = AccessKind::Load;
                        assert_eq!(
                            local.access(&access, thread - lane, &mut words),
                            Ok(1 << lane),
                            "{size} {round} {offset}"
                        );
                        assert_eq!(words[0].0[lane], 0);
                        access.kind = AccessKind::Store;
                        assert_eq!(local.access(&access, thread - lane, &mut words), Ok(0));
                        access.kind = AccessKind::Load;
                        assert_eq!(local.access(&access, thread - lane, &mut words), Ok(0));
                        assert_eq!(words[0].0[lane], 7);
                        access.addresses[lane] = size as u64;
                        assert_eq!(local.access(&access, thread - lane, &mut words), Err(lane as u32));
                    }
                    local.restart();
                }
                assert!(local.bytes().iter().all(|byte| *byte == 0));
            }
        }
    }
}
