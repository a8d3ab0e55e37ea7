//! Links to the host, copy engines and storage.

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod copy_engine::CopyEngine;
    pub mod pcie::PcieLink;
    pub mod storage::Storage;
}
