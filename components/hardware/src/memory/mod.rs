//! Caches, L2 slices and DRAM.

pub mod address_map;
pub mod atomic;
pub mod cache;
pub mod dram;
pub mod l2_slice;
