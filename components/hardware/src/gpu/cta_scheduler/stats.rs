//! Statistics of a CTA scheduler: in all, of each launch, and of each stream.

use std::fmt;
use std::rc::Rc;

use counterpoint_framework::model::{
    BusyCycles, Counter, Distribution, Keyed, PartStats, Ratio, Setting, Stat, StatLabel, StatVisitor, Stats,
};
use counterpoint_framework::telemetry::{Attribute, Attributes};
use counterpoint_protocols::launch::{CtaCounts, Launch, LaunchName};
use counterpoint_protocols::launch_rows::{LaunchRows, Row};

use crate::gpu::issue_slots::IssueSlots;

/// Statistics of a CTA scheduler.
#[derive(Default, Stats)]
pub struct CtaSchedulerStats {
    /// Launches that have ended.
    #[stat(unit = "launches")]
    pub(super) launches: Counter,
    /// Blocks placed.
    #[stat(unit = "CTAs")]
    pub(super) ctas: Counter,
    /// Cycles in which a launch ran, or waited for room.
    #[stat(name = "gpu_tot_sim_cycle", unit = "cycles")]
    pub(super) busy: BusyCycles,
    /// Thread instructions executed by blocks that have ended.
    #[stat(name = "gpu_tot_sim_insn", unit = "instructions")]
    thread_insn: Counter,
    /// Thread instructions a cycle.
    #[stat(name = "gpu_tot_ipc", unit = "instructions/cycle", part = "thread_insn", whole = "busy")]
    ipc: Ratio,
    /// Cycles of the warps of these blocks, summed up.
    #[stat(unit = "cycles")]
    warp_cycles: Counter,
    /// Cycles of warp slots that the SMs had for them.
    #[stat(unit = "cycles")]
    warp_slots: Counter,
    /// Warps that were there, of the warp slots.
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
    /// Number of its stream; several launches that are added up have none, nor the two below.
    pub(super) stream: Setting,
    /// Threads of a block.
    #[stat(unit = "threads")]
    pub(super) cta_threads: Setting,
    /// Blocks that one of its SMs holds at most, by what they are allotted.
    #[stat(unit = "CTAs")]
    pub(super) ctas_per_sm: Setting,
    /// Its work.
    pub(super) work: Work,
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
            ("warp_insn", amount(&work.warp_insn)),
            ("thread_insn", amount(&work.thread_insn)),
            ("warp_cycles", amount(&work.warp_cycles)),
            ("warp_slots", amount(&work.warp_slots)),
            ("L1D_accesses", amount(&work.l1_accesses)),
            ("L1D_misses", amount(&work.l1_misses)),
        ];
        attributes.extend(launch.extra.attributes());
        attributes.extend(work.issue_slots.attributes());
        attributes
    }
}

/// Statistics of a stream, whose launches come one after another.
#[derive(Default, Stats)]
pub(super) struct StreamStats {
    /// Launches that have ended.
    #[stat(unit = "launches")]
    pub(super) launches: Counter,
    /// Work of its launches.
    pub(super) work: Work,
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
    /// Warp instructions issued.
    #[stat(unit = "instructions")]
    warp_insn: Counter,
    /// Thread instructions executed.
    #[stat(name = "gpu_sim_insn", unit = "instructions")]
    thread_insn: Counter,
    /// Warp instructions that access memory, kernel parameters left out.
    #[stat(unit = "instructions")]
    memory_insn: Counter,
    /// Instructions other than loads, atomics and fetches whose result has been written to registers.
    #[stat(unit = "instructions")]
    alu_results: Counter,
    /// Cycles of the SMs from the issue of each of these to the write of its result, summed up.
    #[stat(unit = "cycles")]
    alu_cycles: Counter,
    /// Their mean.
    #[stat(unit = "cycles", part = "alu_cycles", whole = "alu_results")]
    mean_alu_latency: Ratio,
    /// Loads, atomics and texture fetches whose values have been written to registers, kernel parameters left out.
    #[stat(unit = "instructions")]
    memory_results: Counter,
    /// Cycles of the SMs from the issue of each of these to the write of its last value, summed up.
    #[stat(unit = "cycles")]
    memory_cycles: Counter,
    /// Their mean.
    #[stat(unit = "cycles", part = "memory_cycles", whole = "memory_results")]
    mean_memory_latency: Ratio,
    /// Thread instructions a cycle.
    #[stat(name = "gpu_ipc", unit = "instructions/cycle", part = "thread_insn", whole = "gpu_sim_cycle")]
    ipc: Ratio,
    /// Cycles of warps, summed up.
    #[stat(unit = "cycles")]
    warp_cycles: Counter,
    /// Cycles of warp slots that the SMs had for them.
    #[stat(unit = "cycles")]
    warp_slots: Counter,
    /// Warps that were there, of the warp slots.
    #[stat(name = "gpu_occupancy", unit = "of 1", part = "warp_cycles", whole = "warp_slots")]
    occupancy: Ratio,
    /// Load transactions that looked into an L1.
    #[stat(name = "L1D_total_cache_accesses", unit = "transactions")]
    l1_accesses: Counter,
    /// Load transactions that missed in the L1.
    #[stat(name = "L1D_total_cache_misses", unit = "transactions")]
    l1_misses: Counter,
    /// The share of the misses.
    #[stat(name = "L1D_total_cache_miss_rate", unit = "of 1", part = "l1_misses", whole = "l1_accesses")]
    l1_miss_rate: Ratio,
    /// Cycles lost to bank conflicts in shared memory.
    #[stat(name = "gpgpu_n_shmem_bkconflict", unit = "cycles")]
    shared_conflicts: Counter,
    /// Issue slots of the SMs by what became of them: those used, and of those lost the ones in which a warp of these
    /// launches came nearest to issuing.
    issue_slots: PartStats<IssueSlots>,
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
        self.warp_insn.add(counts.warp_insn);
        self.thread_insn.add(counts.thread_insn);
        self.memory_insn.add(counts.memory_insn);
        self.alu_results.add(counts.alu_results);
        self.alu_cycles.add(counts.alu_cycles);
        self.memory_results.add(counts.memory_results);
        self.memory_cycles.add(counts.memory_cycles);
        self.l1_accesses.add(counts.l1_accesses);
        self.l1_misses.add(counts.l1_misses);
        self.shared_conflicts.add(counts.shared_conflicts);
        self.warp_cycles.add(counts.warp_cycles);
        self.warp_slots.add(counts.warp_slots);
        self.issue_slots.add_all(&counts.slots);
    }
}

impl Stat for Work {
    fn visit(&self, _label: StatLabel, visitor: &mut dyn StatVisitor) {
        Stats::visit(self, visitor);
    }

    fn absorb(&self, other: &Self) {
        Stats::absorb(self, other);
    }
}
