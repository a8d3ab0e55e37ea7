//! A thread block on an SM: its environment, its shared memory, its barriers, and its work in flight.

use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::launch::{CtaCounts, Launch, fault_of};
use counterpoint_protocols::translation::RangeClaim;
use counterpoint_ptx::{
    CtaEnvironment, ExecError, Failure, FaultKind, Votes, Waiting, Warp, Windows, standstill,
};

use super::drain::Drain;
use super::spans::Spans;
use crate::gpu::sm::issued::PlaceCounts;

/// Barriers of a block (PTX ISA, bar).
pub(in crate::gpu::sm) const BARRIERS: usize = 16;

/// Generic addresses of shared and local memory: far above every device address.
pub(in crate::gpu::sm) const WINDOWS: Windows = Windows::ABOVE_MEMORY;

/// A thread block.
pub(in crate::gpu::sm) struct Cta {
    pub(in crate::gpu::sm) launch: Arc<Launch>,
    pub(in crate::gpu::sm) index: u32,
    pub(in crate::gpu::sm) environment: CtaEnvironment,
    pub(in crate::gpu::sm) shared: Vec<u8>,
    pub(in crate::gpu::sm) warps: u64,
    /// Warps that have not ended.
    pub(in crate::gpu::sm) live: u32,
    /// Memory instructions and transactions that have not ended, and results for no register.
    pub(in crate::gpu::sm) outstanding: u32,
    /// The barrier at which each warp waits.
    pub(in crate::gpu::sm) waiting: Vec<Option<Waiting>>,
    /// Counts of its accesses to memory; the counts of its issue are those of its place since it began.
    pub(in crate::gpu::sm) counts: CtaCounts,
    /// Counts of its place when it began.
    pub(in crate::gpu::sm) counts_before: CtaCounts,
    /// The cycle in which it began.
    pub(in crate::gpu::sm) since: u64,
    pub(in crate::gpu::sm) spans: Spans,
    /// Whether it has written to global memory.
    pub(in crate::gpu::sm) has_written: bool,
    /// What has been reported in samples.
    pub(in crate::gpu::sm) sampled: CtaCounts,
    /// Ranges that it gives back when it has ended.
    pub(in crate::gpu::sm) releases: Vec<RangeClaim>,
    /// Accesses in flight, and releases that wait for them.
    pub(in crate::gpu::sm) drain: Drain,
    barriers: [Barrier; BARRIERS],
}

#[derive(Clone, Copy, Default)]
struct Barrier {
    /// Whole warps that have arrived.
    arrived: u32,
    /// Parts of warps have arrived, too.
    in_parts: bool,
    /// Threads that are to arrive; none given means all.
    count: Option<u32>,
    /// Slots of the warps that wait.
    waiting: u64,
    votes: Votes,
}

/// A block that has left its SM, without its warps.
pub(in crate::gpu::sm) struct SavedCta {
    shared: Vec<u8>,
    waiting: Vec<Option<Waiting>>,
    live: u32,
    has_written: bool,
    /// With the numbers of warps in place of their slots.
    barriers: [Barrier; BARRIERS],
}

/// Bits of warps by another name.
fn renamed(bits: u64, name: impl Fn(u32) -> u32) -> u64 {
    (0..u64::BITS).filter(|bit| bits >> bit & 1 != 0).fold(0, |all, bit| all | 1 << name(bit))
}

impl Cta {
    /// A block at its start, on SM `sm` of `sms`.
    pub(in crate::gpu::sm) fn new(launch: Arc<Launch>, index: u32, sm: u32, sms: u32, since: u64) -> Self {
        let environment = CtaEnvironment {
            ctaid: launch.ctaid(index),
            sm,
            sm_count: sms,
            grid: u64::from(launch.id.0),
            dynamic_shared_bytes: launch.dynamic_shared,
            stack: launch.stack,
            windows: WINDOWS,
            global_base: launch.variables.globals,
            constant_base: launch.variables.constants,
            textures: Arc::clone(&launch.textures),
            ..CtaEnvironment::new(launch.grid, launch.block, Arc::clone(&launch.params))
        };
        let shared = vec![0; (launch.kernel.shared_bytes() + launch.dynamic_shared) as usize];
        let live = launch.threads().div_ceil(32);
        let barriers = [Barrier::default(); BARRIERS];
        let waiting = vec![None; live as usize];
        let counts = CtaCounts::default();
        Cta {
            launch,
            index,
            environment,
            shared,
            warps: 0,
            live,
            outstanding: 0,
            waiting,
            counts,
            counts_before: CtaCounts::default(),
            since,
            spans: Spans::default(),
            has_written: false,
            sampled: CtaCounts::default(),
            releases: Vec::new(),
            drain: Drain::default(),
            barriers,
        }
    }

    /// Its counts so far; `place` are those of its place on the SM.
    pub(in crate::gpu::sm) fn so_far(&self, place: &PlaceCounts) -> CtaCounts {
        let mut counts = self.counts;
        counts += place.so_far();
        counts -= self.counts_before;
        counts
    }

