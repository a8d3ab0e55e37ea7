//! Launches by kernels: addresses of kernels, and the records that the device library leaves in a variable of the module (`library/launches.ptx`).

use super::{Kernel, VariableBases};
use crate::syntax::ast::Variable;
use crate::syntax::types::parameter_place;

/// The variable with the records.
const LAUNCHES: &str = "$launches";
/// A bit that addresses of kernels have, and those of functions have not.
const KERNEL: u64 = 1 << 48;
/// Bytes of the ring of records, behind which the last one may end, and of the header before it.
const RING: u64 = 1 << 20;
const HEADER: usize = 64;

/// The address of a kernel, by the address of its code: bytes of parameters are in the high half, for the device library.
pub(super) fn address(code: u64, params: &[Variable]) -> u64 {
    let bytes =
        params.iter().fold(0, |end, param| parameter_place(end, param).map_or(end, |(bytes, _)| bytes.end));
    KERNEL | bytes << 32 | code
}

/// Work that a kernel has given to its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLaunch {
    /// The block that gave it, by its number in the grid, and the stream: 0 is the block's own, 3 waits for all other work, 4 waits for none.
    pub place: (u64, u64),
    /// The work.
    pub work: DeviceWork,
}

impl DeviceLaunch {
    /// The stream of work that begins when everything else has ended.
    pub const TAIL: u64 = 3;
    /// The stream of work that waits for none.
    pub const FORGET: u64 = 4;
}

/// Kinds of work that kernels give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceWork {
    /// A launch, by the kernel's address.
    Launch {
        /// The address of the kernel ([`Kernel::launch_address`]).
        kernel: u64,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Dynamic shared memory in bytes.
        shared: u32,
        /// The parameters as bytes.
        parameters: Vec<u8>,
    },
    /// A copy of bytes on the device.
    Copy {
        /// The first address that is written.
        to: u64,
        /// The first address that is read.
        from: u64,
        /// Size of the copy in bytes.
        bytes: u64,
    },
    /// Bytes of one value.
    Fill {
        /// The first address.
        to: u64,
        /// The value.
        value: u8,
        /// Size in bytes.
        bytes: u64,
    },
}

/// The launches of a module that its host has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    reserved: u64,
}

/// The new work of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewWork {
    /// The work in the order in which it was given.
    pub work: Vec<DeviceLaunch>,
    /// A stream has waited for an event: all work has the order in which it was given.
    pub is_ordered: bool,
    /// More was given than there is room for, and some is lost.
    pub is_lost: bool,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word))
}

impl Launches {
    /// Whether a kernel has reserved records since the last look, by the first bytes of the variable.
    pub fn has_new(&self, header: &[u8]) -> bool {
        word(header, 0) != self.reserved
    }

    /// The work since the last look, from the bytes of the variable.
    pub fn take(&mut self, bytes: &[u8]) -> NewWork {
        let end = word(bytes, 0);
        let mut new = NewWork { is_ordered: half(bytes, 24) != 0, ..NewWork::default() };
        let mut at = std::mem::replace(&mut self.reserved, end);
        new.is_lost = end.wrapping_sub(at) > RING;
        let mut found: Vec<(u32, DeviceLaunch)> = Vec::new();
        while at < end && !new.is_lost {
            let record = bytes.get(HEADER + (at % RING) as usize..).unwrap_or_default();
            let kernel = word(record, 0);
            let sizes = |at: usize| [0, 4, 8].map(|more| half(record, at + more));
            let [first, second, third] = [64, 72, 80].map(|at| word(record, at));
            let (bytes, work) = match kernel {
                1 => (24, DeviceWork::Copy { to: first, from: second, bytes: third }),
                2 => (24, DeviceWork::Fill { to: first, value: second as u8, bytes: third }),
                kernel => {
                    let bytes = kernel >> 32 & 0xffff;
                    let parameters = record.get(64..64 + bytes as usize).unwrap_or_default().to_vec();
                    let (grid, block, shared) = (sizes(8), sizes(20), half(record, 32));
                    (bytes, DeviceWork::Launch { kernel, grid, block, shared, parameters })
                }
            };
            let number = half(record, 36);
            if number > 0 {
                found.push((number, DeviceLaunch { place: (word(record, 48), word(record, 40)), work }));
            }
            at += 64 + bytes.next_multiple_of(64);
        }
        found.sort_by_key(|(number, _)| *number);
        new.work = found.into_iter().map(|(_, launch)| launch).collect();
        new
    }
}

impl Kernel {
    /// The address by which kernels launch it.
    pub fn launch_address(&self) -> u64 {
        let code = self.functions.first().map_or(0, |own| own.address);
        KERNEL | u64::from(self.param_bytes()) << 32 | code
    }

    /// The place and the bytes of the module's records of launches, if its kernels launch.
    pub fn launches(&self, bases: VariableBases) -> Option<(u64, u64)> {
        let symbol = self.global_symbols.iter().find(|symbol| symbol.name == LAUNCHES)?;
        Some((bases.globals + symbol.offset, symbol.size))
    }
}
