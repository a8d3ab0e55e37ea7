//! Statistics of a CTA scheduler: in all, of each launch, and of each stream.

use std::fmt;
use std::rc::Rc;

use counterpoint_framework::model::{
    BusyCycles, Counter, Distribution, FlatStats, Keyed, Ratio, Setting, Stats,
};
use counterpoint_framework::telemetry::{Attribute, Attributes};
use counterpoint_protocols::launch::{CtaCounts, CtaStats, Launch, LaunchName};
use counterpoint_protocols::launch_rows::{LaunchRows, Row};

/// Statistics of a CTA scheduler.
#[derive(Default, Stats)]
pub struct CtaSchedulerStats {
    /// Launches that have ended.
    #[stat(unit = "launches")]
    pub(super) launches: Counter,
    /// Blocks placed.
    #[stat(unit = "CTAs")]
    pub(super) ctas: Counter,
    /// Blocks that have left an SM before their end.
    #[stat(unit = "CTAs")]
    pub(super) preempted: Counter,
    /// Cycles in which a launch ran or waited for free block slots.
    #[stat(name = "gpu_tot_sim_cycle", unit = "cycles")]
    pub(super) busy: BusyCycles,
    /// Thread instructions executed by blocks that have ended.
    #[stat(name = "gpu_tot_sim_insn", unit = "instructions")]
    thread_insn: Counter,
    /// Thread instructions a cycle.
    #[stat(name = "gpu_tot_ipc", unit = "instructions/cycle", part = "thread_insn", whole = "busy")]
    ipc: Ratio,
    /// Cycles of the warps of ended blocks, summed up.
    #[stat(unit = "cycles")]
    warp_cycles: Counter,
    /// Cycles of the SMs' warp slots that are attributed to ended blocks.
    #[stat(unit = "cycles")]
    warp_slots: Counter,
    /// Occupied warp slots over the warp slots.
    #[stat(name = "gpu_tot_occupancy", unit = "of 1", part = "warp_cycles", whole = "warp_slots")]
    occupancy: Ratio,
    /// Cycles from a block's placement to the message of its end.
    pub(super) cta_cycles: Distribution,
    /// Statistics of each launch.
    kernels: Keyed<LaunchKey, KernelStats>,
    /// Statistics of each stream, by its number.
    pub(super) streams: Keyed<Row, StreamStats>,
}

impl CtaSchedulerStats {
    /// The statistics of a launch, and those that it is added up in if it has no row of its own.
    pub(super) fn of_launch(
        &self,
        name: LaunchName,
        rows: &LaunchRows,
    ) -> (Rc<KernelStats>, Option<Rc<KernelStats>>) {
        match rows.row(name.id().0) {
            Row::Own(_) => (self.kernels.of(LaunchKey::Own(name)), None),
            Row::Others => (Rc::default(), Some(self.kernels.of(LaunchKey::Others))),
        }
    }

    pub(super) fn add_block(&self, counts: &CtaCounts) {
        self.thread_insn.add(counts.thread_insn);
        self.warp_cycles.add(counts.warp_cycles);
        self.warp_slots.add(counts.warp_slots);
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum LaunchKey {
    Own(LaunchName),
    /// Sum of all launches or streams beyond the limit of rows.
    Others,
}

impl fmt::Display for LaunchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchKey::Own(name) => name.fmt(f),
            LaunchKey::Others => Row::Others.fmt(f),
        }
    }
}

/// Statistics of a launch.
#[derive(Default, Stats)]
pub(super) struct KernelStats {
    /// Number of the launch's stream. A sum of several launches has no value of this and the next two statistics.
    pub(super) stream: Setting,
    /// Threads of a block.
    #[stat(unit = "threads")]
    pub(super) cta_threads: Setting,
    /// Blocks of the launch that an SM holds at most, by their resource allocation.
    #[stat(unit = "CTAs")]
    pub(super) ctas_per_sm: Setting,
    /// Work of the launch.
    pub(super) work: FlatStats<Work>,
}

impl KernelStats {
    /// Attributes of the span of a launch that has ended; `sms` SMs could hold its blocks.
    pub(super) fn attributes(&self, launch: &Launch, sms: usize) -> Attributes {
        let (work, number) = (&self.work, |number: u32| Attribute::Number(number.into()));
        let amount = |counter: &Counter| Attribute::Amount(counter.get());
        let mut attributes = vec![
            ("kernel", Attribute::Text(launch.kernel.name().to_owned().into())),
            ("launch", number(launch.id.0)),
            ("stream", number(launch.stream)),
            ("ctas", amount(&work.ctas)),
            ("sms", Attribute::Number(sms as u64)),
            ("cycles", amount(&work.gpu_sim_cycle)),
            ("active_cycles", amount(&work.active_cycles)),
        ];
        attributes.extend(launch.extra.attributes());
        attributes.extend(work.blocks.counts().attributes());
        attributes
    }
}

/// Statistics of a stream, whose launches come one after another.
#[derive(Default, Stats)]
pub(super) struct StreamStats {
    /// Launches that have ended.
    #[stat(unit = "launches")]
    pub(super) launches: Counter,
    /// Work of the stream's launches.
    pub(super) work: FlatStats<Work>,
}

/// Work of launches. Cycles are those of the scheduler, and of launches that have ended; counts of blocks on
/// their SMs are those of blocks that have ended.
#[derive(Default, Stats)]
pub(super) struct Work {
    /// Blocks placed.
    #[stat(unit = "CTAs")]
    pub(super) ctas: Counter,
    /// Blocks that have ended.
    #[stat(unit = "CTAs")]
    ctas_ended: Counter,
    /// From a launch's arrival to its end, summed up.
    #[stat(unit = "cycles")]
    gpu_sim_cycle: Counter,
    /// From the placement of a launch's first block to the end of its last one, summed up.
    #[stat(unit = "cycles")]
    active_cycles: Counter,
    /// Thread instructions a cycle.
    #[stat(
        name = "gpu_ipc",
        unit = "instructions/cycle",
        part = "blocks.thread_insn",
        whole = "gpu_sim_cycle"
    )]
    ipc: Ratio,
    /// Counts of the blocks that have ended.
    blocks: FlatStats<CtaStats>,
}

impl Work {
    /// A launch has ended, `whole` cycles after its arrival and `active` cycles after its first block was
    /// placed.
    pub(super) fn add_launch(&self, whole: u64, active: u64) {
        self.gpu_sim_cycle.add(whole);
        self.active_cycles.add(active);
    }

    pub(super) fn add_block(&self, counts: &CtaCounts) {
        self.ctas_ended.add(1);
        self.add_part(counts);
    }

    /// A block has left before its end.
    pub(super) fn add_part(&self, counts: &CtaCounts) {
        self.blocks.add(counts);
    }
}