    /// Saves the block without its warps; `slots` are the slots of the warps, by their numbers.
    pub(in crate::gpu::sm) fn save(self, slots: &[u32]) -> SavedCta {
        let Cta { shared, waiting, live, has_written, mut barriers, .. } = self;
        let number = |slot: u32| slots.iter().position(|&other| other == slot).unwrap_or_default() as u32;
        barriers.iter_mut().for_each(|barrier| barrier.waiting = renamed(barrier.waiting, number));
        SavedCta { shared, waiting, live, has_written, barriers }
    }

    /// Restores a saved block; `slots` are the slots of its warps, by their numbers.
    pub(in crate::gpu::sm) fn restore(&mut self, saved: &SavedCta, slots: &[u32]) {
        self.shared.clone_from(&saved.shared);
        self.waiting.clone_from(&saved.waiting);
        (self.live, self.has_written, self.barriers) = (saved.live, saved.has_written, saved.barriers);
        let slot = |number: u32| slots[number as usize];
        self.barriers.iter_mut().for_each(|barrier| barrier.waiting = renamed(barrier.waiting, slot));
    }

    /// A whole warp arrives at a barrier, and waits there if it `waits`.
    pub(in crate::gpu::sm) fn arrive(&mut self, slot: u32, id: u32, count: Option<u32>, waits: bool) {
        let barrier = &mut self.barriers[id as usize];
        barrier.arrived += 1;
        barrier.count = count;
        if waits {
            barrier.waiting |= 1 << slot;
        }
    }

    /// A part of a warp arrives at a barrier.
    pub(in crate::gpu::sm) fn arrive_apart(&mut self, id: u32, count: Option<u32>) {
        let barrier = &mut self.barriers[id as usize];
        barrier.in_parts = true;
        barrier.count = count;
    }

    /// Adds the votes of warps that arrive at a barrier.
    pub(in crate::gpu::sm) fn vote(&mut self, id: u32, votes: Votes) {
        self.barriers[id as usize].votes.add(votes);
    }

    /// Whether parts of warps have arrived at a barrier.
    #[inline]
    pub(in crate::gpu::sm) fn has_parts(&self, id: usize) -> bool {
        self.barriers[id].in_parts
    }

    /// Opens a barrier if all expected threads have arrived, `parts` of them in parts of warps. Returns the warps that may
    /// continue, and the votes of all.
    pub(in crate::gpu::sm) fn open(&mut self, id: usize, parts: u32) -> Option<(u64, Votes)> {
        let (come, wanted) = self.arrived_and_expected(id, parts);
        let barrier = &mut self.barriers[id];
        if come == 0 || come < wanted {
            return None;
        }
        let Barrier { waiting, votes, .. } = std::mem::take(barrier);
        Some((waiting, votes))
    }

    /// Number of threads that have arrived at a barrier, and number of threads for which the barrier waits.
    fn arrived_and_expected(&self, id: usize, parts: u32) -> (u32, u32) {
        let Barrier { arrived, count, .. } = self.barriers[id];
        let wanted = count.map_or(self.live, |threads| threads.div_ceil(32));
        (32 * arrived + parts, 32 * wanted)
    }

    /// Whether every warp that has not ended waits at a barrier.
    pub(in crate::gpu::sm) fn stands_still(&self) -> bool {
        let waiting = self.waiting.iter().flatten().count();
        self.live > 0 && waiting == self.live as usize
    }

    /// The fault of a block that cannot progress, with its warps in order.
    #[cold]
    pub(in crate::gpu::sm) fn standstill(&self, warps: &[&Warp]) -> Fault {
        let places = self.waiting.iter().zip(warps).map(|(waiting, warp)| match waiting {
            Some(waiting) if waiting.lanes != u32::MAX => warp.waits_apart(),
            waiting => waiting.iter().copied().collect(),
        });
        let places: Vec<Vec<Waiting>> = places.collect();
        let arrived = |id: u32| {
            let parts = warps.iter().map(|warp| warp.arrivals(id)).sum();
            self.arrived_and_expected(id as usize, parts)
        };
        let message = standstill(&self.launch.kernel, &places, arrived);
        self.fault(Failure::of_block(self.environment.ctaid, message))
    }

    /// A fault of the block, with the launch.
    #[cold]
    pub(in crate::gpu::sm) fn fault(&self, failure: Failure) -> Fault {
        fault_of(self.launch.name(), &failure)
    }

    /// A fault of a lane at an instruction.
    #[cold]
    pub(in crate::gpu::sm) fn fault_at(
        &self,
        warp: u32,
        lane: u32,
        pc: u32,
        kind: FaultKind,
        message: String,
    ) -> Fault {
        let kernel = &self.launch.kernel;
        let line = kernel.instructions()[pc as usize].line;
        let error = ExecError { kind, line, lane, message };
        self.fault(Failure::of_warp(kernel, self.environment.ctaid, warp, error))
    }

    /// Whether all warps have ended and nothing of the block is under way but results for registers.
    pub(in crate::gpu::sm) fn is_done(&self) -> bool {
        self.live == 0 && self.outstanding == 0
    }
}
