//! Memory that host and device both reach: pages of the process at the address that they have on the device.

use std::collections::BTreeMap;
use std::ffi::c_uint;

use crate::errors::{Error, Result};
use crate::pages::Pages;

/// Pages of the host at addresses of the device.
#[derive(Default)]
pub(crate) struct SharedMemory {
    /// Size of each block by address, and whether kernels can access it.
    pub(crate) blocks: BTreeMap<u64, Block>,
    /// Managed variables whose addresses the program does not have yet.
    pub(crate) waiting: Vec<Managed>,
    pub(crate) pages: Pages,
}

#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) bytes: u64,
    /// The block is on the device, too.
    pub(crate) on_device: bool,
    /// The block comes from `cudaMallocManaged`.
    pub(crate) managed: bool,
    /// Whether the device has never had its bytes.
    pub(crate) fresh: bool,
    /// The block is a variable of a module, which is never freed.
    pub(crate) variable: bool,
    /// Flags of `cudaHostAlloc`.
    pub(crate) flags: c_uint,
}

impl Block {
    /// A block of the host that was never on the device.
    pub(crate) fn of(bytes: u64) -> Self {
        Block { bytes, on_device: false, managed: false, fresh: true, variable: false, flags: 0 }
    }
}

/// A `__managed__` variable, as it is registered.
pub(crate) struct Managed {
    pub(crate) binary: usize,
    pub(crate) name: String,
    /// Location to which the program wants the variable's address written.
    pub(crate) host: u64,
}

impl SharedMemory {
    /// The block that begins at an address: its bytes, and whether kernels reach it.
    pub(crate) fn block(&self, address: u64) -> Result<Block> {
        self.blocks.get(&address).copied().ok_or(Error::INVALID_VALUE)
    }

    pub(crate) fn register(&mut self, variable: Managed) {
        self.waiting.push(variable);
    }

    /// The block in which an address is, and where it begins.
    pub(crate) fn at(&self, address: u64) -> Option<(u64, Block)> {
        let (&start, &block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.bytes).then_some((start, block))
    }

    /// Puts bytes into the host's pages of a block, if one begins at an address.
    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) -> Result {
        if self.blocks.contains_key(&address) {
            self.pages.at(address, bytes.len() as u64)?.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Whether an address is in memory that the program calls managed.
    pub(crate) fn is_managed(&self, address: u64) -> bool {
        self.at(address).is_some_and(|(_, block)| block.managed)
    }

    /// The beginning of the block in which an address is.
    pub(crate) fn start(&self, address: u64) -> Option<u64> {
        self.at(address).map(|(start, _)| start)
    }

    /// Whether an address is in a block, and whether kernels reach it.
    pub(crate) fn find(&self, address: u64) -> Option<bool> {
        self.at(address).map(|(_, block)| block.on_device)
    }

    /// The flags with which the block in which an address is was allocated.
    pub(crate) fn flags(&self, address: u64) -> Option<c_uint> {
        self.at(address).map(|(_, block)| block.flags)
    }

    /// Whether these bytes are in one block.
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        self.at(address).is_some_and(|(start, block)| bytes <= block.bytes - (address - start))
    }

    /// Whether some of these bytes are in a block.
    pub(crate) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let before = self.blocks.range(..address.saturating_add(bytes)).next_back();
        before.is_some_and(|(start, block)| start + block.bytes > address)
    }
}
