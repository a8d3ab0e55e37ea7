//! Bytes that are zero and cost memory only where they have been written: pages of the operating system.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut, Range};

use memmap2::{MmapMut, MmapOptions};

/// A run of bytes that grows. Bytes never written are zero and take no memory where the operating system maps
/// pages on demand.
#[derive(Default)]
pub struct Space {
    map: Option<MmapMut>,
    length: usize,
}

impl Space {
    /// A space of this many zero bytes.
    ///
    /// # Errors
    /// If the operating system has not enough address space.
    pub fn zeroed(length: usize) -> io::Result<Self> {
        let mut space = Space::with_room(length)?;
        space.length = length;
        Ok(space)
    }

    /// An empty space with a capacity of this many bytes: the space does not move until it grows beyond them.
    ///
    /// # Errors
    /// If the operating system has not enough address space.
    pub fn with_room(room: usize) -> io::Result<Self> {
        let map =
            (room > 0).then(|| MmapOptions::new().len(room).no_reserve_swap().map_anon()).transpose()?;
        Ok(Space { map, length: 0 })
    }

    /// Grows to a length with zero bytes. Beyond its room it moves, which touches all of it.
    ///
    /// # Panics
    /// If the operating system has no addresses for them, as a vector does.
    pub fn grow(&mut self, length: usize) {
        self.grow_with(length, std::iter::once(0..self.length));
    }

    /// Grows to a length with zero bytes, and keeps these ranges of the old bytes: where it moves, the rest
    /// is zero again.
    ///
    /// # Panics
    /// As [`Space::grow`].
    pub(super) fn grow_with(&mut self, length: usize, kept: impl Iterator<Item = Range<usize>>) {
        let room = self.map.as_ref().map_or(0, |map| map.len());
        if length > room {
            let mut larger =
                Space::with_room(length.max(room + room / 2).max(LEAST)).expect("room for bytes");
            larger.length = self.length;
            kept.for_each(|range| larger[range.clone()].copy_from_slice(&self[range]));
            *self = larger;
        }
        self.length = self.length.max(length);
    }

    /// Puts bytes behind the last one.
    ///
    /// # Panics
    /// As [`Space::grow`].
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let start = self.length;
        self.grow(start + bytes.len());
        self[start..].copy_from_slice(bytes);
    }
}

/// The room of the smallest space that grows.
const LEAST: usize = 1 << 16;

impl Deref for Space {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[..self.length])
    }
}

impl DerefMut for Space {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.map.as_mut().map_or(&mut [], |map| &mut map[..self.length])
    }
}

impl AsRef<[u8]> for Space {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Clone for Space {
    /// Copies all bytes, which touches them.
    fn clone(&self) -> Self {
        let mut copy = Space::default();
        copy.extend_from_slice(self);
        copy
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_keeps_its_bytes_and_adds_zeros() {
        let mut space = Space::default();
        assert!(space.is_empty());
        space.extend_from_slice(&[1, 2, 3]);
        space.grow(3 * LEAST);
        space.grow(2);
        assert_eq!((space.len(), &space[..5], space[3 * LEAST - 1]), (3 * LEAST, &[1, 2, 3, 0, 0][..], 0));
    }

    #[test]
    fn more_than_a_machine_has_is_there_until_it_is_touched() {
        let mut space = Space::zeroed(1 << 40).expect("addresses");
        space[(1 << 39) + 5] = 7;
        assert_eq!((space[1 << 39], space[(1 << 39) + 5]), (0, 7));
        assert!(Space::zeroed(1 << 60).is_err());
    }
}
