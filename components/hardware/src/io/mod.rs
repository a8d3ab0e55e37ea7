//! Links to the host, copy engines and storage.

pub mod copy_engine;
pub mod pcie;
pub mod storage;
