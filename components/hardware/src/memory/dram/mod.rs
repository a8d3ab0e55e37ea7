//! DRAM: banks, timings, the bytes themselves, and the controller that schedules accesses to them.

pub mod backing;
pub mod bank;
pub mod channel;
pub mod divisor;
pub mod mapping;
pub mod mask;
pub mod queue;
pub mod refresh;
pub mod row_policy;
pub mod scheduler;
pub mod standard;
pub mod timing;

counterpoint_framework::components! {
    /// Registers the components of this folder.
    pub(crate) fn register;

    pub mod controller::DramController;
}
