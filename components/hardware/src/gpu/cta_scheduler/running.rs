//! Launches that run, and SMs as the scheduler knows them from messages.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::telemetry::SpanId;
use counterpoint_protocols::launch::{
    BlockContext, CtaCounts, Launch, LaunchId, Precedence, SmResources, ToSm,
};
use counterpoint_protocols::local::Capacity;

use super::occupancy::blocks;
use super::stats::{KernelStats, StreamStats, Work};

/// A launch that runs.
#[non_exhaustive]
pub struct Running {
    /// The launch.
    pub launch: Arc<Launch>,
    /// Entry of the launch in the table of running kernels: the lowest that was free when it began.
    pub slot: u32,
    /// Allocation of one block.
    pub demand: SmResources,
    /// The SMs that may hold blocks of it.
    pub share: Range<usize>,
    /// Maximum number of its blocks on one of these SMs at a time: the number that the largest SM holds when it is empty, or
    /// the even share of a small grid. [`View::capacity`](super::View::capacity) is the number for an SM.
    pub most_per_sm: u32,
    /// Blocks placed so far; they are placed in the order of their index.
    pub placed: u32,
    /// Blocks that have left their SM before their end, with their saved contexts; they are the next to be placed.
    pub(super) returned: VecDeque<(u32, Option<BlockContext>)>,
    /// Blocks that have ended.
    pub ended: u32,
    /// SMs that hold blocks of it.
    pub sms: u32,
    /// The cycle in which the launch arrived, and that of its first block's placement.
    pub(super) came: u64,
    pub(super) first_placed: Option<u64>,
    pub(super) span: SpanId,
    pub(super) stats: Rc<KernelStats>,
    pub(super) stream_stats: Rc<StreamStats>,
    /// Counts of its blocks, if its end reports them.
    pub(super) counts: Option<Box<CtaCounts>>,
    /// Row in which the launch is added up with others, if it has no row of its own.
    pub(super) others: Option<Rc<KernelStats>>,
}

impl Running {
    /// Whether it works for another launch.
    pub fn is_helper(&self) -> bool {
        matches!(self.launch.precedence, Precedence::Helper(_))
    }

    /// All statistics in which the launch is counted.
    pub(super) fn works(&self) -> impl Iterator<Item = &Work> {
        let others = self.others.iter().map(|others| &others.work);
        [&self.stats.work, &self.stream_stats.work].into_iter().chain(others).map(|work| &**work)
    }

    /// Adds counts of a block that has ended or left to those that the end of the launch reports, if it does.
    pub(super) fn add_counts(&mut self, counts: CtaCounts) {
        if let Some(sum) = &mut self.counts {
            **sum += counts;
        }
    }

    /// Blocks that are to be placed: those that have not been, and those that have left before their end.
    pub fn waiting(&self) -> u32 {
        self.launch.ctas() - self.placed + self.returned.len() as u32
    }

    /// Blocks on SMs.
    pub fn resident(&self) -> u32 {
        self.placed - self.ended - self.returned.len() as u32
    }
}

/// Number of SMs, and the most warps of one of them.
pub(in crate::gpu) fn capacity<'a>(sms: impl ExactSizeIterator<Item = &'a SmResources>) -> Capacity {
    let count = sms.len() as u32;
    Capacity { sms: count, warps: sms.map(|sm| sm.threads / 32).max().unwrap_or(0) }
}

pub(in crate::gpu) fn least<'a>(sms: impl Iterator<Item = &'a SmResources>) -> SmResources {
    let least = |a: SmResources, b: SmResources| SmResources {
        threads: a.threads.min(b.threads),
        ctas: a.ctas.min(b.ctas),
        registers: a.registers.min(b.registers),
        shared: a.shared.min(b.shared),
    };
    sms.copied().reduce(least).unwrap_or_default()
}

/// An SM.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Sm {
    /// Resources that are free.
    pub free: SmResources,
    /// Blocks on it, per launch.
    pub resident: BTreeMap<LaunchId, u32>,
    /// Whether the SM can take a block in this cycle: one block a cycle, and a credit for the message.
    pub ready: bool,
    /// Resources in all.
    pub total: SmResources,
    /// Blocks on it, in the order of their placement.
    pub blocks: Vec<Resident>,
    /// Messages that wait for credit.
    pub(super) orders: VecDeque<ToSm>,
}

/// A block on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resident {
    /// Its launch.
    pub launch: LaunchId,
    /// Index of the block.
    pub index: u32,
    /// The cycle in which it was placed.
    pub since: u64,
    /// Whether it is to leave.
    pub leaves: bool,
}

impl Sm {
    /// Number of resident blocks of a launch.
    pub fn blocks_of(&self, launch: LaunchId) -> u32 {
        self.resident.get(&launch).copied().unwrap_or(0)
    }

    /// Whether a block with this demand fits beside the resident blocks.
    pub fn has_room(&self, demand: &SmResources) -> bool {
        blocks(&self.free, demand) > 0
    }

    /// A block arrives; true if it is the launch's only one here.
    pub(super) fn take(
        &mut self,
        (launch, index): (LaunchId, u32),
        demand: &SmResources,
        since: u64,
    ) -> bool {
        self.blocks.push(Resident { launch, index, since, leaves: false });
        self.free.threads -= demand.threads;
        self.free.ctas -= demand.ctas;
        self.free.registers -= demand.registers;
        self.free.shared -= demand.shared;
        self.ready = false;
        let resident = self.resident.entry(launch).or_default();
        *resident += 1;
        *resident == 1
    }

    /// A block on it.
    pub(super) fn block(&mut self, launch: LaunchId, index: u32) -> Option<&mut Resident> {
        self.blocks.iter_mut().find(|block| (block.launch, block.index) == (launch, index))
    }

    /// A block has ended or left; true if it was the launch's last one here.
    pub(super) fn give_back(&mut self, (launch, index): (LaunchId, u32), demand: &SmResources) -> bool {
        self.blocks.retain(|block| (block.launch, block.index) != (launch, index));
        self.free.threads += demand.threads;
        self.free.ctas += demand.ctas;
        self.free.registers += demand.registers;
        self.free.shared += demand.shared;
        let resident = self.resident.entry(launch).or_default();
        *resident -= 1;
        let was_last = *resident == 0;
        if was_last {
            self.resident.remove(&launch);
        }
        was_last
    }
}
