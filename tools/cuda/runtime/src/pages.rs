//! Pages that a program and the server both have: at an address of the device in the program, anywhere here.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;

use memmap2::MmapMut;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use crate::channel::Channel;
use crate::errors::{Error, Result};

pub(crate) const PAGE: u64 = 4096;

/// Blocks of pages by their addresses in the program.
#[derive(Default)]
pub(crate) struct Pages(BTreeMap<u64, MmapMut>);

impl Pages {
    /// Makes fresh pages; none if the program has others there. They take the place of those at `beside`, with their bytes; none if the
    /// program calls from there.
    ///
    /// # Errors
    /// The system has none.
    pub(crate) fn map(
        &mut self,
        start: u64,
        length: u64,
        beside: Option<u64>,
        program: &Channel,
    ) -> Result<bool> {
        let file = memfd_create("counterpoint", MemfdFlags::CLOEXEC).map_err(|_| Error::MEMORY_ALLOCATION)?;
        ftruncate(&file, length).map_err(|_| Error::MEMORY_ALLOCATION)?;
        if !program.map(start, length, beside, file.as_raw_fd()) {
            return Ok(false);
        }
        // SAFETY: a file that nobody makes shorter. A program that writes while it calls is a race of its own, as it is with a GPU.
        let here = unsafe { MmapMut::map_mut(&file) }.map_err(|_| Error::MEMORY_ALLOCATION)?;
        self.0.insert(start, here);
        Ok(true)
    }

    pub(crate) fn unmap(&mut self, start: u64, program: &Channel) -> Result {
        let here = self.0.remove(&start).ok_or(Error::INVALID_VALUE)?;
        if program.unmap(start, here.len() as u64) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    pub(crate) fn at(&mut self, address: u64, bytes: u64) -> Result<&mut [u8]> {
        let (start, here) = self.0.range_mut(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
        let from = (address - start) as usize;
        here.get_mut(from..from + bytes as usize).ok_or(Error::INVALID_VALUE)
    }
}
