//! Allocation and use of memory that host and device both reach.
//!
//! The device has its own copy. Bytes that the host has changed are copied to the device before a launch, and back after it: the program
//! sees shared memory, and the record has these copies.

use std::ffi::c_uint;

use counterpoint_cuda_capture::{Entry, Region, Way};

use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::modules::Placed;
use crate::pages::PAGE;
use crate::shared::Block;
use crate::state::State;

/// Attempts to find addresses that are free in the process.
const ATTEMPTS: u32 = 64;

/// Said once.
const COPIED: &str =
    "memory that host and device share is copied to the device before a launch, and back after it";

impl State {
    /// Allocates pages of the host; `on_device` has kernels reach them.
    pub(crate) fn allocate_shared(&mut self, bytes: u64, on_device: bool) -> Result<u64> {
        let length = bytes.max(1).checked_next_multiple_of(PAGE).ok_or(Error::MEMORY_ALLOCATION)?;
        let start = self.map_pages(length, None)?;
        self.shared.blocks.insert(start, Block::of(bytes.max(1)));
        if on_device {
            self.put_on_device(start)?;
        }
        Ok(start)
    }

    /// Has kernels reach memory that the program has already: its pages are also those of a block, whose address is the result. The
    /// program keeps these pages when the block is freed.
    pub(crate) fn share_registered(&mut self, host: u64, bytes: u64) -> Result<u64> {
        let first = host / PAGE * PAGE;
        let length = (host + bytes).checked_next_multiple_of(PAGE).ok_or(Error::INVALID_VALUE)? - first;
        let start = self.map_pages(length, Some(first))? + (host - first);
        self.shared.blocks.insert(start, Block::of(bytes));
        self.put_on_device(start)?;
        Ok(start)
    }

    /// Pages of the program at addresses that the device has free; they become those of `beside`, too.
    fn map_pages(&mut self, length: u64, beside: Option<u64>) -> Result<u64> {
        if length > self.device.room().1 {
            return Err(Error::MEMORY_ALLOCATION);
        }
        for _ in 0..ATTEMPTS {
            // The block starts at a page boundary.
            let start = self.device.place(length + PAGE)?.next_multiple_of(PAGE);
            if self.shared.pages.map(start, length, beside, &self.channel)? {
                return Ok(start);
            }
        }
        Err(Error::MEMORY_ALLOCATION)
    }

