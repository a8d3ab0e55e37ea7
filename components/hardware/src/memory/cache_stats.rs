//! Statistics of caches: their counters and names.

use counterpoint_framework::model::{Counter, Ratio, Stats};

use super::by_label::ByLabel;

/// Declares the statistics of the requests of a cache; those of an L2 have GPGPU-Sim's names.
macro_rules! counts {
    ($counts:ident, $stats:ident, $accesses:literal, $misses:literal, $miss_rate:literal, $pending_hits:literal, $fails:literal) => {
        /// Statistics of a cache.
        #[derive(Default, Stats)]
        pub struct $stats {
            /// Counts of each launch and stream.
            by_label: ByLabel<$counts>,
        }

        /// Statistics of requests.
        #[derive(Default, Stats)]
        pub(super) struct $counts {
            /// Sectors accessed.
            #[stat(name = $accesses, unit = "sectors")]
            accesses: Counter,
            /// Accessed sectors that missed, in whole or in part.
            #[stat(name = $misses, unit = "sectors")]
            misses: Counter,
            /// Misses over accesses.
            #[stat(name = $miss_rate, unit = "of 1", part = "misses", whole = "accesses")]
            miss_rate: Ratio,
            /// Requests that joined a fetch under way.
            #[stat(name = $pending_hits, unit = "requests")]
            pending_hits: Counter,
            /// Cycles in which the first request found no free way, miss entry or merge slot.
            #[stat(name = $fails, unit = "cycles")]
            reservation_fails: Counter,
            /// Read requests.
            #[stat(unit = "requests")]
            reads: Counter,
            /// Write requests.
            #[stat(unit = "requests")]
            writes: Counter,
            /// Atomic requests.
            #[stat(unit = "requests")]
            atomics: Counter,
            /// Cycles of atomic requests in the atomic unit or its queue, summed up; 0 without an atomic unit.
            #[stat(unit = "cycles")]
            atomic_cycles: Counter,
            /// Requests that went on to memory: bypassed reads, writes through and around, atomics that are executed elsewhere.
            #[stat(unit = "requests")]
            passed: Counter,
            /// Lines prefetched, counted for the read that triggered the prefetch.
            #[stat(unit = "lines")]
            prefetches: Counter,
            /// Dirty lines written to memory, counted for who wrote to them last.
            #[stat(unit = "lines")]
            write_backs: Counter,
            /// Sectors of 32 bytes that became dirty, counted for who wrote to them.
            #[stat(unit = "sectors")]
            dirtied: Counter,
            /// Sectors of 32 bytes that were dirty until they were written to memory, counted for who wrote to their lines last.
            /// Over a whole run, `dirtied` less `cleaned` is what is still dirty at its end.
            #[stat(unit = "sectors")]
            cleaned: Counter,
            /// Lines written back early because no later access reads them.
            #[stat(unit = "lines")]
            flushed: Counter,
        }

        impl CacheStats for $stats {
            type Counts = $counts;

            fn by_label(&self) -> &ByLabel<$counts> {
                &self.by_label
            }
        }

        impl CacheCounts for $counts {
            fn of(&self, count: Count) -> &Counter {
                match count {
                    Count::Accesses => &self.accesses,
                    Count::Misses => &self.misses,
                    Count::PendingHits => &self.pending_hits,
                    Count::ReservationFails => &self.reservation_fails,
                    Count::Reads => &self.reads,
                    Count::Writes => &self.writes,
                    Count::Atomics => &self.atomics,
                    Count::AtomicCycles => &self.atomic_cycles,
                    Count::Passed => &self.passed,
                    Count::Prefetches => &self.prefetches,
                    Count::WriteBacks => &self.write_backs,
                    Count::Dirtied => &self.dirtied,
                    Count::Cleaned => &self.cleaned,
                    Count::Flushed => &self.flushed,
                }
            }
        }
    };
}

/// Counters of a cache.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Accesses,
    Misses,
    PendingHits,
    ReservationFails,
    Reads,
    Writes,
    Atomics,
    AtomicCycles,
    Passed,
    Prefetches,
    WriteBacks,
    Dirtied,
    Cleaned,
    Flushed,
}

/// Statistics of a cache under their own names.
pub(super) trait CacheStats: Stats {
    type Counts: CacheCounts;

    /// The counts of each launch and stream.
    fn by_label(&self) -> &ByLabel<Self::Counts>;
}

/// The counters of the requests of a launch and stream.
pub(super) trait CacheCounts: Stats {
    fn of(&self, count: Count) -> &Counter;

    #[inline]
    fn add(&self, count: Count, number: u64) {
        self.of(count).add(number);
    }
}

counts!(
    L2Counts,
    L2Stats,
    "L2_total_cache_accesses",
    "L2_total_cache_misses",
    "L2_total_cache_miss_rate",
    "L2_total_cache_pending_hits",
    "L2_total_cache_reservation_fails"
);
counts!(
    LevelCounts,
    LevelStats,
    "cache_accesses",
    "cache_misses",
    "cache_miss_rate",
    "cache_pending_hits",
    "cache_reservation_fails"
);
