//! Uses of issue slots: in every cycle with a block on the SM, each scheduler either issues or has a stall reason.

use std::ops::{AddAssign, SubAssign};

use counterpoint_framework::model::{Counter, Stat, StatLabel, StatVisitor, Stats};
use counterpoint_framework::telemetry::{Attribute, Attributes};

/// Declares the uses of an issue slot. A line has the documentation, the variant, and the name that statistics give it.
macro_rules! uses {
    ($($(#[doc = $doc:tt])+ $slot:ident = $name:literal;)+) => {
        /// The use of a warp scheduler's issue slot in a cycle with a block on its SM.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum IssueSlot {
            $($(#[doc = $doc])+ $slot,)+
        }

        /// Each use, with its statistic and its name in a span.
        const USES: &[(IssueSlot, StatLabel, &str)] = &[$((
            IssueSlot::$slot,
            StatLabel { name: $name, unit: "slots", doc: concat!($($doc),+).trim_ascii_start() },
            concat!("issue_slots.", $name),
        ),)+];
    };
}

uses! {
    /// Slots in which an instruction was issued.
    Used = "used";
    /// Slots lost because a unit's collectors or pipeline registers were occupied.
    Pipeline = "pipeline";
    /// Slots lost because the load-store unit was occupied.
    MemoryPipeline = "memory_pipeline";
    /// Slots lost because the policy kept the ready warps back.
    Policy = "policy";
    /// Slots lost because the next instruction had not been fetched.
    Fetch = "fetch";
    /// Slots lost because a result of a unit was awaited.
    Data = "data";
    /// Slots lost because memory was awaited.
    Memory = "memory";
    /// Slots lost because a page was awaited that had not come, or that an older kernel still needed.
    Page = "page";
    /// Slots lost because all warps waited at a barrier or a fence.
    Barrier = "barrier";
    /// Slots of schedulers without a warp.
    Idle = "idle";
}

/// Issue slots by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlotCounts([u64; USES.len()]);

impl SlotCounts {
    /// No slots.
    pub const NONE: SlotCounts = SlotCounts([0; USES.len()]);

    /// The counts, plus `amount` slots of this use.
    pub const fn with(mut self, slot: IssueSlot, amount: u64) -> Self {
        self.0[slot as usize] += amount;
        self
    }

    /// Adds slots.
    #[inline]
    pub fn add(&mut self, slot: IssueSlot, amount: u64) {
        self.0[slot as usize] += amount;
    }

    /// All slots.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Number of slots of this use.
    #[inline]
    pub fn get(&self, slot: IssueSlot) -> u64 {
        self.0[slot as usize]
    }

    /// The uses that occurred, as attributes of a span.
    pub(super) fn attributes(&self) -> Attributes {
        let amounts = USES.iter().map(|&(slot, _, name)| (name, self.get(slot)));
        amounts
            .filter(|&(_, amount)| amount > 0)
            .map(|(name, amount)| (name, Attribute::Amount(amount)))
            .collect()
    }
}

impl SubAssign for SlotCounts {
    fn sub_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(rest, one)| *rest -= one);
    }
}

impl AddAssign for SlotCounts {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, one)| *sum += one);
    }
}

/// Statistics of issue slots by their use. Together they are the cycles with a block times the schedulers.
#[derive(Default)]
pub struct IssueSlots([Counter; USES.len()]);

impl IssueSlots {
    /// Adds slots of a use.
    #[inline]
    pub fn add(&self, slot: IssueSlot, amount: u64) {
        self.0[slot as usize].add(amount);
    }

    /// Adds the slots of a block.
    pub(super) fn add_all(&self, counts: &SlotCounts) {
        self.0.iter().zip(counts.0).for_each(|(sum, one)| sum.add(one));
    }

    /// The slots so far.
    pub fn counts(&self) -> SlotCounts {
        SlotCounts(std::array::from_fn(|slot| self.0[slot].get()))
    }
}

impl Stats for IssueSlots {
    fn visit(&self, visitor: &mut dyn StatVisitor) {
        USES.iter().zip(&self.0).for_each(|(&(_, label, _), counter)| counter.visit(label, visitor));
    }

    fn absorb(&self, other: &Self) {
        self.0.iter().zip(&other.0).for_each(|(sum, one)| sum.absorb(one));
    }
}