    /// Allocates memory of the host with flags, or nothing.
    pub(crate) fn allocate_pinned(&mut self, bytes: u64, flags: c_uint, on_device: bool) -> Result<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        let address = self.allocate_shared(bytes, on_device)?;
        let block = self.shared.block(address)?;
        self.shared.blocks.insert(address, Block { flags, ..block });
        Ok(address)
    }

    /// Allocates memory that host and device reach by the same pointer.
    pub(crate) fn allocate_managed(&mut self, bytes: u64) -> Result<u64> {
        let address = self.allocate_shared(bytes, true)?;
        let block = self.shared.block(address)?;
        self.shared.blocks.insert(address, Block { managed: true, ..block });
        Ok(address)
    }

    /// Gives the program the addresses of a binary's managed variables: pages of the host over the variables of its module.
    pub(crate) fn give_managed(&mut self, binary: usize) -> Result {
        let (mine, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.shared.waiting).into_iter().partition(|it| it.binary == binary);
        self.shared.waiting = others;
        if mine.is_empty() {
            return Ok(());
        }
        self.device.begin_page(PAGE);
        let loaded = self.load(binary);
        self.device.begin_page(PAGE);
        loaded?;
        let module = self.modules.module(binary).ok_or(Error::NO_KERNEL_IMAGE)?;
        let (start, bytes) = module.globals();
        let variables: Option<Vec<_>> =
            mine.iter().map(|it| Some((it.host, module.variable(&it.name)?))).collect();
        let variables = variables.ok_or(Error::INVALID_SYMBOL)?;
        let first = start / PAGE * PAGE;
        let length = (start + bytes).next_multiple_of(PAGE) - first;
        if !self.shared.pages.map(first, length, None, &self.channel)? {
            return Err(Error::MEMORY_ALLOCATION);
        }
        let values = self.device.read(Region::line(start, bytes))?;
        self.shared.pages.at(start, bytes)?.copy_from_slice(&values);
        for (host, placed) in &variables {
            put(std::ptr::without_provenance_mut(*host as usize), placed.address)?;
        }
        for (_, Placed { address, bytes }) in variables {
            let block =
                Block { bytes, on_device: true, managed: true, fresh: false, variable: true, flags: 0 };
            self.shared.blocks.insert(address, block);
        }
        self.say_once(COPIED);
        Ok(())
    }

    /// Has kernels reach a block from now on.
    pub(crate) fn put_on_device(&mut self, address: u64) -> Result {
        let block = self.shared.block(address)?;
        if !block.on_device {
            self.device.allocate_at(address, block.bytes)?;
            self.shared.blocks.insert(address, Block { on_device: true, ..block });
            self.recorder.write(&Entry::Allocate { address, bytes: block.bytes });
            self.say_once(COPIED);
        }
        Ok(())
    }

    /// Has kernels reach the blocks of the host whose addresses are among the arguments of a launch: with one space of addresses, they may use those of
    /// any memory that CUDA has given for copies.
    pub(crate) fn put_arguments_on_device(&mut self, parameters: &[u8]) -> Result {
        for word in parameters.as_chunks().0 {
            if let Some((start, Block { on_device: false, .. })) = self.shared.at(u64::from_le_bytes(*word)) {
                self.put_on_device(start)?;
            }
        }
        Ok(())
    }

    pub(crate) fn free_shared(&mut self, address: u64) -> Result {
        let block = self.shared.block(address)?;
        if block.variable {
            return Err(Error::INVALID_VALUE);
        }
        self.shared.blocks.remove(&address);
        if block.on_device {
            self.device.retire(address)?;
            self.recorder.write(&Entry::Free { address });
        }
        self.shared.pages.unmap(address / PAGE * PAGE, &self.channel)
    }

    /// Frees all but variables.
    pub(crate) fn free_all_shared(&mut self) -> Result {
        let blocks = self.shared.blocks.iter().filter(|(_, block)| !block.variable);
        let blocks: Vec<u64> = blocks.map(|(address, _)| *address).collect();
        blocks.into_iter().try_for_each(|address| self.free_shared(address))
    }

    /// The device gets what the host has changed, on the stream that needs it.
    pub(crate) fn share(&mut self, stream: u32) -> Result {
        if !self.waiting.is_empty() {
            return self.take_changes();
        }
        for (address, region) in self.shared_regions() {
            let block = self.shared.block(address)?;
            let mut bytes = self.device.read(region)?;
            let host = self.shared.pages.at(address, region.width)?;
            // A fresh block is copied regardless of the initial contents of device memory, which differ between server and machine.
            if block.fresh || bytes != host {
                bytes.copy_from_slice(host);
                self.device.write(region, &bytes)?;
                self.note_copy(Way::In, region, &bytes, stream, true);
                self.shared.blocks.insert(address, Block { fresh: false, ..block });
            }
            self.waiting.sync(address, bytes);
        }
        Ok(())
    }

    /// The host gets what kernels have changed, on the stream that did.
    pub(crate) fn unshare(&mut self, stream: u32) -> Result {
        if !self.waiting.is_empty() {
            return self.give_changes();
        }
        for (address, region) in self.shared_regions() {
            let bytes = self.device.read(region)?;
            if bytes != self.shared.pages.at(address, region.width)? {
                let bytes = self.as_timed(region, bytes, stream, true)?;
                self.shared.pages.at(address, region.width)?.copy_from_slice(&bytes);
                self.note_copy(Way::Out, region, &bytes, stream, true);
            }
        }
        Ok(())
    }

    pub(crate) fn shared_regions(&self) -> Vec<(u64, Region)> {
        let blocks = self.shared.blocks.iter().filter(|(_, block)| block.on_device);
        blocks.map(|(&address, block)| (address, Region::line(address, block.bytes))).collect()
    }
}
