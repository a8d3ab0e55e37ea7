//! DRAM: banks, timings, the bytes themselves, and the controller that schedules accesses to them.

pub mod backing;
pub mod bank;
pub mod divisor;
pub mod mask;
pub mod place;
pub mod scheduler;
pub mod timing;

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod controller::DramController;
}
