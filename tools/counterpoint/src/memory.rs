//! Memory: hashes of addresses, and policies of DRAM channels and of caches; another crate can add members.
//!
//! Each trait is a family. A member is a [`Variant`](crate::component::Variant), or with ports and statistics of its own an
//! [`Equipped`](crate::component::Equipped), and a machine file chooses it by its name.

/// Address map of a GPU, which is unstable, and hashes that choose slice and channel.
pub mod address_map {
    #[doc(inline)]
    pub use counterpoint_hardware::memory::address_map::hash::{SliceFunction, SliceHash, SliceParts};
    #[doc(inline)]
    pub use counterpoint_hardware::memory::address_map::{AddressMap, AddressMapParams};
}

/// DRAM controllers: schedulers, row policies, refresh, standards; and what memory holds before a write.
pub mod dram {
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::backing::unwritten;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::controller::DramController;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::queue::{BankQueue, QueuedAccess};
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::refresh::{RefreshPlan, RefreshPolicy};
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::row_policy::{RowPolicy, RowState};
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::scheduler::DramScheduler;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::standard::DramStandard;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::dram::timing::Timing;
}

/// Caches of all levels: replacement, writes, prefetchers, bypass.
pub mod cache {
    #[doc(inline)]
    pub use counterpoint_hardware::memory::cache::bypass::Bypass;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::cache::prefetch::{LookedUp, Prefetcher};
    #[doc(inline)]
    pub use counterpoint_hardware::memory::cache::replacement::Replacement;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::cache::write_policy::{WritePolicy, WriteTo};
    #[doc(inline)]
    pub use counterpoint_hardware::memory::cache_level::CacheLevel;
}
