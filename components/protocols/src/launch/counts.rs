//! Counts of blocks: one table for the message of a block's end, the statistics of launches and streams, and the attributes of spans.

use std::ops::{AddAssign, SubAssign};

use counterpoint_framework::model::{Counter, PartStats, Ratio, Stats};
use counterpoint_framework::telemetry::{Attribute, Attributes};

use super::issue_slots::{IssueSlots, SlotCounts};

/// Declares the counts. A line has the documentation, the field, the name and the unit of its statistic, and the name that it has in a span if
/// spans show it.
macro_rules! cta_counts {
    ($($(#[doc = $doc:tt])+ $field:ident: $name:tt, $unit:tt $(, span $span:tt)?;)+) => {
        /// Counts of a block on its SM.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct CtaCounts {
            $($(#[doc = $doc])+ pub $field: u64,)+
            /// Issue slots that its warps used, or lost where one of them came nearest to issuing.
            pub slots: SlotCounts,
        }

        impl AddAssign for CtaCounts {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
                self.slots += other.slots;
            }
        }

        impl SubAssign for CtaCounts {
            fn sub_assign(&mut self, other: Self) {
                $(self.$field -= other.$field;)+
                self.slots -= other.slots;
            }
        }

        /// Statistics of the blocks that have ended: the sums of their [`CtaCounts`], and their ratios.
        #[derive(Default, Stats)]
        pub struct CtaStats {
            $($(#[doc = $doc])+ #[stat(name = $name, unit = $unit)] pub $field: Counter,)+
            /// The mean of `alu_cycles`.
            #[stat(unit = "cycles", part = "alu_cycles", whole = "alu_results")]
            mean_alu_latency: Ratio,
            /// The mean of `memory_cycles`.
            #[stat(unit = "cycles", part = "memory_cycles", whole = "memory_results")]
            mean_memory_latency: Ratio,
            /// Active warps over the warp slots.
            #[stat(name = "gpu_occupancy", unit = "of 1", part = "warp_cycles", whole = "warp_slots")]
            occupancy: Ratio,
            /// L1 misses over L1 accesses.
            #[stat(name = "L1D_total_cache_miss_rate", unit = "of 1", part = "l1_misses", whole = "l1_accesses")]
            l1_miss_rate: Ratio,
            /// Issue slots of the SMs by use: the used slots, and the lost slots in which a warp of these blocks was the closest to issue.
            pub issue_slots: PartStats<IssueSlots>,
        }

        impl CtaStats {
            /// Adds the counts of a block that has ended.
            pub fn add(&self, counts: &CtaCounts) {
                $(self.$field.add(counts.$field);)+
                self.issue_slots.add_all(&counts.slots);
            }

            /// The sums so far.
            pub fn counts(&self) -> CtaCounts {
                CtaCounts { $($field: self.$field.get(),)+ slots: self.issue_slots.counts() }
            }
        }

        impl CtaCounts {
            /// The counts that a span shows: of the issue slots only the uses that occurred.
            pub fn attributes(&self) -> Attributes {
                let mut attributes = vec![$($(($span, Attribute::Amount(self.$field)),)?)+];
                attributes.extend(self.slots.attributes());
                attributes
            }
        }
    };
}

cta_counts! {
    /// Warp instructions issued.
    warp_insn: "warp_insn", "instructions", span "warp_insn";
    /// Thread instructions executed.
    thread_insn: "gpu_sim_insn", "instructions", span "thread_insn";
    /// Warp instructions that access memory, kernel parameters left out.
    memory_insn: "memory_insn", "instructions";
    /// Instructions other than loads, atomics and fetches whose result has been written to registers.
    alu_results: "alu_results", "instructions";
    /// Cycles from the issue of these instructions to the write of their results, summed up.
    alu_cycles: "alu_cycles", "cycles";
    /// Loads, atomics and texture fetches whose values have been written to registers, kernel parameters left out.
    memory_results: "memory_results", "instructions";
    /// Cycles from the issue of these instructions to the write of their last values, summed up. An access that waits for the grant of its
    /// pages is issued when all are granted.
    memory_cycles: "memory_cycles", "cycles";
    /// Accesses to global and local memory: of each warp instruction one.
    global_insn: "global_insn", "instructions";
    /// Uncoalesced accesses to global and local memory: accesses with more transactions than the same bytes would need in contiguous memory
    /// at any alignment.
    uncoalesced_insn: "uncoalesced_insn", "instructions";
    /// Requests of global and local accesses that left the SM: L1 misses, bypasses and stores.
    global_requests: "global_requests", "requests";
    /// Bytes that memory behind the caches moved for global and local accesses: fetched and written sectors.
    memory_bytes: "memory_bytes", "bytes";
    /// Load transactions that looked up the L1.
    l1_accesses: "L1D_total_cache_accesses", "transactions", span "L1D_accesses";
    /// Load transactions that missed in the L1.
    l1_misses: "L1D_total_cache_misses", "transactions", span "L1D_misses";
    /// Cycles lost to bank conflicts in shared memory.
    shared_conflicts: "gpgpu_n_shmem_bkconflict", "cycles";
    /// Cycles of the warps, summed up.
    warp_cycles: "warp_cycles", "cycles", span "warp_cycles";
    /// Cycles of the SMs' warp slots that are attributed to these blocks.
    warp_slots: "warp_slots", "cycles", span "warp_slots";
}
