//! A thread block on an SM: its environment, its shared memory, its barriers, and what it still waits for.

use std::sync::Arc;

use counterpoint_protocols::launch::Launch;
use counterpoint_ptx::{CtaEnvironment, Windows};

/// Barriers of a block (PTX ISA, bar).
const BARRIERS: usize = 16;

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

    /// A warp arrives at a barrier, and waits there if it `waits`. Gives the warps that may go on.
    pub(super) fn arrive(&mut self, slot: u32, id: u32, count: Option<u32>, waits: bool) -> u64 {
        let barrier = &mut self.barriers[id as usize % BARRIERS];
        barrier.arrived += 1;
        barrier.count = count;
        if waits {
            barrier.waiting |= 1 << slot;
        }
        self.release(id as usize % BARRIERS)
    }

    /// A warp has ended: barriers that wait for all wait for one less. Gives the warps that may go on.
    pub(super) fn warp_ended(&mut self) -> u64 {
        self.live -= 1;
        (0..BARRIERS).map(|id| self.release(id)).fold(0, |all, released| all | released)
    }

    fn release(&mut self, id: usize) -> u64 {
        let barrier = &mut self.barriers[id];
        let needed = barrier.count.map_or(self.live, |threads| threads.div_ceil(32));
        if barrier.arrived == 0 || barrier.arrived < needed {
            return 0;
        }
        let released = barrier.waiting;
        *barrier = Barrier::default();
        released
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
