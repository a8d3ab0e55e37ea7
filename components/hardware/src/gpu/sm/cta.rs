//! A thread block on an SM: its environment, its shared memory, its barriers, and what it still waits for.

use std::sync::Arc;

use counterpoint_protocols::launch::Launch;
use counterpoint_ptx::{CtaEnvironment, Votes, Windows};

/// Barriers of a block (PTX ISA, bar).
pub(super) const BARRIERS: usize = 16;

/// Generic addresses of shared and local memory: far above every device address.
const WINDOWS: Windows = Windows { shared: 1 << 46, local: (1 << 46) + (1 << 28), size: 1 << 28 };

/// A thread block.
pub(super) struct Cta {
    pub(super) launch: Arc<Launch>,
    pub(super) index: u32,
    pub(super) environment: CtaEnvironment,
    pub(super) shared: Vec<u8>,
    /// Slots of its warps.
    pub(super) warps: u64,
    /// Warps that have not ended.
    pub(super) live: u32,
    /// Memory instructions and transactions that have not ended, and results that have not reached their registers.
    pub(super) outstanding: u32,
    barriers: [Barrier; BARRIERS],
}

#[derive(Clone, Copy, Default)]
struct Barrier {
    /// Warps that have arrived.
    arrived: u32,
    /// Threads that are to arrive; none given means all.
    count: Option<u32>,
    /// Slots of the warps that wait.
    waiting: u64,
    /// How those that have arrived voted.
    votes: Votes,
}

impl Cta {
    /// A block at its start, on SM `sm` of `sms`.
    pub(super) fn new(launch: Arc<Launch>, index: u32, sm: u32, sms: u32) -> Self {
        let environment = CtaEnvironment {
            ctaid: launch.ctaid(index),
            sm,
            sm_count: sms,
            grid: u64::from(launch.id.0),
            dynamic_shared_bytes: launch.dynamic_shared,
            windows: WINDOWS,
            ..CtaEnvironment::new(launch.grid, launch.block, Arc::clone(&launch.params))
        };
        let shared = vec![0; (launch.program.shared_bytes() + launch.dynamic_shared) as usize];
        let live = launch.threads().div_ceil(32);
        let barriers = [Barrier::default(); BARRIERS];
        Cta { launch, index, environment, shared, warps: 0, live, outstanding: 0, barriers }
    }

    /// A warp arrives at a barrier, and waits there if it `waits`.
    pub(super) fn arrive(
        &mut self,
        slot: u32,
        id: u32,
        count: Option<u32>,
        waits: bool,
        votes: Option<Votes>,
    ) {
        let barrier = &mut self.barriers[id as usize];
        barrier.arrived += 1;
        barrier.count = count;
        barrier.votes.add(votes.unwrap_or_default());
        if waits {
            barrier.waiting |= 1 << slot;
        }
    }

    /// Opens a barrier if all have arrived that it waits for. Gives the warps that may go on, and how all voted.
    pub(super) fn open(&mut self, id: usize) -> (u64, Votes) {
        let barrier = &mut self.barriers[id];
        let needed = barrier.count.map_or(self.live, |threads| threads.div_ceil(32));
        if barrier.arrived == 0 || barrier.arrived < needed {
            return (0, Votes::default());
        }
        let Barrier { waiting, votes, .. } = std::mem::take(barrier);
        (waiting, votes)
    }

    /// Whether the block has ended and nothing of it is under way.
    pub(super) fn is_done(&self) -> bool {
        self.live == 0 && self.outstanding == 0
    }

    /// Where the block is, for messages.
    pub(super) fn describe(&self) -> String {
        let [x, y, z] = self.environment.ctaid;
        format!("{} #{}, block ({x}, {y}, {z})", self.launch.program.name(), self.launch.id.0)
    }
}
