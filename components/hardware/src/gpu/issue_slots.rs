//! Where issue slots go: in every cycle with a block on the SM, each scheduler either issues or has a reason not to.

use counterpoint_framework::model::{Counter, Stats};
use counterpoint_framework::telemetry::{Attribute, Attributes};
use counterpoint_protocols::launch::{IssueSlot, SlotCounts};

/// Issue slots by what became of them. Together they are the cycles with a block times the schedulers.
#[derive(Default, Stats)]
pub(crate) struct IssueSlots {
    /// Slots in which an instruction was issued.
    #[stat(unit = "slots")]
    used: Counter,
    /// Slots lost because a unit's collectors or pipeline registers were occupied.
    #[stat(unit = "slots")]
    pipeline: Counter,
    /// Slots lost because the load-store unit was occupied.
    #[stat(unit = "slots")]
    memory_pipeline: Counter,
    /// Slots lost because the policy kept the ready warps back.
    #[stat(unit = "slots")]
    policy: Counter,
    /// Slots lost because the next instruction had not been fetched.
    #[stat(unit = "slots")]
    fetch: Counter,
    /// Slots lost because a result of a unit was awaited.
    #[stat(unit = "slots")]
    data: Counter,
    /// Slots lost because memory was awaited.
    #[stat(unit = "slots")]
    memory: Counter,
    /// Slots lost because a page was awaited that had not come, or that an older kernel still needed.
    #[stat(unit = "slots")]
    page: Counter,
    /// Slots lost because all warps waited at a barrier or a fence.
    #[stat(unit = "slots")]
    barrier: Counter,
    /// Slots of schedulers without a warp.
    #[stat(unit = "slots")]
    idle: Counter,
}

/// All that can become of a slot.
const ALL: [IssueSlot; 10] = [
    IssueSlot::Used,
    IssueSlot::Pipeline,
    IssueSlot::MemoryPipeline,
    IssueSlot::Policy,
    IssueSlot::Fetch,
    IssueSlot::Data,
    IssueSlot::Memory,
    IssueSlot::Page,
    IssueSlot::Barrier,
    IssueSlot::Idle,
];

impl IssueSlots {
    fn counter(&self, slot: IssueSlot) -> &Counter {
        match slot {
            IssueSlot::Used => &self.used,
            IssueSlot::Pipeline => &self.pipeline,
            IssueSlot::MemoryPipeline => &self.memory_pipeline,
            IssueSlot::Policy => &self.policy,
            IssueSlot::Fetch => &self.fetch,
            IssueSlot::Data => &self.data,
            IssueSlot::Memory => &self.memory,
            IssueSlot::Page => &self.page,
            IssueSlot::Barrier => &self.barrier,
            IssueSlot::Idle => &self.idle,
        }
    }

    #[inline]
    pub(super) fn add(&self, slot: IssueSlot, amount: u64) {
        self.counter(slot).add(amount);
    }

    /// Adds what a block came to.
    pub(super) fn add_all(&self, counts: &SlotCounts) {
        ALL.into_iter().for_each(|slot| self.add(slot, counts.get(slot)));
    }

    pub(super) fn attributes(&self) -> Attributes {
        attributes(|slot| self.counter(slot).get())
    }
}

/// The slots of a block as attributes of its span.
pub(super) fn attributes_of(counts: &SlotCounts) -> Attributes {
    attributes(|slot| counts.get(slot))
}

fn attributes(count: impl Fn(IssueSlot) -> u64) -> Attributes {
    let named = |slot| {
        let name = match slot {
            IssueSlot::Used => "issue_slots.used",
            IssueSlot::Pipeline => "issue_slots.pipeline",
            IssueSlot::MemoryPipeline => "issue_slots.memory_pipeline",
            IssueSlot::Policy => "issue_slots.policy",
            IssueSlot::Fetch => "issue_slots.fetch",
            IssueSlot::Data => "issue_slots.data",
            IssueSlot::Memory => "issue_slots.memory",
            IssueSlot::Page => "issue_slots.page",
            IssueSlot::Barrier => "issue_slots.barrier",
            IssueSlot::Idle => "issue_slots.idle",
        };
        (name, Attribute::Amount(count(slot)))
    };
    ALL.into_iter().filter(|&slot| count(slot) > 0).map(named).collect()
}
