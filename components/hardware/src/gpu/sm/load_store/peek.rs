//! State of the load-store unit for the search for endless loops: reads that change nothing.

use counterpoint_framework::time::SimTime;
use counterpoint_protocols::memory::LINE_BYTES;
use counterpoint_ptx::{Access, Space};

use super::LoadStore;
use super::queue::Work;

/// An access to shared memory that has been issued and not been executed.
pub(in crate::gpu::sm) enum Pending<'a> {
    Access(&'a Access),
    /// A load of one word for all lanes, at this address.
    Poll(u32),
}

impl LoadStore {
    /// Slots of warps that wait for values of memory, or whose accesses to local memory have not reached the L1.
    pub(in crate::gpu::sm) fn unsettled(&self) -> u64 {
        let all = self.instructions.iter();
        let unsettled = all.filter(|it| it.access.wants_value || it.access.space == Space::Local);
        unsettled.fold(0, |slots, it| slots | 1 << it.warp)
    }

    /// Accesses to shared memory that have not been executed, with the slots of their warps, in order.
    pub(in crate::gpu::sm) fn pending(&self) -> impl Iterator<Item = (u32, Pending<'_>)> {
        self.queue.iter().filter_map(|queued| match &queued.work {
            Work::Shared(access) => Some((queued.warp, Pending::Access(access))),
            Work::Poll(address) => Some((queued.warp, Pending::Poll(*address))),
            Work::Parameter(_) | Work::Constant(..) | Work::Texels(..) | Work::Lines(..) => None,
        })
    }

    /// Bytes of local memory, within a word, if the L1 has them.
    pub(in crate::gpu::sm) fn local_bytes(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some((valid, line)) = self.l1.peek(address) else { return false };
        let start = (address % LINE_BYTES) as usize;
        let range = start..start + bytes.len();
        if range.end > line.len() || range.clone().any(|byte| valid >> byte & 1 == 0) {
            return false;
        }
        bytes.copy_from_slice(&line[range]);
        true
    }

    /// Time at which the L1 was filled with the line of a word of global memory, if the L1 holds the line.
    pub(in crate::gpu::sm) fn filled(&self, address: u64) -> Option<SimTime> {
        self.l1.filled(address, 0xf << (address % LINE_BYTES))
    }

    /// Bytes of constant memory, if their cache has them.
    pub(in crate::gpu::sm) fn constant_bytes(&self, address: u64, bytes: &mut [u8]) -> bool {
        let start = (address % LINE_BYTES) as usize;
        let line = self.constants.peek(address);
        let found = line.and_then(|line| line.get(start..start + bytes.len()));
        found.map(|found| bytes.copy_from_slice(found)).is_some()
    }
}
