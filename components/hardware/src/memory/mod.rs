//! Caches, L2 slices and DRAM.

pub mod address_map;
pub mod atomic;
pub mod atomic_unit;
mod by_label;
pub mod cache;
mod cache_server;
mod cache_stats;
pub mod dram;
pub mod line_rule;
mod polynomial;
pub mod table;

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod cache_level::CacheLevel;
    pub mod l2_slice::L2Slice;
}
