//! Statistics of an SM.

use counterpoint_framework::model::{Counter, Distribution, FlatStats, PartStats, Ratio, Stats};

use super::issued::Issued;
use super::read_cache::ReadCacheStats;

/// Statistics of an SM.
#[derive(Default, Stats)]
pub struct SmStats {
    /// Cycles during which a block was on the SM.
    #[stat(name = "active_cycles", unit = "cycles")]
    pub(super) active: Counter,
    /// Issue slots by their use or cause of loss, and instructions by class.
    pub(super) issued: FlatStats<Issued>,
    /// Blocks that have ended.
    #[stat(unit = "CTAs")]
    pub(super) ctas: Counter,
    /// Cycles of the warps of blocks that have ended, summed up.
    #[stat(unit = "cycles")]
    pub(super) warp_cycles: Counter,
    /// Cycles of the SM's warp slots that are attributed to ended blocks.
    #[stat(unit = "cycles")]
    pub(super) warp_slots: Counter,
    /// Occupied warp slots over the SM's warp slots.
    #[stat(name = "gpu_occupancy", unit = "of 1", part = "warp_cycles", whole = "warp_slots")]
    pub(super) occupancy: Ratio,
    /// Load transactions that looked up the L1.
    #[stat(name = "L1D_total_cache_accesses", unit = "transactions")]
    pub(super) l1_accesses: Counter,
    /// Load transactions that missed in the L1.
    #[stat(name = "L1D_total_cache_misses", unit = "transactions")]
    pub(super) l1_misses: Counter,
    /// L1 misses over L1 accesses.
    #[stat(name = "L1D_total_cache_miss_rate", unit = "of 1", part = "l1_misses", whole = "l1_accesses")]
    pub(super) l1_miss_rate: Ratio,
    /// Load transactions that joined an L1 miss in flight.
    #[stat(name = "L1D_total_cache_pending_hits", unit = "transactions")]
    pub(super) l1_pending_hits: Counter,
    /// Store transactions.
    #[stat(name = "L1D_writes", unit = "transactions")]
    pub(super) l1_writes: Counter,
    /// Lines fetched before a load asked for them.
    #[stat(name = "L1D_prefetches", unit = "lines")]
    pub(super) l1_prefetches: Counter,
    /// Invalidations of the whole L1 at the start of another launch.
    #[stat(name = "L1D_flushes", unit = "times")]
    pub(super) l1_flushes: Counter,
    /// Lines of local memory that were written back.
    #[stat(name = "L1D_write_backs", unit = "lines")]
    pub(super) l1_write_backs: Counter,
    /// Load transactions that bypassed the L1.
    #[stat(name = "L1D_bypasses", unit = "transactions")]
    pub(super) l1_bypasses: Counter,
    /// Atomic transactions.
    #[stat(unit = "transactions")]
    pub(super) atomics: Counter,
    /// Shared-memory instructions.
    #[stat(unit = "instructions")]
    pub(super) shared_accesses: Counter,
    /// Cycles lost to bank conflicts.
    #[stat(name = "gpgpu_n_shmem_bkconflict", unit = "cycles")]
    pub(super) shared_conflicts: Counter,
    /// Cycles in which the load-store unit waited for credit, for an entry of a cache, or for a page.
    #[stat(unit = "cycles")]
    pub(super) lsu_stalls: Counter,
    /// Cycles from the issue of a global load or atomic to its last value.
    #[stat(unit = "cycles")]
    pub(super) load_latency: Distribution,
    /// Warps that arrived at barriers.
    #[stat(unit = "warps")]
    pub(super) barriers: Counter,
    /// The instruction cache.
    #[stat(name = "L1I")]
    pub(super) l1i: PartStats<ReadCacheStats>,
    /// The cache of constants and kernel parameters.
    #[stat(name = "L1C")]
    pub(super) l1c: PartStats<ReadCacheStats>,
    /// The texture cache.
    #[stat(name = "L1T")]
    pub(super) l1t: PartStats<ReadCacheStats>,
    /// The TLB.
    #[stat(name = "TLB")]
    pub(super) tlb: PartStats<TlbStats>,
}

/// Statistics of a TLB.
#[derive(Default, Stats)]
pub(in crate::gpu::sm) struct TlbStats {
    /// Transactions whose page was looked up.
    #[stat(unit = "accesses")]
    pub(super) accesses: Counter,
    /// Lookups whose page was not in this TLB.
    #[stat(unit = "accesses")]
    pub(super) misses: Counter,
    /// Page requests sent.
    #[stat(unit = "requests")]
    pub(super) requests: Counter,
}
