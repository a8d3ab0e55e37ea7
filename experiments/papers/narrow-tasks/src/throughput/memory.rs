//! Device memory as one run of bytes, for the copy engine and for the blocks that are executed.

use std::collections::VecDeque;
use std::sync::Arc;

use counterpoint::component::{Context, Params, Stats};
use counterpoint::kernel::Fault;
use counterpoint::memory::dram::unwritten;
use counterpoint::messages::memory::{
    Line, MemAccess, MemReply, MemRequest, MemResult, line_of, merge, sectors,
};
use counterpoint::ptx::Allocations;
use counterpoint::ptx::functional::FlatMemory;
use counterpoint::time::Cycles;

/// Latency and rate of device memory for the copy engine.
#[derive(Clone, Debug, Params)]
pub(super) struct CopyParams {
    /// Latency from a request to its reply. The default is that of an L2 hit in `titanx-maxwell`: network, ROP, and network back.
    #[param(default = "140 cycles", min = "1 cycle")]
    latency: Cycles,
    /// Sectors of 32 bytes in a cycle; a sector is one packet.
    #[param(default = "1", min = "1", max = "64")]
    sectors: u32,
}

/// The memory, and the answers on their way to the copy engine.
pub(super) struct DeviceMemory {
    pub(super) flat: FlatMemory,
    mapped: Option<Arc<Allocations>>,
    copies: CopyParams,
    /// The sector of the copy engine's port that is free next.
    free: u64,
    answers: VecDeque<(u64, MemReply)>,
}

impl DeviceMemory {
    pub(super) fn new(copies: CopyParams) -> Self {
        DeviceMemory { flat: FlatMemory::new(0), mapped: None, copies, free: 0, answers: VecDeque::new() }
    }

    /// Takes the contents of memory before the run.
    pub(super) fn begin<S: Stats>(&mut self, sim: &Context<S>) {
        self.flat = FlatMemory::of_device(unwritten(sim));
    }

    /// Maps the allocations that a launch may access.
    pub(super) fn map(&mut self, allocations: &Arc<Allocations>) {
        if self.mapped.as_ref().is_some_and(|mapped| Arc::ptr_eq(mapped, allocations)) {
            return;
        }
        self.flat.map(allocations);
        self.mapped = Some(Arc::clone(allocations));
    }

    /// The bytes from an address on, of something that was allocated.
    pub(super) fn bytes<const N: usize>(&mut self, address: u64) -> [u8; N] {
        self.flat.touch(address..address + N as u64);
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.flat.bytes[address as usize..address as usize + N]);
        bytes
    }

    /// Writes bytes, beginning at an address.
    pub(super) fn put(&mut self, address: u64, bytes: &[u8]) {
        self.flat.touch(address..address + bytes.len() as u64);
        self.flat.bytes[address as usize..address as usize + bytes.len()].copy_from_slice(bytes);
    }

    /// Serves a request of the copy engine.
    pub(super) fn serve(&mut self, request: MemRequest, cycle: u64) -> Result<(), Fault> {
        let MemRequest { line, tag, client, access, .. } = request;
        debug_assert_eq!(line, line_of(line), "a request names a line");
        let mut values: Line = self.bytes(line);
        let (result, count) = match access {
            MemAccess::Read(mask) => (MemResult::Line(mask, values.into()), sectors(mask)),
            MemAccess::Write(mask, data) => {
                merge(&mut values, mask, &data);
                self.put(line, &values);
                let count = sectors(mask);
                (MemResult::Written(count as u8), count)
            }
            MemAccess::Atomic(_) => return Err(Fault::new("a copy engine has no atomics")),
        };
        let width = u64::from(self.copies.sectors);
        self.free = self.free.max(cycle * width) + u64::from(count);
        let due = self.free.div_ceil(width) + self.copies.latency.get();
        self.answers.push_back((due, MemReply { line, tag, client, result, far: count as u8 }));
        Ok(())
    }

    /// The first answer, if it is due.
    pub(super) fn answer(&mut self, cycle: u64) -> Option<MemReply> {
        self.answers.pop_front_if(|(due, _)| *due <= cycle).map(|(_, reply)| reply)
    }

    /// Cycle in which the next answer is due.
    pub(super) fn due(&self) -> Option<u64> {
        self.answers.front().map(|(due, _)| *due)
    }
}
